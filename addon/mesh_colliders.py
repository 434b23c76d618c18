# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders of contact: any mesh as it is seen, still or moving."""

from __future__ import annotations

from functools import cache

import bpy
import numpy as np

from ..core.contact_settings import Collider
from ..core.errors import SceneError
from .captured import CaptureError
from .contact_capture import kinetic_friction
from .motion import Recording, is_animated, may_move, transform, world_matrix
from .surfaces import Points, Triangles, seen_surface, without_loose_points
from .units import exact

# Modifiers that shape a mesh by numbers of their own, which change only with the object's
# animation. All others may follow another object, or the time.
_STILL_MODIFIERS = {
    "BEVEL",
    "DECIMATE",
    "EDGE_SPLIT",
    "MULTIRES",
    "REMESH",
    "SMOOTH",
    "SOLIDIFY",
    "SUBSURF",
    "TRIANGULATE",
    "WELD",
    "WIREFRAME",
}

# Of the ball that stands for an empty: 642 points, off by a third of a percent of the radius.
_BALL_SUBDIVISIONS = 4


class MeshCollider:
    """A collider and what is recorded of it over the frames.

    Args:
        obj: the object.
        depsgraph: at the first of the frames.
        unit: metres in a Blender unit.

    Raises:
        CaptureError: when it has no faces.
    """

    def __init__(self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float) -> None:
        self._obj, self._unit = obj, unit
        self._first_frame = depsgraph.scene.frame_current
        self._mirrored = bool(np.linalg.det(world_matrix(obj, depsgraph)[:3, :3]) < 0.0)
        points, self._triangles = _seen(obj, depsgraph)
        self._point_count = len(points)
        if len(self._triangles) == 0:
            raise CaptureError(
                f"{obj.name} has no faces to land on; give it some, or untick Collider."
            )
        self.recording = Recording(self._points, _may_change(obj))

    def described(self) -> Collider:
        """What the solver gets, once all frames were recorded.

        Raises:
            CaptureError: when its settings make no sense.
        """
        samples, own = self._unit * self.recording.samples(), self._obj.supple
        faces = self._triangles[:, ::-1] if self._mirrored else self._triangles
        points, faces = without_loose_points(samples, faces)
        friction = exact(own.collider_friction)
        try:
            return Collider(
                points[0] if len(points) == 1 else points,
                faces,
                friction,
                kinetic_friction(friction, own.collider_sliding_friction),
                self._unit * exact(own.collider_thickness),
                self._obj.name,
            )
        except SceneError as error:
            raise CaptureError(str(error)) from error

    def _points(self, depsgraph: bpy.types.Depsgraph) -> Points:
        """(V, 3) in the world in Blender units."""
        name, frame = self._obj.name, depsgraph.scene.frame_current
        local, faces = _seen(self._obj, depsgraph)
        if len(local) != self._point_count or not np.array_equal(faces, self._triangles):
            raise CaptureError(
                f"{name} has other faces at frame {frame} than at frame {self._first_frame}; a "
                "collider keeps them. Remove the modifier or the animation that changes them, or "
                "untick Collider."
            )
        points = transform(world_matrix(self._obj, depsgraph), local)
        broken = ~np.isfinite(points).all(axis=1)
        if broken.any():
            raise CaptureError(
                f"{name}: vertex {int(broken.argmax())} is not at a finite position at frame "
                f"{frame}; check its mesh, modifiers and transform."
            )
        return points


def _seen(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[Points, Triangles]:
    """Points in its own space, and faces."""
    if obj.type != "EMPTY":
        return seen_surface(obj, depsgraph)
    points, faces = _ball()
    return obj.evaluated_get(depsgraph).empty_display_size * points, faces


def _may_change(obj: bpy.types.Object) -> bool:
    if may_move(obj):
        return True
    if obj.type != "MESH":
        return False
    keys = obj.data.shape_keys
    return (
        is_animated(obj.data)
        or (keys is not None and is_animated(keys))
        or any(m.show_viewport and m.type not in _STILL_MODIFIERS for m in obj.modifiers)
    )


@cache
def _ball() -> tuple[Points, Triangles]:
    """Of radius 1."""
    import bmesh

    ball = bmesh.new()
    try:
        bmesh.ops.create_icosphere(ball, subdivisions=_BALL_SUBDIVISIONS, radius=1.0)
        points = np.array([vertex.co for vertex in ball.verts], dtype=np.float64)
        faces = [[vertex.index for vertex in face.verts] for face in ball.faces]
        return points, np.array(faces, dtype=np.int32)
    finally:
        ball.free()
