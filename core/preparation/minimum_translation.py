# SPDX-License-Identifier: GPL-3.0-or-later
"""Minimum translations that separate bodies as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..geometry.winding_number import solid_angle_fraction
from .initial_configuration import InitialConfiguration
from .intersections import Intersections, Surfaces, find_close

Points = NDArray[np.float64]
IsFree = Callable[[Points], bool]

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
    offsets = np.zeros((len(configuration.bodies), 3))
    pairs = [pair for pair, _ in found.by_objects() if pair[0] != pair[1]]
    if any(
        first in configuration.fixed and second in configuration.fixed for first, second in pairs
    ):
        return None
    surfaces = configuration.surfaces()
    placed = {index: _Part.of(configuration, index) for index in sorted(configuration.fixed)}
    parts = {
        body: _Part.of(configuration, body)
        for body in range(len(configuration.bodies))
        if body not in configuration.fixed
    }
    for body in _order(pairs, configuration.fixed, parts):
        part = parts[body]
        others = [
            other
            for index, other in placed.items()
            if (min(index, body), max(index, body)) not in configuration.excluded
        ]
        if not all(_are_apart(part, other, 0.0) for other in others):
            directions = np.concatenate([_AXES, _across(surfaces, found, body)])
            offset = _minimum_translation(
                part,
                others,
                directions,
                min_distance,
                _floor(configuration, part),
                2.0 * surfaces.size,
            )
            if offset is None:
                return None
            offsets[body], part = offset, part.moved(offset)
        placed[body] = part
    return offsets if offsets.any() else None


def _order(
    pairs: Sequence[tuple[int, int]], fixed: Collection[int], parts: Mapping[int, _Part]
) -> list[int]:
    """The bodies that can move, each after one that it intersects, where there is such a one; what
    bears others before these."""
    order: list[int] = []
    left = sorted(parts, key=lambda body: float(parts[body].low[2]))
    involved = {index for pair in pairs for index in pair}
    while left:
        done = {*fixed, *order}
        beside = {index for pair in pairs if done & {*pair} for index in pair}
        following = [body for body in left if body in beside]
        following = following or [body for body in left if body in involved][:1] or left
        order += following
        left = [body for body in left if body not in following]
    return order


def _floor(configuration: InitialConfiguration, part: _Part) -> float:
    """How deep the body may go, in metres."""
    ground = configuration.scene.ground
    return -np.inf if ground is None else min(ground.height, float(part.low[2]))


class _Part:
    """The surface of one object."""

    def __init__(self, points: Points, triangles: NDArray[np.int32], is_solid: bool) -> None:
        self.points, self.triangles, self.is_solid = points, triangles, is_solid
        corners = points[triangles]
        self.lows, self.highs = corners.min(axis=1), corners.max(axis=1)
        self.low, self.high = self.lows.min(axis=0), self.highs.max(axis=0)

    @staticmethod
    def of(configuration: InitialConfiguration, index: int) -> _Part:
        is_solid = index < len(configuration.bodies)
        return _Part(*configuration.surface_of(index), is_solid)

    def moved(self, offset: Points) -> _Part:
        return _Part(self.points + offset, self.triangles, self.is_solid)

    def near(self, other: _Part, min_distance: float) -> NDArray[np.int32]:
        """(K, 3) the triangles whose boxes come that close to the box around the other."""
        close = (self.lows <= other.high + min_distance) & (self.highs >= other.low - min_distance)
        return self.triangles[close.all(axis=1)]

    def surrounds(self, point: Points) -> bool:
        a, b, c = (self.points[self.triangles] - point).swapaxes(0, 1)
        return bool(abs(float(solid_angle_fraction(a.T, b.T, c.T).sum())) > 0.5)


def _minimum_translation(
    part: _Part,
    others: Sequence[_Part],
    directions: Points,
    min_distance: float,
    floor: float,
    max_length: float,
) -> Points | None:
    """The shortest translation along one of (K, 3) unit directions that frees a body; None where
    there is none."""

    def is_free(offset: Points) -> bool:
        moved = part.moved(offset)
        return bool(moved.low[2] >= floor) and all(
            _are_apart(moved, each, min_distance) for each in others
        )

    length = min_distance
    while length <= max_length:
        free = [direction for direction in directions if is_free(length * direction)]
        if free:
            return min(
                (_shortened(direction, 0.5 * length, length, is_free) for direction in free),
                key=lambda offset: float(np.linalg.norm(offset)),
            )
        length *= 2.0
    return None


def _shortened(direction: Points, low: float, high: float, is_free: IsFree) -> Points:
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if is_free(middle * direction):
            high = middle
        else:
            low = middle
    return high * direction


def _are_apart(first: _Part, second: _Part, min_distance: float) -> bool:
    """Whether two objects keep a distance; two bodies must not surround each other either."""
    if (first.low > second.high + min_distance).any() or (
        second.low > first.high + min_distance
    ).any():
        return True
    ours, theirs = first.near(second, min_distance), second.near(first, min_distance)
    count = len(first.points)
    owners = np.repeat([0, 1], [count, len(second.points)]).astype(np.int32)
    both = Surfaces(
        np.concatenate([first.points, second.points]),
        np.concatenate([ours, theirs + count]).astype(np.int32),
        owners,
        {(0, 0), (1, 1)},
    )
    if len(find_close(both, min_distance)) > 0:
        return False
    if not (first.is_solid and second.is_solid):
        return True
    return not (first.surrounds(second.points[0]) or second.surrounds(first.points[0]))


def _across(surfaces: Surfaces, found: Intersections, body: int) -> Points:
    """(2, 3) along and against the mean normal of the faces that a body intersects."""
    mine = found.objects == body
    triangles = found.triangles[mine.any(axis=1) & ~mine.all(axis=1)]
    theirs = triangles[surfaces.triangle_objects[triangles] != body]
    a, b, c = surfaces.vertices[surfaces.triangles[np.unique(theirs)]].swapaxes(0, 1)
    normal = np.cross(b - a, c - a).sum(axis=0)
    length = float(np.linalg.norm(normal))
    return np.stack([normal, -normal]) / length if length > 0.0 else np.empty((0, 3))
