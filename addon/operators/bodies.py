# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons that make and change soft bodies."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty

from ...core.errors import SuppleError
from ...core.materials.presets import GROUPS, PRESETS, Preset, length, stiffness
from .. import actions, ids
from ..capture.objects import can_collide, is_collider, is_soft_body
from ..named import named
from ..playback import fields, mesh_cache, smooth
from ..properties import jiggling, material_sets, presets, selection, suited
from ..properties.selection import copy_settings
from ..settings.object import setting
from ..translations import translated
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
            cls.poll_message_set(translated(selection.why_none(context)))
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        made = selection.make_soft(context, selection.candidates(context))
        self.report({"INFO"}, translated(made))
        if not bpy.app.background:
            warm_worker.prepare()
        return {"FINISHED"}


class SUPPLE_OT_add_collider(NamedObjectOperator, bpy.types.Operator):
    """Let soft bodies land on the selected objects instead of passing through them"""

    bl_idname = ids.ADD_COLLIDER
    bl_label = "Add Collider"

    def act(self, context: bpy.types.Context) -> str:
        if self.object_name:
            return super().act(context)
        objects = [obj for obj in context.selected_objects if can_collide(obj)]
        if not objects:
            raise SuppleError("Select a mesh or an empty sphere that is not a soft body.")
        for obj in objects:
            self.mend(context, obj)
        if len(objects) == 1:
            return f"{objects[0].name} is now a collider."
        return f"{named(objects)} are now colliders."

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not can_collide(obj):
            raise SuppleError(f"{obj.name} cannot be a collider. Use a mesh or an empty sphere.")
        if not obj.is_editable:
            raise SuppleError(
                f"{obj.name} is linked from another file. Make it a library override first."
            )
        obj.supple.collider = True
        return f"{obj.name} is now a collider."


class SUPPLE_OT_remove(bpy.types.Operator):
    """Turn the selected soft bodies back into ordinary meshes. Keeps baked shape keys"""

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
        self.report({"INFO"}, translated(f"Removed from soft bodies: {named(objects)}."))
        return {"FINISHED"}


class SUPPLE_OT_copy_settings(ActionOperator, bpy.types.Operator):
    """Copy all settings of the active soft body or collider to the other selected objects"""

    bl_idname = ids.COPY_SETTINGS
    bl_label = "Copy Settings to Selected"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if not (is_soft_body(context.object) or is_collider(context.object)):
            return "Make the soft body or collider with the settings the active object."
        return "" if _others(context) else "Select other meshes to copy the settings to."

    def act(self, context: bpy.types.Context) -> str:
        others = _others(context)
        for obj in others:
            copy_settings(context.object, obj)
        return f"Copied the settings of {context.object.name} to {named(others)}."


class SUPPLE_OT_share_material(ActionOperator, bpy.types.Operator):
    """Let all selected soft bodies share the material of the active one. A later change on one of
    them changes all"""

    bl_idname = ids.SHARE_MATERIAL
    bl_label = "Share Material"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if not is_soft_body(context.object):
            return "Make the soft body with the material the active object."
        return "" if _editable_bodies(context) else "Select other soft bodies to share it with."

    def act(self, context: bpy.types.Context) -> str:
        others = _editable_bodies(context)
        name = material_sets.join(others, context.object)
        return f"{named([context.object, *others])} share the material {name}."


class SUPPLE_OT_use_material(ActionOperator, bpy.types.Operator):
    """Use a material that other soft bodies have"""

    bl_idname = ids.USE_MATERIAL
    bl_label = "Material Set"

    name: StringProperty(name="Name", description="Name of the material set")

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return "" if is_soft_body(context.object) else "Select a soft body."

    def act(self, context: bpy.types.Context) -> str:
        bodies = [obj for obj in material_sets.bodies_of(self.name) if obj != context.object]
        if not bodies:
            raise SuppleError(f"No other soft body has the material set {self.name}.")
        material_sets.join([context.object], bodies[0])
        return f"{context.object.name} has the material {self.name} now."


class SUPPLE_OT_unshare_material(ActionOperator, bpy.types.Operator):
    """Give the body a material of its own, with the same values"""

    bl_idname = ids.UNSHARE_MATERIAL
    bl_label = "Make Single User"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if is_soft_body(context.object) and context.object.supple.material_set:
            return ""
        return "The active object does not share its material."

    def act(self, context: bpy.types.Context) -> str:
        context.object.supple.material_set = ""
        return f"{context.object.name} has a material of its own now."


def _editable_bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected soft bodies beside the active one."""
    return [obj for obj in _others(context) if is_soft_body(obj)]


def _others(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected objects beside the active one that can have settings."""
    return [
        obj
        for obj in context.selected_objects
        if obj != context.object and obj.is_editable and (is_soft_body(obj) or can_collide(obj))
    ]


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
            "Vertex group that jiggles, most where its weight is 1. Empty uses the group "
            "being painted, or a group named Jiggle, which is created if needed"
        ),
    )

    falloff: EnumProperty(
        name="Falloff",
        description="How the weights of a new group fall off",
        items=[
            (
                jiggling.AUTOMATIC,
                "Automatic",
                ("From Bones for meshes with an armature, otherwise From Surface"),
            ),
            (
                jiggling.BONES,
                "From Bones",
                ("Parts near the bones follow the animation, parts far away jiggle"),
            ),
            (
                jiggling.SURFACE,
                "From Surface",
                (
                    "The core follows the animation, the surface jiggles, and thin parts jiggle "
                    "as a whole"
                ),
            ),
            (jiggling.NONE, "None", "The whole mesh jiggles alike"),
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
        choices = jiggling.Jiggle(
            *(self.speed, self.duration, self.amount, self.group, self.falloff, self.depth)
        )
        message = jiggling.let_jiggle(context, jiggling.candidates(context), choices)
        if not bpy.app.background:
            warm_worker.prepare()
        return message


class SUPPLE_OT_add_attachment(NamedObjectOperator, bpy.types.Operator):
    """Attach the soft body to another object"""

    bl_idname = ids.ADD_ATTACHMENT
    bl_label = "Add Attachment"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        row = obj.supple.attachments.add()
        row.attach_as = obj.supple.attach_as
        return f"{obj.name}: choose the object to attach it to."


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
        return f"{obj.name}: removed an attachment."


class SUPPLE_OT_take_start(ActionOperator, bpy.types.Operator):
    """Start the next simulation from the current frame of this body, or of another selected body
    with the same mesh. Keeps the simulated frames"""

    bl_idname = ids.TAKE_START
    bl_label = "Start from Current Frame"

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
        size = f"Stands up to a height of {length(preset.size)}. Higher bodies slump."
        flow = f", yields at {stiffness(preset.yield_stress)}"
    return (
        f"{size}\n{stiffness(preset.young)}, ν {preset.poisson:g}, {preset.density:g} kg/m³, "
        f"tan δ {preset.tan_delta:g}, rebound {preset.bounciness:.0%}{flow}.\n"
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
    """Apply a real material with published values to the active and the selected soft bodies"""

    bl_idname = ids.APPLY_PRESET
    bl_label = "Material Preset"

    preset: EnumProperty(
        name="Preset",
        description="Real material with published values",
        items=_menu(),
        default="gelatine_dessert",
    )
    size: EnumProperty(
        name="Size",
        description="Size of the body that the preset is made for",
        items=[
            (
                HAND,
                "Hand Size",
                "Look like a piece of 10 cm. Stiffness and yield stress are scaled to the size of "
                "the body",
            ),
            (REAL, "Real Size", "Use the published values. Large bodies of soft material collapse"),
        ],
        default=HAND,
    )

    def execute(self, context: bpy.types.Context) -> set[str]:
        preset, bodies = PRESETS[self.preset], chosen_bodies(context)
        if self.size == HAND:
            for obj in bodies:
                presets.apply_to_size(context.scene, obj, preset)
            text = f"{preset.label} (Hand Size): {named(bodies)}."
            self.report({"INFO"}, translated(text))
            return {"FINISHED"}
        for obj in bodies:
            presets.apply(obj.supple, preset)
        message = [f"{preset.label}: {named(bodies)}."]
        lying = [obj for obj in bodies if suited.sag_message(context.scene, obj)[1]]
        if lying:
            message.append(
                f"{named(lying)} will collapse: this material holds its shape up to "
                f"{length(preset.tenth_sag_height)}. Choose Hand Size to keep its look, or press "
                "Stiffness from Size."
            )
        slumps = [obj for obj in bodies if suited.slump_message(context.scene, obj)]
        if preset.use_plasticity and slumps:
            message.append(
                f"{named(slumps)} will slump: this material stands up to "
                f"{length(preset.size)}. Raise Yield Stress to keep it standing."
            )
        self.report({"INFO"}, translated(" ".join(message)))
        return {"FINISHED"}


class SUPPLE_OT_suit_young(BodiesOperator, bpy.types.Operator):
    """Set the stiffness by size and density, so that the body wobbles and sags by about a tenth of
    its height"""

    bl_idname = ids.SUIT_YOUNG
    bl_label = "Stiffness from Size"

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if obj.supple.jiggle_group:
            return f"{obj.name} jiggles, and its stiffness follows from its speed."
        suited.suit_young(context, obj)
        return f"{obj.name}: Stiffness {obj.supple.young:.3g} Pa."


class SUPPLE_OT_suit_resolution(BodiesOperator, bpy.types.Operator):
    """Set the resolution by the thin parts of the body, as long as the simulation stays fast"""

    bl_idname = ids.SUIT_RESOLUTION
    bl_label = "Resolution from Shape"

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        suited.suit_resolution(context, obj)
        return f"{obj.name}: Resolution {obj.supple.resolution}."
