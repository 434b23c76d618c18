# SPDX-License-Identifier: GPL-3.0-or-later
"""Preset: the published values of a real material."""

import bpy
from bpy.props import EnumProperty

from ...core.materials.preset_table import stiffness
from ...core.materials.presets import PRESETS, Preset
from ..capture import is_soft_body

_SETTINGS = (
    *("model", "young", "poisson", "density"),
    *("damping", "stiffness_damping", "viscosity"),
)


def _describe(preset: Preset) -> str:
    return (
        f"{stiffness(preset.young)}, ν {preset.poisson:g}, {preset.density:g} kg/m³, "
        f"tan δ {preset.loss_factor:g}.\n{preset.source}"
    )


_MENU = [(name, preset.label, _describe(preset)) for name, preset in PRESETS.items()]


class SUPPLE_OT_apply_preset(bpy.types.Operator):
    """Make the active soft body, and all selected ones, of a real material with published values"""

    bl_idname = "supple.apply_preset"
    bl_label = "Material Preset"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(
        name="Preset",
        description="A real material: its values, and the works they are from",
        items=_MENU,
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not _bodies(context):
            cls.poll_message_set("Select a soft body.")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        preset, bodies = PRESETS[self.preset], _bodies(context)
        for obj in bodies:
            for name in _SETTINGS:
                setattr(obj.supple, name, getattr(preset, name))
        self.report({"INFO"}, f"{preset.label}: {', '.join(obj.name for obj in bodies)}.")
        return {"FINISHED"}


def _bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The active soft body, whose panel this is pressed in, and the selected ones."""
    others = [obj for obj in context.selected_objects if obj != context.object]
    return [obj for obj in (context.object, *others) if is_soft_body(obj)]
