# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes sure that nothing intersects in the initial configuration, as contact requires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import IntersectionError
from ..geometry.triangle_loops import STACK_SIZE, Objects, first_in_the_way
from ..scene.collision_points import CollisionPoints, contact_distances, ground_distance
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from .intersection_report import IntersectingObject, IntersectionReport
from .intersections import TOUCHING_RATIO, Intersections, Surfaces, SurfaceTrees, find_intersections
from .overlap_contraction import InitialBody, InitialConfiguration, contract_overlap

Points = NDArray[np.float64]
IsClear = Callable[[Points], bool]

# Bisections of the interval in which the shortest translation lies.
_BISECTIONS = 6
_AXES = np.concatenate([np.eye(3), -np.eye(3)])[[2, 0, 1, 3, 4, 5]]


def minimum_translations(
    configuration: InitialConfiguration, intersections: Intersections, min_distance: float
) -> Points | None:
    """Translations after which bodies intersect neither each other nor a collider.

    One body after the other, from those that intersect something fixed on, and from the lowest up,
    is translated the least, along an axis or across the faces that intersect, to where it is free
    of those that are placed already. Bodies that are pinned or attached stay.

    Args:
        configuration: everything at the start.
        found: the intersections.
        min_distance: to leave, in metres.

    Returns:
        (B, 3) in metres, 0 for a body that stays; None where that cures nothing, or not all of it.
    """
    pairs = [pair for pair, _ in intersections.object_pairs() if pair[0] != pair[1]]
    if any(
        first in configuration.fixed and second in configuration.fixed for first, second in pairs
    ):
        return None
    surfaces = configuration.surfaces()
    placement = _Placement(surfaces, len(configuration.bodies))
    ground = configuration.scene.ground
    placed = sorted(configuration.fixed)
    for body in _order(pairs, configuration, placement.lowest):
        others = [
            index
            for index in placed
            if (min(index, body), max(index, body)) not in configuration.excluded
        ]
        if not placement.is_free(body, others, np.zeros(3), 0.0):
            directions = np.concatenate([_AXES, _across(surfaces, intersections, body)])
            lowest = float(placement.lowest[body])
            # No body goes deeper than the ground, or than it is.
            floor = -np.inf if ground is None else min(ground.height, lowest)

            def is_clear(
                offset: Points, body: int = body, others: list[int] = others, floor: float = floor
            ) -> bool:
                return bool(placement.lowest[body] + offset[2] >= floor) and placement.is_free(
                    body, others, offset, min_distance
                )

            offset = _minimum_translation(is_clear, directions, min_distance, 2.0 * surfaces.size)
            if offset is None:
                return None
            placement.offsets[body] = offset
        placed.append(body)
    offsets = placement.offsets[: len(configuration.bodies)]
    return offsets if offsets.any() else None


def _order(
    pairs: Sequence[tuple[int, int]],
    configuration: InitialConfiguration,
    lowest: NDArray[np.float64],
) -> list[int]:
    """The bodies that can move, each after one that it intersects, where there is such a one;
    supporting objects before supported ones."""
    order: list[int] = []
    movable = set(range(len(configuration.bodies))) - configuration.fixed
    left = sorted(movable, key=lambda body: float(lowest[body]))
    involved = {index for pair in pairs for index in pair}
    while left:
        done = {*configuration.fixed, *order}
        beside = {index for pair in pairs if done & {*pair} for index in pair}
        following = [body for body in left if body in beside]
        following = following or [body for body in left if body in involved][:1] or left
        order += following
        left = [body for body in left if body not in following]
    return order


class _Placement:
    """The placement of objects during a search for translations.

    Args:
        surfaces: of all objects, where they start.
        body_count: the number of soft bodies, which are the first objects and must not surround
            each other.
    """

    def __init__(self, surfaces: Surfaces, body_count: int) -> None:
        count = int(surfaces.objects.max(initial=-1)) + 1
        #: (O, 3) translations in metres.
        self.offsets = np.zeros((count, 3))
        #: (O,) height of the lowest point of each object, where it starts.
        self.lowest = np.full(count, np.inf)
        np.minimum.at(self.lowest, surfaces.objects, surfaces.vertices[:, 2])
        self._rounding = TOUCHING_RATIO * surfaces.size
        corners = surfaces.vertices[surfaces.triangles]
        trees = SurfaceTrees.of(corners, surfaces.triangle_objects)
        roots = np.full(count, -1, dtype=np.int32)
        roots[trees.groups] = trees.roots
        are_solid, none = np.arange(count) < body_count, np.zeros((3, 3), dtype=bool)
        self._objects = Objects(
            trees.corners, roots, trees.ends, trees.ranges, trees.boxes, are_solid, none
        )
        self._stack = np.empty((STACK_SIZE, 2), dtype=np.int32)

    def is_free(self, body: int, others: list[int], offset: Points, min_distance: float) -> bool:
        """Whether a body, translated by (3,) metres, keeps a distance to others.

        Args:
            others: objects; the one in the way, if there is one, comes first afterwards.
        """
        place = first_in_the_way(
            *(self._objects, body, np.array(others, dtype=np.int32), self.offsets),
            *(tuple(offset.tolist()), max(min_distance, self._rounding), self._stack),
        )
        if place < 0:
            return True
        # It is probably an obstacle to the next attempt, too.
        others.insert(0, others.pop(place))
        return False


def _minimum_translation(
    is_clear: IsClear, directions: Points, min_distance: float, max_length: float
) -> Points | None:
    """The shortest translation along one of (K, 3) unit directions that frees a body; None where
    there is none."""
    length = min_distance
    while length <= max_length:
        free = [direction for direction in directions if is_clear(length * direction)]
        if free:
            return min(
                (_shortened(direction, 0.5 * length, length, is_clear) for direction in free),
                key=lambda offset: float(np.linalg.norm(offset)),
            )
        length *= 2.0
    return None


def _shortened(direction: Points, low: float, high: float, is_clear: IsClear) -> Points:
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if is_clear(middle * direction):
            high = middle
        else:
            low = middle
    return high * direction


def _across(surfaces: Surfaces, intersections: Intersections, body: int) -> Points:
    """(2, 3) along and against the mean normal of the faces that a body intersects."""
    mine = intersections.objects == body
    triangles = intersections.triangles[mine.any(axis=1) & ~mine.all(axis=1)]
    theirs = triangles[surfaces.triangle_objects[triangles] != body]
    a, b, c = surfaces.vertices[surfaces.triangles[np.unique(theirs)]].swapaxes(0, 1)
    normal = np.cross(b - a, c - a).sum(axis=0)
    length = float(np.linalg.norm(normal))
    return np.stack([normal, -normal]) / length if length > 0.0 else np.empty((0, 3))


#: Distance left between surfaces that were separated, in activation distances.
MIN_DISTANCE_RATIO = 0.5
#: The most pairs of objects that are tried one by one, which takes seconds each; if there are
#: more, all are reported.
MAX_TRIED_PAIRS = 3

Pair = tuple[int, int]


def resolve_initial_intersections(scene: Scene) -> Scene:
    """The same scene, with initial positions in which nothing intersects.

    Small overlaps are repaired by offsetting surfaces inwards; rest shapes stay. Without
    intersections or contact, it is the unchanged scene.

    Args:
        scene: all of whose bodies have tetrahedra. Bodies that cross themselves have no
            self-contact afterwards, if the contact settings allow this.

    Raises:
        IntersectionError: if bodies overlap too far, with the objects, the places and the cures.
    """
    if scene.contact is None:
        return scene
    # It refuses a distance before anything is searched with it.
    distances = contact_distances(scene)
    scene = _above_ground(scene)
    configuration = InitialConfiguration(scene)
    intersections = find_intersections(configuration.surfaces())
    if len(intersections) == 0:
        return scene
    pairs = [pair for pair, _ in intersections.object_pairs()]
    min_distance = MIN_DISTANCE_RATIO * min(float(distances[pair]) for pair in pairs)
    positions = _repaired(scene, configuration, pairs, min_distance)
    if positions is None:
        if crossing := _bodies_to_exempt(configuration, pairs, min_distance):
            return resolve_initial_intersections(_without_self_contact(scene, crossing))
        raise _error(configuration, intersections, pairs, min_distance)
    bodies = [
        replace(body, initial_positions=moved) if (moved != start.positions).any() else body
        for body, start, moved in zip(scene.bodies, configuration.bodies, positions, strict=True)
    ]
    return replace(scene, bodies=bodies)


def _bodies_to_exempt(
    configuration: InitialConfiguration, pairs: Sequence[Pair], min_distance: float
) -> set[int]:
    """The bodies that cross themselves beyond repair, where that is allowed."""
    contact = configuration.scene.contact
    if contact is None or not contact.spares_crossing:
        return set()
    self_pairs = [pair for pair in pairs if pair[0] == pair[1]]
    return {
        pair[0]
        for pair in self_pairs
        if contract_overlap(configuration, [pair], min_distance) is None
    }


def _without_self_contact(scene: Scene, bodies: set[int]) -> Scene:
    exempted = [
        replace(body, self_contact=False) if index in bodies else body
        for index, body in enumerate(scene.bodies)
    ]
    return replace(scene, bodies=exempted)


def _above_ground(scene: Scene) -> Scene:
    """With bodies raised as far as their tetrahedra reach into the ground: there they may intersect
    others, which is checked next."""
    if scene.ground is None or scene.ground.response != "barrier":
        return scene
    configuration = InitialConfiguration(scene)
    bodies = []
    for body, shape in zip(scene.bodies, configuration.bodies, strict=True):
        depth = _floor(scene, body) - _lowest(body, shape, shape.positions)
        if depth > 0.0:
            body = replace(body, initial_positions=_raised(shape, shape.positions, depth))
        bodies.append(body)
    return replace(scene, bodies=bodies)


def _repaired(
    scene: Scene, configuration: InitialConfiguration, pairs: Sequence[Pair], min_distance: float
) -> list[NDArray[np.float64]] | None:
    positions = contract_overlap(configuration, pairs, min_distance)
    if positions is None:
        return None
    # Surfaces that are offset downwards may be so into the ground.
    positions = [
        _raised(shape, points, _floor(scene, body) - _lowest(body, shape, points))
        for body, shape, points in zip(scene.bodies, configuration.bodies, positions, strict=True)
    ]
    return None if len(find_intersections(configuration.surfaces(positions))) > 0 else positions


def _floor(scene: Scene, body: SoftBody) -> float:
    """Above which a body does not feel the ground yet, in metres."""
    ground = scene.ground
    if ground is None or ground.response != "barrier":
        return -np.inf
    return ground.height + ground_distance(ground, body)


def _lowest(body: SoftBody, shape: InitialBody, positions: NDArray[np.float64]) -> float:
    """Height of the lowest point of a body that the ground may touch and that nothing pins."""
    free = CollisionPoints.of(body, shape.mesh).movable(~shape.is_pinned, wholly=True)
    return float(free.at(positions)[:, 2].min(initial=np.inf))


def _raised(
    shape: InitialBody, positions: NDArray[np.float64], height: float
) -> NDArray[np.float64]:
    """Return (N, 3) positions with vertices that are not pinned higher by ``height`` metres, if
    that is up."""
    return positions + max(height, 0.0) * np.outer(~shape.is_pinned, (0.0, 0.0, 1.0))


def _error(
    configuration: InitialConfiguration,
    intersections: Intersections,
    pairs: Sequence[Pair],
    min_distance: float,
) -> IntersectionError:
    left = intersections.between(_unresolved(configuration, pairs, min_distance))
    offsets = minimum_translations(configuration, left, min_distance)
    named_offsets = None
    if offsets is not None:
        moved = np.flatnonzero(offsets.any(axis=1))
        named_offsets = {
            configuration.names[k]: (
                float(offsets[k, 0]),
                float(offsets[k, 1]),
                float(offsets[k, 2]),
            )
            for k in moved
        }
    report = IntersectionReport(_intersecting_objects(configuration, left), named_offsets)
    return IntersectionError(_message(configuration, left, report), report)


def _unresolved(
    configuration: InitialConfiguration, pairs: Sequence[Pair], min_distance: float
) -> Sequence[Pair]:
    """Return the pairs that cannot be repaired, if there are few pairs; the message names only
    these."""
    if len(pairs) > MAX_TRIED_PAIRS:
        return pairs
    return [
        pair for pair in pairs if contract_overlap(configuration, [pair], min_distance) is None
    ] or pairs


def _intersecting_objects(
    configuration: InitialConfiguration, intersections: Intersections
) -> list[IntersectingObject]:
    intersecting_objects, surfaces = [], configuration.surfaces()
    for index in np.unique(intersections.objects):
        triangles = np.unique(intersections.triangles[intersections.objects == index])
        points = _centres(surfaces, triangles)
        faces = triangles - configuration.triangle_offsets[index]
        intersecting_objects.append(IntersectingObject(configuration.names[index], faces, points))
    return intersecting_objects


def _centres(surfaces: Surfaces, triangles: NDArray[np.int64]) -> NDArray[np.float64]:
    return surfaces.vertices[surfaces.triangles[triangles]].mean(axis=1)


def _message(
    configuration: InitialConfiguration, intersections: Intersections, report: IntersectionReport
) -> str:
    pairs = list(intersections.object_pairs())
    (first, second), triangles = pairs[0]
    faces = np.unique(triangles)
    x, y, z = _centres(configuration.surfaces(), faces).mean(axis=0)
    other = "itself" if first == second else configuration.names[second]
    count = "1 face" if len(faces) == 1 else f"{len(faces)} faces"
    more = "" if len(pairs) == 1 else f", and {len(pairs) - 1} more such pairs"
    cure = _cure(configuration, [pair for pair, _ in pairs], report)
    return (
        f"{configuration.names[first]} intersects {other} at the start: {count} around "
        f"({x:.3g}, {y:.3g}, {z:.3g}) m{more}. {cure}"
    )


def _cure(
    configuration: InitialConfiguration, pairs: Sequence[Pair], report: IntersectionReport
) -> str:
    cures = []
    self_crossing = next((first for first, second in pairs if first == second), None)
    if (
        self_crossing is not None
        and configuration.scene.bodies[self_crossing].contact_surface is not None
    ):
        cures.append("Set Surface to Tetrahedra, or untick Self Contact.")
    elif self_crossing is not None:
        cures.append("Raise Resolution to separate the folds, or untick Self Contact.")
    if report.offsets is not None:
        length = _length(report.farthest)
        cures.append(f"Press Push Apart to move them {length} apart.")
    elif any(first != second for first, second in pairs):
        cures.append("Move them apart.")
    return " ".join(cures)


def _length(metres: float) -> str:
    return f"{metres:.3g} m" if metres >= 1.0 else f"{1e3 * metres:.3g} mm"
