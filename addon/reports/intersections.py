# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that intersect at the start: which they are, their faces, and how to part them."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix, Vector
from mathutils.bvhtree import BVHTree

from ...core.errors import JobError, SuppleError
from ...core.job import Job
from ...core.preparation.intersection_report import IntersectionReport
from .. import driving
from ..capture.motion import may_move, preserved_frame, transform, world_matrix
from ..capture.objects import is_soft_body, soft_bodies
from ..capture.scene import simulated_range
from ..capture.surfaces import (
    Points,
    base_coordinates,
    driven_coordinates,
    vertex_coordinates,
    without_supple,
)
from ..named import named
from ..units import metres_per_unit


@dataclass(frozen=True)
class Failure:
    """The reason why the latest run of a scene did not begin.

    Args:
        scene: its ``session_uid``.
        message: the error that the user saw.
        report: the intersecting objects.
    """

    scene: int
    message: str
    report: IntersectionReport


_latest: Failure | None = None


def remember(scene: bpy.types.Scene, job: Job, message: str) -> None:
    """Keep the intersecting objects for the panel after a run that failed because of them."""
    global _latest
    _latest = None
    try:
        report = job.intersections()
    except JobError:  # less important than the error of the run itself
        return
    if report is not None:
        _latest = Failure(scene.session_uid, message, report)


def forget() -> None:
    """Forget a failure, as when another run begins or the objects were moved."""
    global _latest
    _latest = None


def latest(scene: bpy.types.Scene) -> Failure | None:
    """The intersections that stopped the latest run of a scene; None without any."""
    if _latest is None or _latest.scene != scene.session_uid:
        return None
    return _latest


def select(context: bpy.types.Context, report: IntersectionReport) -> str:
    """Selects the objects that intersect, and of their meshes the faces that do.

    Faces are those of an object's own mesh that are nearest, at the start frame, to where something
    intersects; Edit Mode shows them.

    Returns:
        The message for the user.

    Raises:
        SuppleError: when none of the objects is there any more.
    """
    places = [
        (obj, offender.points)
        for offender in report.offenders
        if (obj := context.view_layer.objects.get(offender.name)) is not None
    ]
    if not places:
        raise SuppleError("The intersecting objects were removed. Simulate again.")
    _leave_edit_mode(context)
    objects = [obj for obj, _ in places]
    for obj in context.view_layer.objects:
        obj.select_set(obj in objects)
    context.view_layer.objects.active = objects[0]
    unit = metres_per_unit(context.scene)
    bodies = soft_bodies(context)
    with preserved_frame(context.scene), without_supple(bodies), driving.without_refiners(bodies):
        context.scene.frame_set(simulated_range(context.scene).start)
        depsgraph = context.evaluated_depsgraph_get()
        nearest = [_nearest_faces(obj, depsgraph, points / unit) for obj, points in places]
    for obj, faces in zip(objects, nearest, strict=True):
        if obj.type == "MESH":
            _select_faces(obj.data, faces)
    return (
        f"Selected {named(objects, 'objects')} and their intersecting faces. Press Tab to "
        "see the faces."
    )


def push_apart(context: bpy.types.Context, report: IntersectionReport) -> str:
    """Moves the objects by the offsets found, and nothing else about them.

    Returns:
        The message for the user.

    Raises:
        SuppleError: when an object cannot be moved; none is, then.
    """
    if report.offsets is None:
        raise SuppleError("These objects could not be moved apart. Move them by hand.")
    unit = metres_per_unit(context.scene)
    moved = []
    for name, offset in report.offsets.items():
        obj = context.view_layer.objects.get(name)
        if obj is None:
            raise SuppleError(f"{name} was removed. Simulate again.")
        _check_movable(obj)
        moved.append((obj, obj.matrix_world.translation + Vector(offset) / unit))
    # Parents first: they take their children along.
    for obj, target in sorted(moved, key=lambda each: _depth(each[0])):
        _move_to(obj, target)
        context.view_layer.update()
    names = named([obj for obj, _ in moved], "objects")
    return f"Moved {names} apart by up to {report.farthest:.3g} m. Simulate again."


def _leave_edit_mode(context: bpy.types.Context) -> None:
    active = context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")


def _nearest_faces(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, points: Points
) -> set[int]:
    """Indices of faces of the object's own mesh beside points (K, 3) in the world."""
    if obj.type != "MESH" or len(obj.data.polygons) == 0:
        return set()
    vertices = transform(world_matrix(obj, depsgraph), _evaluated_coordinates(obj, depsgraph))
    tree = BVHTree.FromPolygons(
        vertices.tolist(), [tuple(polygon.vertices) for polygon in obj.data.polygons]
    )
    faces = (tree.find_nearest(point)[2] for point in points.tolist())
    return {index for index in faces if index is not None}


def _evaluated_coordinates(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Points:
    """(V, 3) vertices of its own mesh, of a collider as modifiers bend it."""
    count = len(obj.data.vertices)
    if is_soft_body(obj):
        return driven_coordinates(obj, depsgraph)
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        if len(mesh.vertices) == count:
            return vertex_coordinates(mesh)
    finally:
        evaluated.to_mesh_clear()
    return base_coordinates(obj, depsgraph)


def _select_faces(mesh: bpy.types.Mesh, faces: set[int]) -> None:
    """Selects these faces, with their edges and vertices, and no others."""
    polygons = np.zeros(len(mesh.polygons), dtype=bool)
    polygons[list(faces)] = True
    vertices = np.zeros(len(mesh.vertices), dtype=bool)
    for index in faces:
        vertices[list(mesh.polygons[index].vertices)] = True
    ends = np.empty(2 * len(mesh.edges), dtype=np.int32)
    mesh.edges.foreach_get("vertices", ends)
    mesh.polygons.foreach_set("select", polygons)
    mesh.edges.foreach_set("select", vertices[ends.reshape(-1, 2)].all(axis=1))
    mesh.vertices.foreach_set("select", vertices)
    mesh.update()


def _check_movable(obj: bpy.types.Object) -> None:
    if may_move(obj):
        raise SuppleError(
            f"{obj.name} is animated or constrained, which would move it back. Change its "
            "animation instead."
        )
    if obj.supple.pin_group or obj.supple.jiggle_group:
        raise SuppleError(f"{obj.name} is pinned. Move it and its pins by hand.")
    if obj.mode == "EDIT":
        raise SuppleError(f"{obj.name} is being edited. Go back to Object Mode.")


def _move_to(obj: bpy.types.Object, target: Vector) -> None:
    """Change the location in the world under any parent, and leave rotation and scale."""
    parent: Matrix = obj.matrix_world.to_3x3() @ obj.matrix_basis.to_3x3().inverted()
    obj.location += parent.inverted() @ (target - obj.matrix_world.translation)


def _depth(obj: bpy.types.Object) -> int:
    return 0 if obj.parent is None else 1 + _depth(obj.parent)
