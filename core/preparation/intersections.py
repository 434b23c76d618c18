# SPDX-License-Identifier: GPL-3.0-or-later
"""Which triangles of several surfaces cross or touch each other, checked once, at the start."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.box_pairs import Boxes, pairs_among, pairs_between
from ..geometry.groups import grouped
from ..geometry.triangle_pairs import triangle_distance

#: Triangles closer than this ratio of the size of everything count as touching.
TOUCHING_RATIO = 1e-12


@dataclass(frozen=True, eq=False)
class Surfaces:
    """The surfaces of several objects as one.

    Args:
        vertices: (V, 3) positions in metres.
        triangles: (F, 3) indices of vertices; no triangle has vertices of two objects.
        objects: (V,) which object a vertex belongs to.
        excluded: pairs of objects that may go through each other; (k, k) is object k and itself.
        through_own: (F,) whether a triangle may go through its own object; None is none of them.
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int32]
    objects: NDArray[np.int32]
    excluded: Collection[tuple[int, int]] = ()
    through_own: NDArray[np.bool_] | None = None

    @property
    def triangle_objects(self) -> NDArray[np.int32]:
        """(F,)."""
        return self.objects[self.triangles[:, 0]]

    @property
    def size(self) -> float:
        """Diagonal of the box around all of it, in metres."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    def can_collide(self) -> NDArray[np.bool_]:
        """(O, O) whether two objects are compared."""
        count = int(self.objects.max(initial=-1)) + 1
        allowed = np.ones((count, count), dtype=bool)
        for first, second in self.excluded:
            if max(first, second) < count:
                allowed[first, second] = allowed[second, first] = False
        return allowed


@dataclass(frozen=True, eq=False)
class Intersections:
    """Pairs of triangles that share a point, or are closer than was asked for.

    Args:
        triangles: (K, 2) indices of triangles, sorted; the first belongs to the lower object.
        objects: (K, 2) the objects they belong to.
        distances: (K,) in metres, 0 where they cross.
    """

    triangles: NDArray[np.int64]
    objects: NDArray[np.int32]
    distances: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.triangles)

    def by_objects(self) -> Iterator[tuple[tuple[int, int], NDArray[np.int64]]]:
        """Each pair of objects with its (k, 2) pairs of triangles, in the order of the objects."""
        pairs, number = np.unique(self.objects, axis=0, return_inverse=True)
        order, starts = grouped(number.ravel(), len(pairs))
        for k, (first, second) in enumerate(pairs):
            here = np.sort(order[starts[k] : starts[k + 1]])
            yield (int(first), int(second)), self.triangles[here]

    def of_objects(self, wanted: Collection[tuple[int, int]]) -> Intersections:
        """Those between the given pairs of objects."""
        keep = are_among(self.objects, wanted)
        return Intersections(self.triangles[keep], self.objects[keep], self.distances[keep])


def are_among(
    pairs: NDArray[np.integer[Any]], wanted: Collection[tuple[int, int]]
) -> NDArray[np.bool_]:
    """(K,) whether each of (K, 2) pairs of objects is one of some."""
    sought = np.array(list(wanted), dtype=np.int64).reshape(-1, 2)
    size = 1 + max(int(pairs.max(initial=0)), int(sought.max(initial=0)))
    found: NDArray[np.bool_] = np.isin(
        pairs[:, 0].astype(np.int64) * size + pairs[:, 1], sought[:, 0] * size + sought[:, 1]
    )
    return found


def find_intersections(surfaces: Surfaces) -> Intersections:
    """The pairs of triangles that cross or touch.

    Triangles that share a vertex are neighbours and never intersect. What is within 1e-12 of the
    size of everything counts as touching: in doubt, there is an intersection. A surface wholly
    inside another one does not intersect it: a ball may lie in a box.
    """
    return find_close(surfaces, 0.0)


def find_close(surfaces: Surfaces, distance: float) -> Intersections:
    """The pairs of triangles that are no farther apart than ``distance``, in metres."""
    search_radius = max(distance, TOUCHING_RATIO * surfaces.size)
    pairs = _candidates(surfaces, search_radius)
    triangles, objects = surfaces.triangles, surfaces.triangle_objects
    if surfaces.through_own is not None:
        is_own = objects[pairs[:, 0]] == objects[pairs[:, 1]]
        pairs = pairs[~(is_own & surfaces.through_own[pairs].any(axis=1))]
    shared = triangles[pairs[:, 0]][:, :, None] == triangles[pairs[:, 1]][:, None, :]
    pairs = pairs[~shared.any(axis=(1, 2))]
    corners = surfaces.vertices[triangles]
    distances = triangle_distance(corners[pairs[:, 0]], corners[pairs[:, 1]], search_radius)
    found = np.isfinite(distances)
    pairs, distances = pairs[found], distances[found]
    distances[distances <= TOUCHING_RATIO * surfaces.size] = 0.0
    swapped = objects[pairs[:, 0]] > objects[pairs[:, 1]]
    pairs[swapped] = pairs[swapped, ::-1]
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return Intersections(pairs[order], objects[pairs[order]], distances[order])


def near_others(
    boxes: Boxes, objects: NDArray[np.int32], bounds: Boxes, allowed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(B,) which boxes overlap the bounds of an object that theirs is compared with.

    Args:
        boxes: B boxes, of (B,) objects.
        bounds: around each of O objects.
        allowed: (O, O) which two are compared; all boxes of an object compared with itself count.
    """
    near: NDArray[np.bool_] = np.diagonal(allowed)[objects].copy()
    order, starts = grouped(objects, len(allowed))
    whole = boxes.of_groups(objects, len(allowed))
    meet = (whole.low[:, None] <= bounds.high).all(axis=2)
    meet &= (whole.high[:, None] >= bounds.low).all(axis=2)
    for first, second in np.argwhere(allowed & meet):
        own = order[starts[first] : starts[first + 1]]
        overlap = boxes.low[own] <= bounds.high[second]
        overlap &= boxes.high[own] >= bounds.low[second]
        near[own] |= overlap.all(axis=1)
    return near


def _candidates(surfaces: Surfaces, search_radius: float) -> NDArray[np.intp]:
    """(K, 2) triangles of objects that are compared whose boxes come within ``search_radius``, the
    lower index first."""
    boxes = Boxes.around(surfaces.vertices[surfaces.triangles], 0.5 * search_radius)
    allowed, objects = surfaces.can_collide(), surfaces.triangle_objects
    # Large colliders, which may cross themselves and each other, are not looked through for that.
    alone = ~np.diagonal(allowed)
    is_idle = (alone & ~allowed[:, alone].any(axis=1))[objects]
    near = near_others(boxes, objects, boxes.of_groups(objects, len(allowed)), allowed)
    idle, others = np.flatnonzero(is_idle & near), np.flatnonzero(~is_idle & near)
    found = [np.empty((0, 2), dtype=np.intp)]
    for first, second in pairs_among(boxes.of(others)):
        found.append(np.stack([others[first], others[second]], axis=1))
    for first, second in pairs_between(boxes.of(others), boxes.of(idle)):
        found.append(np.sort(np.stack([others[first], idle[second]], axis=1), axis=1))
    pairs = np.concatenate(found)
    return pairs[allowed[objects[pairs[:, 0]], objects[pairs[:, 1]]]]
