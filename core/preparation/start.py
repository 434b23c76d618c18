# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes sure that nothing intersects at the start: contact keeps apart only what is apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import IntersectionError
from ..obstacles.collision_points import CollisionPoints
from ..potentials.contact.distance import contact_distances, ground_distance
from ..scene.scene import Scene, SoftBody
from .intersection_report import IntersectionReport, Offender
from .intersections import Intersections, find_intersections
from .separation import push_apart
from .shrinking import shrink
from .start_shapes import StartBody, StartShapes

#: Left between surfaces that were parted, in distances at which the barrier begins.
GAP = 0.5

Pair = tuple[int, int]


def prepare_start(scene: Scene) -> Scene:
    """The same scene, with start positions in which nothing intersects.

    Small overlaps are repaired by drawing surfaces in; rest shapes stay. Where nothing intersects,
    or there is no contact, it is the scene as it was.

    Args:
        scene: all of whose bodies have tetrahedra. Those that cross themselves have no self-contact
            afterwards, where the contact spares them.

    Raises:
        IntersectionError: when more than a little overlaps, with what, where, and the cures.
    """
    if scene.contact is None:
        return scene
    # Before anything is looked for at such a distance.
    distances = contact_distances(scene)
    scene = _above_ground(scene)
    shapes = StartShapes(scene)
    found = find_intersections(shapes.surfaces())
    if len(found) == 0:
        return scene
    pairs = [pair for pair, _ in found.by_objects()]
    gap = GAP * min(float(distances[pair]) for pair in pairs)
    positions = _repaired(scene, shapes, pairs, gap)
    if positions is None:
        if crossing := _to_be_spared(shapes, pairs, gap):
            return prepare_start(_without_self_contact(scene, crossing))
        raise _error(shapes, found, pairs, gap)
    bodies = [
        replace(body, initial_positions=own) if (own != start.positions).any() else body
        for body, start, own in zip(scene.bodies, shapes.bodies, positions, strict=True)
    ]
    return replace(scene, bodies=bodies)


def _to_be_spared(shapes: StartShapes, pairs: Sequence[Pair], gap: float) -> set[int]:
    """The bodies that cross themselves beyond repair, where that is allowed."""
    contact = shapes.scene.contact
    if contact is None or not contact.spares_crossing:
        return set()
    own = [pair for pair in pairs if pair[0] == pair[1]]
    return {pair[0] for pair in own if shrink(shapes, [pair], gap) is None}


def _without_self_contact(scene: Scene, bodies: set[int]) -> Scene:
    spared = [
        replace(body, self_contact=False) if index in bodies else body
        for index, body in enumerate(scene.bodies)
    ]
    return replace(scene, bodies=spared)


def _above_ground(scene: Scene) -> Scene:
    """With bodies raised as far as their tetrahedra stand out into the ground: what they would
    meet there has to be looked at."""
    if scene.ground is None or scene.ground.response != "barrier":
        return scene
    shapes = StartShapes(scene)
    bodies = []
    for body, shape in zip(scene.bodies, shapes.bodies, strict=True):
        depth = _floor(scene, shape) - _lowest(body, shape, shape.positions)
        if depth > 0.0:
            body = replace(body, initial_positions=_raised(shape, shape.positions, depth))
        bodies.append(body)
    return replace(scene, bodies=bodies)


def _repaired(
    scene: Scene, shapes: StartShapes, pairs: Sequence[Pair], gap: float
) -> list[NDArray[np.float64]] | None:
    positions = shrink(shapes, pairs, gap)
    if positions is None:
        return None
    # What is drawn in from above may be drawn into the ground.
    positions = [
        _raised(shape, own, _floor(scene, shape) - _lowest(body, shape, own))
        for body, shape, own in zip(scene.bodies, shapes.bodies, positions, strict=True)
    ]
    return None if len(find_intersections(shapes.surfaces(positions))) > 0 else positions


def _floor(scene: Scene, shape: StartBody) -> float:
    """Above which a body does not feel the ground yet, in metres."""
    ground = scene.ground
    if ground is None or ground.response != "barrier":
        return -np.inf
    return ground.height + ground_distance(ground, shape.mesh.diagonal)


def _lowest(body: SoftBody, shape: StartBody, positions: NDArray[np.float64]) -> float:
    """Height of what the ground meets of a body, where nothing of it is held."""
    free = CollisionPoints.of(body, shape.mesh).movable(~shape.held, wholly=True)
    return float(free.at(positions)[:, 2].min(initial=np.inf))


def _raised(shape: StartBody, positions: NDArray[np.float64], height: float) -> NDArray[np.float64]:
    """(N, 3) what is not held by ``height`` metres, if that is up."""
    return positions + max(height, 0.0) * np.outer(~shape.held, (0.0, 0.0, 1.0))


def _error(
    shapes: StartShapes, found: Intersections, pairs: Sequence[Pair], gap: float
) -> IntersectionError:
    # Only what cannot be repaired is worth the user's while.
    stubborn = [pair for pair in pairs if shrink(shapes, [pair], gap) is None] or list(pairs)
    left = found.of_objects(stubborn)
    offsets = push_apart(shapes, left, gap)
    by_name = None
    if offsets is not None:
        moved = np.flatnonzero(offsets.any(axis=1))
        by_name = {
            shapes.names[k]: (float(offsets[k, 0]), float(offsets[k, 1]), float(offsets[k, 2]))
            for k in moved
        }
    report = IntersectionReport(_offenders(shapes, left), by_name)
    return IntersectionError(_message(shapes, left, report), report)


def _offenders(shapes: StartShapes, found: Intersections) -> list[Offender]:
    offenders = []
    for index in np.unique(found.objects):
        triangles = np.unique(found.triangles[found.objects == index])
        points = _centres(shapes, triangles)
        faces = triangles - shapes.triangle_starts[index]
        offenders.append(Offender(shapes.names[index], faces, points))
    return offenders


def _centres(shapes: StartShapes, triangles: NDArray[np.int64]) -> NDArray[np.float64]:
    surfaces = shapes.surfaces()
    centres: NDArray[np.float64] = surfaces.vertices[surfaces.triangles[triangles]].mean(axis=1)
    return centres


def _message(shapes: StartShapes, found: Intersections, report: IntersectionReport) -> str:
    pairs = list(found.by_objects())
    (first, second), triangles = pairs[0]
    faces = np.unique(triangles)
    x, y, z = _centres(shapes, faces).mean(axis=0)
    other = "itself" if first == second else shapes.names[second]
    count = "1 face" if len(faces) == 1 else f"{len(faces)} faces"
    more = "" if len(pairs) == 1 else f", and {len(pairs) - 1} more such pairs"
    return (
        f"{shapes.names[first]} intersects {other} at the start: {count} around "
        f"({x:.3g}, {y:.3g}, {z:.3g}) m{more}. {_cure(shapes, [pair for pair, _ in pairs], report)}"
    )


def _cure(shapes: StartShapes, pairs: Sequence[Pair], report: IntersectionReport) -> str:
    cures = []
    own = next((first for first, second in pairs if first == second), None)
    if own is not None and shapes.scene.bodies[own].contact_surface is not None:
        cures.append(
            "Choose the tetrahedra as contact surface, or switch self contact off for now."
        )
    elif own is not None:
        cures.append("Use a finer resolution where it is folded, or switch self contact off.")
    if report.offsets is not None:
        cures.append(f"Push Apart in the sidebar moves them apart by {_length(report.farthest)}.")
    elif any(first != second for first, second in pairs):
        cures.append("Move them apart.")
    return " ".join(cures)


def _length(metres: float) -> str:
    return f"{metres:.3g} m" if metres >= 1.0 else f"{1e3 * metres:.3g} mm"
