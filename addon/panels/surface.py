# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the active soft body touches, and how it slides."""

from __future__ import annotations

import bpy

from .. import driving
from ..capture.contact import is_possible
from ..capture.objects import soft_bodies
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_settings, write

# Modifiers that move all vertices of a mesh towards each other, and add more.
ROUNDING = {"MULTIRES", "SUBSURF"}


class SUPPLE_PT_surface(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_surface"
    bl_label = "Surface"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        draw_settings(layout, props, "friction", "sliding_friction", "contact_surface")
        touches_others = is_possible(context.scene, soft_bodies(context))
        if touches_others and props.contact_surface == "mesh":
            draw_settings(layout, props, "contact_detail")
        if props.touching_report:
            write(layout, context, props.touching_report)
            if text := _rounding(context.object):
                write(layout, context, text)


def _rounding(obj: bpy.types.Object) -> str:
    """What modifiers do that round the frames; empty where there are none."""
    names = [
        modifier.name
        for modifier in driving.refiners(obj)
        if modifier.type in ROUNDING and driving.is_shown(obj, modifier)
    ]
    if not names:
        return ""
    rounds, it = ("rounds", "it") if len(names) == 1 else ("round", "them")
    return (
        f"{' and '.join(names)} {rounds} the frames anew, so that what is seen can lie beside what "
        f"touches. Apply {it} to see what touches."
    )
