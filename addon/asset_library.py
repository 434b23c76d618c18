# SPDX-License-Identifier: GPL-3.0-or-later
"""The asset library of ready soft bodies, in Blender's preferences while the extension is enabled.

``sample_scenes/assets.py`` builds its file.
"""

from __future__ import annotations

from pathlib import Path

import bpy

FOLDER = Path(__file__).resolve().parent / "assets"
NAME = "Supple"


def register() -> None:
    """Add the library to the preferences, unless it is there from an earlier session."""
    if not libraries():
        library = _all().new(name=NAME, directory=str(FOLDER))
        # Each body that is dragged in has a mesh of its own to simulate and bake.
        library.import_method = "APPEND"


def unregister() -> None:
    """Remove the library from the preferences."""
    for library in libraries():
        _all().remove(library)


def libraries() -> list[bpy.types.UserAssetLibrary]:
    """Return the libraries that have the folder of this extension."""
    return [each for each in _all() if each.path and Path(each.path) == FOLDER]


def _all() -> bpy.types.AssetLibraryCollection:
    return bpy.context.preferences.filepaths.asset_libraries
