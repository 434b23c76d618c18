# SPDX-License-Identifier: GPL-3.0-or-later
"""Preset: the published values of a real material."""

import bpy
from bpy.props import EnumProperty

from ...core.materials.preset_table import length, stiffness
from ...core.materials.presets import PRESETS, Preset
from .. import ids
from ..named import named
from ..properties import presets, suited
from .bodies_operator import BodiesOperator, chosen_bodies


def _describe(preset: Preset) -> str:
    size, flow = f"Sags by a tenth of its height when it is {length(preset.size)} high.", ""
    if preset.use_plasticity:
        size = f"Stands when it is up to {length(preset.size)} high; what is higher slumps."
        flow = f", yields at {stiffness(preset.yield_stress)}"
    return (
        f"{size}\n{stiffness(preset.young)}, ν {preset.poisson:g}, {preset.density:g} kg/m³, "
        f"tan δ {preset.loss_factor:g}{flow}.\n{preset.source}"
    )


_MENU = [(name, preset.label, _describe(preset)) for name, preset in PRESETS.items()]


class SUPPLE_OT_apply_preset(BodiesOperator, bpy.types.Operator):
    """Make the active soft body, and all selected ones, of a real material with published values"""

    bl_idname = ids.APPLY_PRESET
    bl_label = "Material Preset"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(
        name="Preset",
        description="A real material: its values, and the works they are from",
        items=_MENU,
    )

    def execute(self, context: bpy.types.Context) -> set[str]:
        preset, bodies = PRESETS[self.preset], chosen_bodies(context)
        for obj in bodies:
            for name, value in presets.settings(preset).items():
                setattr(obj.supple, name, value)
        message = [f"{preset.label}: {named(bodies)}."]
        lying = [obj for obj in bodies if suited.sag_message(context.scene, obj)[1]]
        if lying:
            message.append(
                f"Too soft for the size of {named(lying)}: it sags by a tenth when it is "
                f"{length(preset.tenth_sag_height)} high. Stiffness from Size keeps the rest of it."
            )
        slumps = [obj for obj in bodies if suited.slump_message(context.scene, obj)]
        if preset.use_plasticity and slumps:
            message.append(
                f"Too high to stand: {named(slumps)}; it slumps where it is more than "
                f"{length(preset.size)} high. A larger Yield Stress keeps the rest of it."
            )
        self.report({"INFO"}, " ".join(message))
        return {"FINISHED"}
