# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders of contact, and what absorbs fields: any mesh as it is seen, still or moving."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SceneError
from ...core.geometry.unreferenced import compact_indices
from ...core.scene.contact_settings import Collider
from ..animated import is_animated
from ..units import exact_float
from .captured import CaptureError
from .friction import coefficients
from .motion import Recording, may_move, transform, world_matrix
from .surfaces import Points, Triangles, evaluated_mesh, polygons, triangles, vertex_coordinates

# Modifiers that shape a mesh by numbers of their own, which change only with the object's
# animation. All others may follow another object, or the time.
_STILL_MODIFIERS = {
    "BEVEL",
    "COLLISION",
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
        role, cure: what messages call it, and how it can be left out.

    Raises:
        CaptureError: when it has no faces.
    """

    def __init__(
        self,
        obj: bpy.types.Object,
        depsgraph: bpy.types.Depsgraph,
        unit: float,
        role: str = "a collider",
        cure: str = "untick Collider",
    ) -> None:
        self._obj, self._unit, self._role, self._cure = obj, unit, role, cure
        self._first_frame = depsgraph.scene.frame_current
        self._mirrored = bool(np.linalg.det(world_matrix(obj, depsgraph)[:3, :3]) < 0.0)
        first, faces = _EvaluatedCollider.read(obj, depsgraph), _faces(obj, depsgraph)
        if len(faces) == 0:
            raise CaptureError(f"{obj.name} is {role} without faces; give it some, or {cure}.")
        self._point_count, self._polygons = len(first.points), first.polygons
        self._used, self._faces = compact_indices(faces)
        self.recording = Recording(self._points, _may_change(obj))

    def described(self) -> Collider:
        """What the solver gets, once all frames were recorded.

        Raises:
            CaptureError: when its settings make no sense.
        """
        props = self._obj.supple
        try:
            return Collider(
                self.recording.channel(),
                self._faces[:, ::-1] if self._mirrored else self._faces,
                *coefficients(props, "collider_"),
                self._unit * exact_float(props.collider_thickness),
                self._obj.name,
            )
        except SceneError as error:
            raise CaptureError(str(error)) from error

    def _points(self, depsgraph: bpy.types.Depsgraph) -> Points:
        """(V, 3) in the world in metres, without those in no face."""
        name, frame = self._obj.name, depsgraph.scene.frame_current
        evaluated = _EvaluatedCollider.read(self._obj, depsgraph)
        count = len(evaluated.points)
        if count != self._point_count or not np.array_equal(evaluated.polygons, self._polygons):
            raise CaptureError(
                f"{name} has other faces at frame {frame} than at frame {self._first_frame}; "
                f"{self._role} keeps them. Remove the modifier or the animation that changes "
                f"them, or {self._cure}."
            )
        points = transform(world_matrix(self._obj, depsgraph), evaluated.points)
        broken = ~np.isfinite(points).all(axis=1)
        if broken.any():
            raise CaptureError(
                f"{name}: vertex {int(broken.argmax())} is not at a finite position at frame "
                f"{frame}; check its mesh, modifiers and transform."
            )
        used: Points = self._unit * points[self._used]
        return used


@dataclass(frozen=True)
class _EvaluatedCollider:
    """A collider at one frame, in its own space.

    Args:
        points: (V, 3).
        polygons: its faces as numbers.
    """

    points: Points
    polygons: NDArray[np.int32]

    @staticmethod
    def read(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> _EvaluatedCollider:
        if obj.type == "EMPTY":
            points, faces = _ball()
            size = obj.evaluated_get(depsgraph).empty_display_size
            return _EvaluatedCollider(size * points, faces)
        with evaluated_mesh(obj, depsgraph) as mesh:
            return _EvaluatedCollider(vertex_coordinates(mesh), polygons(mesh))


def _faces(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Triangles:
    """(T, 3). Which way a polygon is split depends on how it is bent, so this is of one frame."""
    if obj.type == "EMPTY":
        return _ball()[1]
    with evaluated_mesh(obj, depsgraph) as mesh:
        return triangles(mesh)


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
