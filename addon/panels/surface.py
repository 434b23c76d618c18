# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the active soft body touches, and how it slides."""

from __future__ import annotations

import bpy

from .. import driving
from ..capture.contact import is_possible
from ..deforming import keeps_vertices
from ..playback import refined_frames
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_panel, draw_settings, write


class SUPPLE_PT_surface(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_surface"
    bl_label = "Surface"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        draw_panel(layout, props, "surface")
        touches_others = is_possible(context.scene)
        if touches_others and props.contact_surface == "mesh":
            draw_settings(layout, props, "contact_detail")
        if props.touching_report:
            write(layout, context, props.touching_report)
            if text := _shaping(context):
                write(layout, context, text)


def _shaping(context: bpy.types.Context) -> str:
    """What modifiers do that shape the frames anew; empty where none does."""
    obj = context.object
    names = [
        modifier.name
        for modifier in driving.refiners(obj)
        if driving.is_shown(obj, modifier) and not keeps_vertices(modifier)
    ]
    if not names:
        return ""
    shown, depsgraph = refined_frames.shown_points(obj), context.view_layer.depsgraph
    if depsgraph and shown == len(obj.evaluated_get(depsgraph).data.vertices):
        return ""
    shapes, it = ("shapes", "it") if len(names) == 1 else ("shape", "them")
    cure = f"Apply {it}" if shown is None else "Simulate again"
    return (
        f"{' and '.join(names)} {shapes} the frames anew, so that what is seen can lie beside what "
        f"touches. {cure} to see what touches."
    )
