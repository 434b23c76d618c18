# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of soft bodies as the viewport shows it, simulated or baked, in the world."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ..bake import shape_keys
from ..capture.motion import preserved_frame
from ..capture.objects import all_soft_bodies, is_soft_body
from ..capture.scene import frame_range
from ..capture.surfaces import evaluated_mesh, vertex_coordinates
from ..modifiers import find_modifier
from ..playback import retimed
from ..steps import Steps

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """The motion of a body's own vertices.

    Args:
        start: the scene frame of the first sample.
        points: (F, V, 3) in the world.
        matrices: (F, 4, 4) from the object's space to the world.
    """

    start: int
    points: Floats
    matrices: Floats

    def size(self) -> float:
        """The diagonal of the body's bounding box in the first frame."""
        return float(np.linalg.norm(np.ptp(self.points[0], axis=0)))


def moving_bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The visible soft bodies with simulated or baked frames."""
    return [obj for obj in all_soft_bodies(context) if _moves(obj) and obj.visible_get()]


def _moves(obj: bpy.types.Object) -> bool:
    return find_modifier(obj) is not None or shape_keys.has_bake(obj)


def why_none(context: bpy.types.Context) -> str:
    """The reason why there is no motion to export, found quickly; empty where there is."""
    reason = "Nothing is simulated yet. Press Simulate first."
    for obj in context.view_layer.objects:
        if is_soft_body(obj) and _moves(obj):
            if obj.visible_get():
                return ""
            reason = "All simulated soft bodies are hidden. Show them first."
    return reason


def sampled(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object]
) -> Steps[dict[bpy.types.Object, Motion]]:
    """Read the motion of bodies over the frame range of the simulation.

    Raises:
        SuppleError: when modifiers before the frames change the number of vertices.
    """
    frames = frame_range(context.scene)
    points: dict[bpy.types.Object, list[Floats]] = {obj: [] for obj in objects}
    matrices: dict[bpy.types.Object, list[Floats]] = {obj: [] for obj in objects}
    with preserved_frame(context.scene), ExitStack() as stack:
        for obj in objects:
            stack.enter_context(retimed.vertices_alone(obj))
        for number, frame in enumerate(frames):
            yield number / len(frames)
            context.scene.frame_set(frame)
            depsgraph = context.evaluated_depsgraph_get()
            for obj in objects:
                matrix = np.array(obj.evaluated_get(depsgraph).matrix_world)
                with evaluated_mesh(obj, depsgraph) as mesh:
                    local = vertex_coordinates(mesh)
                if len(local) != len(obj.data.vertices):
                    raise SuppleError(
                        f"{obj.name} has {len(obj.data.vertices)} vertices, but {len(local)} after "
                        "the modifiers that move it. Apply those that add vertices, and simulate "
                        "again."
                    )
                points[obj].append(local @ matrix[:3, :3].T + matrix[:3, 3])
                matrices[obj].append(matrix)
    return {
        obj: Motion(frames[0], np.stack(points[obj]), np.stack(matrices[obj])) for obj in objects
    }


def into(matrix: Floats, points: Floats) -> Floats:
    """Points of the world in the space of a matrix."""
    inverse = np.linalg.inv(matrix)
    moved: Floats = points @ inverse[:3, :3].T + inverse[:3, 3]
    return moved
