# SPDX-License-Identifier: GPL-3.0-or-later
"""The visible positions of an object's vertices: in the viewport, and in renders."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


class ProbeEngine(bpy.types.RenderEngine):
    """Renders nothing, but keeps the positions that an engine gets."""

    bl_idname = "SUPPLE_PROBE"
    bl_label = "Probe"
    name = ""
    rendered: Points

    def render(self, depsgraph: bpy.types.Depsgraph) -> None:
        assert depsgraph.mode == "RENDER"
        ProbeEngine.rendered = positions(bpy.data.objects[ProbeEngine.name], depsgraph)


def positions(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Points:
    """The (V, 3) points in the world, after all modifiers."""
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    points = np.array([tuple(vertex.co) for vertex in mesh.vertices])
    evaluated.to_mesh_clear()
    matrix = np.array(evaluated.matrix_world)
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def seen(obj: bpy.types.Object, frame: float) -> Points:
    bpy.context.scene.frame_set(int(frame // 1), subframe=frame % 1)
    return positions(obj, bpy.context.evaluated_depsgraph_get())


def rendered(obj: bpy.types.Object, frame: float) -> Points:
    scene = bpy.context.scene
    scene.render.engine, ProbeEngine.name = ProbeEngine.bl_idname, obj.name
    if scene.camera is None:
        scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.render.resolution_x = scene.render.resolution_y = 4
    scene.frame_set(int(frame // 1), subframe=frame % 1)
    bpy.ops.render.render()
    return ProbeEngine.rendered
