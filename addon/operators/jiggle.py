# SPDX-License-Identifier: GPL-3.0-or-later
"""Jiggle."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty, StringProperty

from .. import ids
from ..properties import jiggling
from ..properties.object import setting
from ..worker import warm_worker
from .action_operator import ActionOperator


class SUPPLE_OT_jiggle(ActionOperator, bpy.types.Operator):
    """Add secondary motion to animated meshes. Uses the active vertex group, or creates one from
    the distance to bones or to the surface"""

    bl_idname = ids.JIGGLE
    bl_label = "Jiggle"
    bl_options = {"REGISTER", "UNDO"}

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
