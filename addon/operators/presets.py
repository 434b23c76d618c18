# SPDX-License-Identifier: GPL-3.0-or-later
"""The menus of presets in panel headers, and their buttons + and −.

Blender keeps a user's presets in its own folder of scripts. The presets of ``addon/presets`` come
with the extension and cannot be removed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bl_operators.presets import AddPresetBase
from bl_ui.utils import PresetPanel

from .. import ids
from ..properties.presets import PRESET_SETTINGS

#: Blender looks for ``presets`` in this folder.
FOLDER = str(Path(__file__).resolve().parents[1])
QUALITY = ("resolution_scale", "substeps", "friction_updates", "motion_samples")


class SUPPLE_PT_material_presets(PresetPanel, bpy.types.Panel):
    bl_label = "Material Presets"
    preset_subdir = "supple/material"
    preset_operator = "script.execute_preset"
    preset_add_operator = ids.ADD_MATERIAL_PRESET


class SUPPLE_OT_add_material_preset(AddPresetBase, bpy.types.Operator):
    """Keep the material of the active soft body as a preset, or remove one"""

    bl_idname = ids.ADD_MATERIAL_PRESET
    bl_label = "Add Material Preset"
    preset_menu = SUPPLE_PT_material_presets.__name__
    preset_subdir = SUPPLE_PT_material_presets.preset_subdir
    preset_defines = ("props = bpy.context.object.supple",)
    preset_values = tuple(f"props.{name}" for name in PRESET_SETTINGS)


class SUPPLE_PT_quality_presets(PresetPanel, bpy.types.Panel):
    bl_label = "Quality Presets"
    preset_subdir = "supple/quality"
    preset_operator = "script.execute_preset"
    preset_add_operator = ids.ADD_QUALITY_PRESET


class SUPPLE_OT_add_quality_preset(AddPresetBase, bpy.types.Operator):
    """Keep resolution scale, substeps and other settings of quality as a preset, or remove one"""

    bl_idname = ids.ADD_QUALITY_PRESET
    bl_label = "Add Quality Preset"
    preset_menu = SUPPLE_PT_quality_presets.__name__
    preset_subdir = SUPPLE_PT_quality_presets.preset_subdir
    preset_defines = ("props = bpy.context.scene.supple",)
    preset_values = tuple(f"props.{name}" for name in QUALITY)


PANELS: list[Any] = [SUPPLE_PT_material_presets, SUPPLE_PT_quality_presets]


def register() -> None:
    bpy.utils.register_preset_path(FOLDER)


def unregister() -> None:
    bpy.utils.unregister_preset_path(FOLDER)
