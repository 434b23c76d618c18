# SPDX-License-Identifier: GPL-3.0-or-later
"""Preset: the published values of a real material."""

import bpy
from bpy.props import EnumProperty

from ...core.materials.preset_table import length, stiffness
from ...core.materials.presets import GROUPS, HAND_SIZE, PRESETS, Preset
from .. import ids
from ..named import named
from ..properties import presets, suited
from ..properties.rest_boxes import longest_side
from ..units import metres_per_unit
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


def _menu() -> list[tuple[str, str, str]]:
    """The presets below the headings of their groups, each with the height it is made for."""
    items = []
    for group, names in GROUPS.items():
        items.append(("", group, ""))
        for name in names:
            preset = PRESETS[name]
            text = f"{preset.label}  ({length(preset.size)})"
            items.append((name, text, _describe(preset)))
    return items


REAL, HAND = "real", "hand"


class SUPPLE_OT_apply_preset(BodiesOperator, bpy.types.Operator):
    """Make the active soft body, and all selected ones, of a real material with published values"""

    bl_idname = ids.APPLY_PRESET
    bl_label = "Material Preset"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(
        name="Preset",
        description="A real material: its values, and the works they are from",
        items=_menu(),
        default="gelatine_dessert",
    )
    size: EnumProperty(
        name="Size",
        description="Whether a body larger or smaller than a hand looks like a small piece",
        items=[
            (
                HAND,
                "As at Hand Size",
                "Looks as a piece of 10 cm does: stiffness, damping and yield stress are those for "
                "the size of the body",
            ),
            (REAL, "As Real", "The published values: a large body of a soft material collapses"),
        ],
        default=HAND,
    )

    def execute(self, context: bpy.types.Context) -> set[str]:
        preset, bodies = PRESETS[self.preset], chosen_bodies(context)
        unit = metres_per_unit(context.scene)
        for obj in bodies:
            size = unit * longest_side(obj) if self.size == HAND else 0.0
            presets.apply(obj.supple, preset, size / HAND_SIZE if size > 0.0 else 1.0)
        if self.size == HAND:
            self.report({"INFO"}, f"{preset.label}, as at hand size: {named(bodies)}.")
            return {"FINISHED"}
        message = [f"{preset.label}: {named(bodies)}."]
        lying = [obj for obj in bodies if suited.sag_message(context.scene, obj)[1]]
        if lying:
            message.append(
                f"Too soft for the size of {named(lying)}: it sags by a tenth when it is "
                f"{length(preset.tenth_sag_height)} high. As at Hand Size keeps its look, "
                "Stiffness from Size the rest of it."
            )
        slumps = [obj for obj in bodies if suited.slump_message(context.scene, obj)]
        if preset.use_plasticity and slumps:
            message.append(
                f"Too high to stand: {named(slumps)}; it slumps where it is more than "
                f"{length(preset.size)} high. A larger Yield Stress keeps the rest of it."
            )
        self.report({"INFO"}, " ".join(message))
        return {"FINISHED"}
