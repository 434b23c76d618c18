# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons that make and change soft bodies."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty

from ...core.errors import SuppleError
from ...core.materials.bounce import bounciness
from ...core.materials.presets import GROUPS, HAND_SIZE, PRESETS, Preset, length, stiffness
from .. import actions, ids
from ..capture.objects import is_soft_body
from ..named import named
from ..playback import fields, mesh_cache, smooth
from ..properties import jiggling, presets, selection, suited
from ..properties.suited import longest_side
from ..settings.object import setting
from ..units import metres_per_unit
from ..worker import warm_worker
from .base import ActionOperator, BodiesOperator, NamedObjectOperator, chosen_bodies


class SUPPLE_OT_add(bpy.types.Operator):
    """Make the selected meshes soft bodies"""

    bl_idname = ids.ADD
    bl_label = "Add Soft Body"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not selection.candidates(context):
            cls.poll_message_set(selection.why_none(context))
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        self.report({"INFO"}, selection.make_soft(context, selection.candidates(context)))
        if not bpy.app.background:
            warm_worker.prepare()
        return {"FINISHED"}


class SUPPLE_OT_remove(bpy.types.Operator):
    """Make the selected soft bodies ordinary meshes again. Baked shape keys stay"""

    bl_idname = ids.REMOVE
    bl_label = "Remove Soft Body"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not any(is_soft_body(obj) for obj in context.selected_objects):
            cls.poll_message_set("Select a soft body.")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        objects = [obj for obj in context.selected_objects if is_soft_body(obj)]
        for obj in objects:
            fields.hide(obj)
            mesh_cache.detach(obj)
            smooth.update(obj)
            obj.supple.enabled = False
        self.report({"INFO"}, f"No soft body any more: {named(objects)}.")
        return {"FINISHED"}


class SUPPLE_OT_jiggle(ActionOperator, bpy.types.Operator):
    """Add secondary motion to animated meshes. Uses the active vertex group, or creates one from
    the distance to bones or to the surface"""

    bl_idname = ids.JIGGLE
    bl_label = "Jiggle"

    speed: setting("jiggle_speed").property()
    duration: setting("jiggle_duration").property()
    amount: setting("jiggle_amount").property()
    group: StringProperty(
        name="Group",
        description=(
            "Vertex group of what wobbles, most where its weight is 1. Empty takes the one that is "
            "being painted, else one named Jiggle, else makes that"
        ),
    )

    falloff: EnumProperty(
        name="Falloff",
        description="What is held, and what wobbles",
        items=[
            (jiggling.AUTOMATIC, "Automatic", "From the bones where it has any, else the surface"),
            (jiggling.BONES, "From Bones", "What is near the bones is held, what is far wobbles"),
            (
                jiggling.SURFACE,
                "From Surface",
                "The core is held, the surface wobbles, and what is thin wobbles as a whole",
            ),
            (jiggling.NONE, "None", "All of it wobbles as one"),
        ],
        default=jiggling.AUTOMATIC,
        options={"SKIP_SAVE"},
    )
    depth: setting("jiggle_depth").property(default=0.5)

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return "" if jiggling.candidates(context) else jiggling.why_none(context)

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        layout.use_property_split = True
        for name in ("speed", "duration", "amount"):
            layout.prop(self, name)
        if obj is not None and obj.type == "MESH":
            layout.prop_search(self, "group", obj, "vertex_groups")
        layout.prop(self, "falloff")
        if self.falloff in (jiggling.AUTOMATIC, jiggling.SURFACE):
            layout.prop(self, "depth")

    def act(self, context: bpy.types.Context) -> str:
        wanted = jiggling.Jiggle(
            *(self.speed, self.duration, self.amount, self.group, self.falloff, self.depth)
        )
        message = jiggling.let_jiggle(context, jiggling.candidates(context), wanted)
        if not bpy.app.background:
            warm_worker.prepare()
        return message


class SUPPLE_OT_add_attachment(NamedObjectOperator, bpy.types.Operator):
    """Attach the soft body to one more object"""

    bl_idname = ids.ADD_ATTACHMENT
    bl_label = "Add Attachment"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        row = obj.supple.attachments.add()
        row.attach_as = obj.supple.attach_as
        return f"{obj.name}: choose what else it is attached to."


class SUPPLE_OT_remove_attachment(NamedObjectOperator, bpy.types.Operator):
    """Remove this attachment of the soft body"""

    bl_idname = ids.REMOVE_ATTACHMENT
    bl_label = "Remove Attachment"

    index: IntProperty(options={"HIDDEN", "SKIP_SAVE"})

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        rows = obj.supple.attachments
        if not 0 <= self.index < len(rows):
            raise SuppleError(f"{obj.name} has no further attachment {self.index}.")
        rows.remove(self.index)
        return f"{obj.name}: one attachment less."


class SUPPLE_OT_take_start(ActionOperator, bpy.types.Operator):
    """Start the next simulation as the simulated frame that is shown: of this body, or of another
    one that is selected with it and has the same mesh. Its frames are kept"""

    bl_idname = ids.TAKE_START
    bl_label = "Take Shown Frame"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return "" if is_soft_body(context.object) else "Select a soft body."

    def act(self, context: bpy.types.Context) -> str:
        obj = context.object
        others = [each for each in context.selected_objects if each != obj and is_soft_body(each)]
        frame = round(context.scene.frame_current_final)
        return actions.take_start(obj, others[0] if others else obj, frame)


def _describe(preset: Preset) -> str:
    size, flow = f"Sags by a tenth of its height when it is {length(preset.size)} high.", ""
    if preset.use_plasticity:
        size = f"Stands when it is up to {length(preset.size)} high; what is higher slumps."
        flow = f", yields at {stiffness(preset.yield_stress)}"
    return (
        f"{size}\n{stiffness(preset.young)}, ν {preset.poisson:g}, {preset.density:g} kg/m³, "
        f"tan δ {preset.tan_delta:g}, bounces back {bounciness(preset.loss_factor):.0%}{flow}.\n"
        f"{preset.source}"
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
                "Looks as a piece of 10 cm does: stiffness and yield stress are those for "
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


class SUPPLE_OT_suit_young(BodiesOperator, bpy.types.Operator):
    """Make it as stiff as its size and density want: it sags by about a tenth of its height under
    its own weight and wobbles"""

    bl_idname = ids.SUIT_YOUNG
    bl_label = "Stiffness from Size"

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if obj.supple.jiggle_group:
            return f"{obj.name} jiggles, and keeps the stiffness that suits its speed."
        suited.suit_young(context, obj)
        return f"{obj.name}: Stiffness {obj.supple.young:.3g} Pa."


class SUPPLE_OT_suit_resolution(BodiesOperator, bpy.types.Operator):
    """Make the cells as small as its thin parts want, as long as that stays quick"""

    bl_idname = ids.SUIT_RESOLUTION
    bl_label = "Resolution from Shape"

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        suited.suit_resolution(context, obj)
        return f"{obj.name}: Resolution {obj.supple.resolution}."
