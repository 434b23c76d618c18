# SPDX-License-Identifier: GPL-3.0-or-later
"""Choices for every .blend file on this machine."""

from pathlib import Path

import bpy
from bpy.props import StringProperty

from ..core.errors import SuppleError, legible
from . import ids
from .cache_folder import resolved

ADDON = __package__.rpartition(".")[0]


class SupplePreferences(bpy.types.AddonPreferences):
    """Shown under the extension in Blender's preferences."""

    bl_idname = ADDON

    cache_folder: StringProperty(
        name="Cache Folder",
        description=(
            "Folder for the simulated frames of all files, unless the scene has its own. "
            "Empty uses supple_cache beside the .blend file"
        ),
        subtype="DIR_PATH",
    )
    solver_python: StringProperty(
        name="Solver Python",
        description=(
            "Python with PyTorch that runs the solver, such as one in a virtual environment. "
            "Empty uses the one that Supple installs"
        ),
        subtype="FILE_PATH",
    )
    solver_wheels: StringProperty(
        name="Solver Packages",
        description=(
            "Folder with the packages of the solver, for machines without a network. Empty "
            "downloads them"
        ),
        subtype="DIR_PATH",
    )
    flamenco_manager: StringProperty(
        name="Flamenco Manager",
        description=(
            "Address of the manager that Submit sends jobs to, such as http://flamenco:8080. "
            "Empty writes a file instead"
        ),
    )

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.prop(self, "cache_folder")
        if self.cache_folder:
            self.layout.label(text=legible(_described(self.cache_folder)))
        self.layout.prop(self, "solver_python")
        self.layout.prop(self, "solver_wheels")
        self.layout.prop(self, "flamenco_manager")
        row = self.layout.row()
        row.operator(ids.INSTALL_SOLVER)
        row.operator(ids.DOCTOR)
        row.operator(ids.HELP, icon="HELP")
        self.layout.operator(ids.REMOVE_CACHES)


def _described(text: str) -> str:
    """The folder that a setting means for the open file, or why it means none."""
    try:
        return str(resolved(text, Path(bpy.data.filepath) if bpy.data.is_saved else None))
    except SuppleError as error:
        return str(error)


def find() -> SupplePreferences | None:
    """The preferences, or None when Supple runs without being an enabled extension."""
    addon = bpy.context.preferences.addons.get(ADDON)
    return addon.preferences if addon else None
