# SPDX-License-Identifier: GPL-3.0-or-later
"""Minimum translations that separate bodies as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..kernels.surface_overlap import STACK_SIZE, Objects, first_in_the_way
from .initial_configuration import InitialConfiguration
from .intersections import TOUCHING_RATIO, Intersections, Surfaces
from .surface_trees import SurfaceTrees

Points = NDArray[np.float64]
IsClear = Callable[[Points], bool]

# Bisections of the interval in which the shortest translation lies.
_BISECTIONS = 6
_AXES = np.concatenate([np.eye(3), -np.eye(3)])[[2, 0, 1, 3, 4, 5]]


def minimum_translations(
    configuration: InitialConfiguration, found: Intersections, min_distance: float
) -> Points | None:
    """Translations after which bodies intersect neither each other nor a collider.

    One body after the other, from those that intersect something fixed on, and from the lowest up,
    is translated the least, along an axis or across the faces that intersect, to where it is free
    of those that are placed already. Bodies that are pinned or attached stay.

    Args:
        configuration: everything at the start.
        found: what intersects.
        min_distance: to leave, in metres.

    Returns:
        (B, 3) in metres, 0 for a body that stays; None where that cures nothing, or not all of it.
    """
    pairs = [pair for pair, _ in found.by_objects() if pair[0] != pair[1]]
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
            directions = np.concatenate([_AXES, _across(surfaces, found, body)])
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
    """The bodies that can move, each after one that it intersects, where there is such a one; what
    bears others before these."""
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
    """Where objects are placed.

    Args:
        surfaces: of all objects, where they start.
        body_count: the first objects are so many soft bodies, which must not surround each other.
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
        # It is probably in the way of the next attempt, too.
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


def _across(surfaces: Surfaces, found: Intersections, body: int) -> Points:
    """(2, 3) along and against the mean normal of the faces that a body intersects."""
    mine = found.objects == body
    triangles = found.triangles[mine.any(axis=1) & ~mine.all(axis=1)]
    theirs = triangles[surfaces.triangle_objects[triangles] != body]
    a, b, c = surfaces.vertices[surfaces.triangles[np.unique(theirs)]].swapaxes(0, 1)
    normal = np.cross(b - a, c - a).sum(axis=0)
    length = float(np.linalg.norm(normal))
    return np.stack([normal, -normal]) / length if length > 0.0 else np.empty((0, 3))
