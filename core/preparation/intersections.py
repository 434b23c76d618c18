# SPDX-License-Identifier: GPL-3.0-or-later
"""What intersects, and the report of it. No torch here."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.box_pairs import Boxes
from ..geometry.groups import grouped
from ..kernels.triangle_pairs import write_near
from .surface_trees import SurfaceTrees

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
    objects, allowed = surfaces.triangle_objects, surfaces.can_collide()
    corners = surfaces.vertices[surfaces.triangles]
    boxes = Boxes.around(corners, 0.5 * search_radius)
    bounds = boxes.of_groups(objects, len(allowed))
    near = np.flatnonzero(near_others(boxes, objects, bounds, allowed))
    pairs, distances = np.empty((0, 2), dtype=np.int64), np.empty(0)
    if len(near) > 0:
        pairs, distances = _close_among(surfaces, near, allowed, search_radius)
    distances[distances <= TOUCHING_RATIO * surfaces.size] = 0.0
    swapped = objects[pairs[:, 0]] > objects[pairs[:, 1]]
    pairs[swapped] = pairs[swapped, ::-1]
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return Intersections(pairs[order], objects[pairs[order]], distances[order])


def _close_among(
    surfaces: Surfaces,
    near: NDArray[np.intp],
    allowed: NDArray[np.bool_],
    search_radius: float,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(K, 2) pairs of some of the triangles, the lower one first, and (K,) their distances."""
    triangles, objects = surfaces.triangles[near], surfaces.triangle_objects[near]
    trees = SurfaceTrees.of(surfaces.vertices[triangles], objects, 0.5 * search_radius)
    leaves = trees.leaves(allowed)
    through = np.zeros(len(near), dtype=bool)
    if surfaces.through_own is not None:
        through = surfaces.through_own[near]
    faces = (
        *(trees.corners, np.ascontiguousarray(triangles[trees.order])),
        *(np.ascontiguousarray(objects[trees.order]), through[trees.order]),
    )
    unshared, room = np.zeros((3, 3), dtype=bool), 4 * len(near)
    while True:
        found, distances = np.empty((room, 2), dtype=np.int64), np.empty(room)
        count = write_near(leaves, trees.ranges, *faces, search_radius, unshared, found, distances)
        if count <= room:
            break
        room = count
    pairs = np.sort(near[trees.order[found[:count]]], axis=1).astype(np.int64)
    return pairs, distances[:count]


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


Vector = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class IntersectingObject:
    """An object that intersects another one or itself.

    Args:
        name: of the object.
        faces: (K,) indices of the triangles concerned among those that touch.
        points: (K, 3) their centres, in metres.
    """

    name: str
    faces: NDArray[np.int64]
    points: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IntersectionReport:
    """All that intersects at the start.

    Args:
        offenders: each object once.
        offsets: what to move bodies by to part them, in metres, by their names; None where moving
            does not help.
    """

    offenders: list[IntersectingObject]
    offsets: dict[str, Vector] | None

    @property
    def farthest(self) -> float:
        """Length of the longest of the offsets, in metres."""
        return max(
            (float(np.linalg.norm(offset)) for offset in (self.offsets or {}).values()), default=0
        )

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "offenders": [
                {"name": each.name, "faces": each.faces.tolist(), "points": each.points.tolist()}
                for each in self.offenders
            ],
            "offsets": self.offsets,
        }

    @staticmethod
    def of(record: dict[str, Any]) -> IntersectionReport:
        """What ``record`` wrote; KeyError, TypeError and ValueError where it did not."""
        offenders = [
            IntersectingObject(
                str(each["name"]),
                np.array(each["faces"], dtype=np.int64),
                np.array(each["points"], dtype=np.float64).reshape(-1, 3),
            )
            for each in record["offenders"]
        ]
        offsets = record["offsets"]
        if offsets is not None:
            offsets = {name: (float(x), float(y), float(z)) for name, (x, y, z) in offsets.items()}
        return IntersectionReport(offenders, offsets)
