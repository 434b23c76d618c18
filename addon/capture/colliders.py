# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders: meshes where soft bodies touch, and else spheres."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SceneError
from ...core.geometry.triangles import compact_indices
from ...core.scene.contact_settings import Collider, Sphere
from ..animated import is_animated
from ..new_mesh import new_mesh
from ..units import exact_float
from .captured import CaptureError
from .motion import Recording, matrix_recording, may_move, transform, world_matrix
from .surfaces import (
    Points,
    Triangles,
    evaluated_mesh,
    evaluated_surface,
    polygons,
    triangles,
    vertex_coordinates,
)
from .surroundings import coefficients

_NAME = "Supple Proxy"


def decimated(points: Points, faces: Triangles, ratio: float) -> tuple[Points, Triangles]:
    """Collapses edges of a surface until about this part of its faces is left.

    Args:
        points, faces: (V, 3) and (T, 3).
        ratio: 0 … 1.
    """
    # Blender keeps single precision: it counts from the middle, not from far away.
    center = points.mean(axis=0)
    with _temporary_object(points - center, faces) as (obj, layer):
        modifier = obj.modifiers.new(_NAME, "DECIMATE")
        modifier.decimate_type, modifier.ratio = "COLLAPSE", ratio
        layer.update()
        simpler, left = evaluated_surface(obj, layer.depsgraph)
    return simpler + center, left


@contextmanager
def _temporary_object(
    points: Points, faces: Triangles
) -> Iterator[tuple[bpy.types.Object, bpy.types.ViewLayer]]:
    """The surface as an object of a temporary scene, which is deleted afterwards."""
    mesh = new_mesh(_NAME, points.astype(np.float32), faces)
    obj = bpy.data.objects.new(_NAME, mesh)
    scene = bpy.data.scenes.new(_NAME)
    try:
        scene.collection.objects.link(obj)
        yield obj, scene.view_layers[0]
    finally:
        bpy.data.scenes.remove(scene)
        bpy.data.objects.remove(obj)
        bpy.data.meshes.remove(mesh)


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

# Subdivisions of the ball for an empty: 642 points, whose surface is off by a third of a percent of
# the radius.
_BALL_SUBDIVISIONS = 4


class MeshCollider:
    """A collider and the recordings of it over the frames.

    Args:
        obj: the object.
        depsgraph: at the first of the frames.
        unit: metres in a Blender unit.
        role, cure: its kind, and the way to leave it out, for messages.

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
            raise CaptureError(f"{obj.name} is {role} without faces. Add faces, or {cure}.")
        self._point_count, self._polygons = len(first.points), first.polygons
        self._used, self._faces = compact_indices(faces)
        self.recording = Recording(self._points, _may_change(obj))

    def described(self) -> Collider:
        """The object for the solver, once all frames were recorded.

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
        """Return (V, 3) vertices in the world in metres, without loose ones."""
        name, frame = self._obj.name, depsgraph.scene.frame_current
        evaluated = _EvaluatedCollider.read(self._obj, depsgraph)
        count = len(evaluated.points)
        if count != self._point_count or not np.array_equal(evaluated.polygons, self._polygons):
            raise CaptureError(
                f"{name} has other faces at frame {frame} than at frame {self._first_frame}, "
                f"and {self._role} must keep its faces. Remove the modifier or the animation "
                f"that changes them, or {self._cure}."
            )
        points = transform(world_matrix(self._obj, depsgraph), evaluated.points)
        broken = ~np.isfinite(points).all(axis=1)
        if broken.any():
            raise CaptureError(
                f"{name}: vertex {int(broken.argmax())} is not at a finite position at frame "
                f"{frame}. Check its mesh, modifiers and transform."
            )
        return self._unit * points[self._used]


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
    """A ball of radius 1: points and triangles."""
    import bmesh

    ball = bmesh.new()
    try:
        bmesh.ops.create_icosphere(ball, subdivisions=_BALL_SUBDIVISIONS, radius=1.0)
        points = np.array([vertex.co for vertex in ball.verts], dtype=np.float64)
        faces = [[vertex.index for vertex in face.verts] for face in ball.faces]
        return points, np.array(faces, dtype=np.int32)
    finally:
        ball.free()


# The largest extent may be longer than the smallest by this part. The coarse icosphere that
# Blender offers first has 5 %, turned ones less.
EXTENT_TOLERANCE_RATIO = 0.1
# The largest distance of a vertex from the sphere, in radii.
RADIUS_TOLERANCE_RATIO = 0.05

# The settings that allow any mesh as a collider.
CURE = "choose the integrator Automatic or Implicit Euler and a Contact other than Never"


class SphereCollider:
    """A spherical collider and the recordings of it over the frames.

    Args:
        obj: the object.
        depsgraph: at the first of the frames.
        unit: metres in a Blender unit.

    Raises:
        CaptureError: when it is not a sphere.
    """

    def __init__(self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float) -> None:
        self.recording = matrix_recording(obj)
        self._name, self._sphere = obj.name, _sphere(obj, depsgraph, unit)

    def described(self) -> Sphere:
        """The object for the solver, once all frames were recorded.

        Raises:
            CaptureError: when it moves.
        """
        if not self.recording.channel().is_constant:
            raise CaptureError(
                f"{self._name} is animated. Without contact, colliders must be spheres that do "
                f"not move. Clear its animation, untick Collider, or {CURE}."
            )
        return self._sphere


def _sphere(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float) -> Sphere:
    fit = _fit_empty if obj.type == "EMPTY" else _fit_mesh
    center, radius = fit(obj, depsgraph)
    x, y, z = (float(unit * part) for part in center)
    props = obj.supple
    friction, kinetic = coefficients(props, "collider_")
    try:
        return Sphere(
            (x, y, z),
            unit * radius,
            friction,
            exact_float(props.collider_restitution),
            exact_float(props.collider_penalty),
            obj.name,
            kinetic,
        )
    except SceneError as error:
        raise CaptureError(str(error)) from error


def _fit_empty(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[Points, float]:
    """Center and radius of the sphere that is drawn, in Blender units."""
    matrix = world_matrix(obj, depsgraph)
    _check_finite(obj, matrix)
    axes = np.linalg.svd(matrix[:3, :3], compute_uv=False)
    if axes[0] > (1.0 + RADIUS_TOLERANCE_RATIO) * axes[-1]:
        raise CaptureError(_uneven(obj, 2.0 * obj.empty_display_size * axes))
    return matrix[:3, 3], float(obj.empty_display_size * axes[0])


def _fit_mesh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[Points, float]:
    """Center of the bounding box and distance of the farthest vertex, in Blender units."""
    points = transform(world_matrix(obj, depsgraph), evaluated_surface(obj, depsgraph)[0])
    if len(points) == 0:
        raise CaptureError(f"{obj.name} has no vertices and cannot be a collider.")
    _check_finite(obj, points)
    extents = np.ptp(points, axis=0)
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    distances = np.linalg.norm(points - center, axis=1)
    radius = float(distances.max())
    if extents.max() > (1.0 + EXTENT_TOLERANCE_RATIO) * extents.min():
        raise CaptureError(_uneven(obj, extents))
    if distances.min() < (1.0 - RADIUS_TOLERANCE_RATIO) * radius:
        raise CaptureError(
            f"{obj.name} is not a sphere: a vertex lies {1.0 - distances.min() / radius:.0%} "
            "of the radius inside the bounding sphere. Without contact, colliders must be "
            f"spheres. Use one, untick Collider, or {CURE}."
        )
    return center, radius


def _check_finite(obj: bpy.types.Object, values: Points) -> None:
    if not np.isfinite(values).all():
        raise CaptureError(f"{obj.name} has an infinite or invalid location. Check its transform.")


def _uneven(obj: bpy.types.Object, extents: Points) -> str:
    x, y, z = extents
    return (
        f"{obj.name} is not a sphere: its sides measure {x:.3g}, {y:.3g} and {z:.3g}. Without "
        f"contact, colliders must be spheres. Scale it evenly, untick Collider, or {CURE}."
    )
