# SPDX-License-Identifier: GPL-3.0-or-later
"""Faces of surfaces that intersect, found in trees of their boxes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.box_pairs import Boxes
from ..geometry.groups import grouped
from ..geometry.triangle_loops import write_hits, write_near
from ..kernels.broad_phase import Trees, box_nodes, build_tree, leaf_pairs, tree_pairs

Points = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SurfaceTrees:
    """One tree of boxes for each object that has triangles.

    Args:
        order: (F,) triangles in the order of the leaves.
        corners: (F, 3, 3) their corners in that order, in metres.
        groups: (T,) the object that each tree belongs to.
        roots: (T,) first node of each tree.
        ends: (N,) node after the last one below each node.
        ranges: (N, 2) triangles below each node, in the order of the leaves.
        boxes: (N, 6) least and largest x, y, z of each node.
    """

    order: Indices
    corners: Points
    groups: NDArray[np.int32]
    roots: NDArray[np.int32]
    ends: NDArray[np.int32]
    ranges: NDArray[np.int32]
    boxes: Points

    @staticmethod
    def of(corners: Points, objects: NDArray[np.int32], margin: float = 0.0) -> SurfaceTrees:
        """Make the trees.

        Args:
            corners: (F, 3, 3) of triangles, at least one.
            objects: (F,) the object of each triangle.
            margin: the margin of boxes on all sides, in metres.
        """
        numbers = np.unique(objects)
        sorted_faces, starts = grouped(objects, int(numbers[-1]) + 1)
        centres = corners.mean(axis=1)
        orders, roots, ends, ranges, nodes, faces = [], [], [], [], 0, 0
        for number in numbers:
            order = sorted_faces[starts[number] : starts[number + 1]].astype(np.int32)
            tree_ends, tree_ranges = build_tree(centres, order)
            orders.append(order)
            roots.append(nodes)
            ends.append(tree_ends + np.int32(nodes))
            ranges.append(tree_ranges + np.int32(faces))
            nodes, faces = nodes + len(tree_ends), faces + len(order)
        leaves = np.concatenate(orders)
        ordered = np.ascontiguousarray(corners[leaves])
        face_boxes = np.concatenate([ordered.min(axis=1) - margin, ordered.max(axis=1) + margin], 1)
        all_ends, all_ranges = np.concatenate(ends), np.concatenate(ranges)
        boxes = np.empty((nodes, 6))
        box_nodes(all_ends, all_ranges, face_boxes, boxes)
        return SurfaceTrees(
            order=leaves.astype(np.intp),
            corners=ordered,
            groups=numbers.astype(np.int32),
            roots=np.array(roots, dtype=np.int32),
            ends=all_ends,
            ranges=all_ranges,
            boxes=boxes,
        )

    def leaves(self, can_collide: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Find the pairs of leaves whose boxes overlap, each once; a leaf with itself, too.

        Args:
            can_collide: (O, O) which objects are compared, on the diagonal whether with themselves.

        Returns:
            (K, 2) nodes.
        """
        still = np.zeros((len(self.roots), 3))
        unextended = np.zeros(can_collide.shape)
        trees = Trees(np.zeros(1, dtype=np.int32), self.groups, unextended, 0.0)
        root_order = np.argsort(self.boxes[self.roots, 0], kind="stable").astype(np.int32)
        near = tree_pairs(
            *(self.boxes, still, self.roots, trees, np.ascontiguousarray(can_collide)),
            *(1.0, root_order),
        )
        every = np.ones(len(self.ends), dtype=bool)
        boxes = self.boxes, self.boxes, np.zeros((len(self.ends), 3)), self.boxes
        nodes = *boxes, self.ends, every, self.roots
        pairs: NDArray[np.int32] = leaf_pairs(*nodes, near, np.zeros((len(near), 5)))[:, :2]
        return np.ascontiguousarray(pairs)


def segment_hits(
    begin: Points,
    end: Points,
    vertices: Points,
    triangles: NDArray[np.int32],
    owners: NDArray[np.int32] | None = None,
    vertex_owners: NDArray[np.int32] | None = None,
) -> tuple[Indices, Indices, NDArray[np.float64]]:
    """Each crossing of a segment and a triangle.

    Args:
        begin, end: (S, 3) of the segments.
        vertices, triangles: (V, 3) and (F, 3).
        owners, vertex_owners: (S,) and (V,), where segments pass through triangles of their owner.

    Returns:
        The segments, the triangles, and the shares of the way from begin to end.
    """
    if len(triangles) == 0 or len(begin) == 0:
        none = np.empty(0, dtype=np.intp)
        return none, none, np.empty(0)
    objects = np.zeros(len(triangles), dtype=np.int32)
    skipped = np.full((len(begin), 2), -1, dtype=np.int32)
    if owners is not None and vertex_owners is not None:
        objects = vertex_owners[triangles[:, 0]]
    trees = SurfaceTrees.of(vertices[triangles], objects)
    if owners is not None:
        bounds = np.append(trees.roots, len(trees.ends)).astype(np.int32)
        tree = np.searchsorted(trees.groups, owners)
        has_tree = trees.groups[np.minimum(tree, len(trees.groups) - 1)] == owners
        tree = tree[has_tree]
        skipped[has_tree] = np.stack([bounds[tree], bounds[tree + 1]], axis=1)
    segments = np.ascontiguousarray(begin), np.ascontiguousarray(end)
    nodes = trees.ends, trees.ranges, trees.boxes
    count, room = 0, 4 * len(begin)
    while True:
        hits, shares = np.empty((room, 2), dtype=np.int64), np.empty(room)
        count = write_hits(*segments, trees.corners, nodes, skipped, hits, shares)
        if count <= room:
            break
        room = count
    segment, triangle = hits[:count, 0], trees.order[hits[:count, 1]]
    order = np.lexsort((triangle, segment))
    return segment[order], triangle[order], shares[:count][order]


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
    """Pairs of triangles that share a point, or are closer than a distance.

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

    def object_pairs(self) -> Iterator[tuple[tuple[int, int], NDArray[np.int64]]]:
        """Each pair of objects with its (k, 2) pairs of triangles, in the order of the objects."""
        pairs, number = np.unique(self.objects, axis=0, return_inverse=True)
        order, starts = grouped(number.ravel(), len(pairs))
        for k, (first, second) in enumerate(pairs):
            here = np.sort(order[starts[k] : starts[k + 1]])
            yield (int(first), int(second)), self.triangles[here]

    def between(self, chosen: Collection[tuple[int, int]]) -> Intersections:
        """Return the intersections between some pairs of objects."""
        keep = are_among(self.objects, chosen)
        return Intersections(self.triangles[keep], self.objects[keep], self.distances[keep])


def are_among(
    pairs: NDArray[np.integer[Any]], chosen: Collection[tuple[int, int]]
) -> NDArray[np.bool_]:
    """(K,) whether each of (K, 2) pairs of objects is one of some."""
    sought = np.array(list(chosen), dtype=np.int64).reshape(-1, 2)
    size = 1 + max(int(pairs.max(initial=0)), int(sought.max(initial=0)))
    return np.isin(
        pairs[:, 0].astype(np.int64) * size + pairs[:, 1], sought[:, 0] * size + sought[:, 1]
    )


def find_intersections(surfaces: Surfaces) -> Intersections:
    """The pairs of triangles that cross or touch.

    Triangles that share a vertex are neighbours and never intersect. Triangles within 1e-12 of the
    overall size count as touching: in doubt, there is an intersection. A surface wholly inside
    another one does not intersect it: a ball may lie in a box.
    """
    return find_close(surfaces, 0.0)


def find_close(surfaces: Surfaces, distance: float) -> Intersections:
    """The pairs of triangles that are no farther apart than ``distance``, in metres."""
    search_radius = max(distance, TOUCHING_RATIO * surfaces.size)
    objects, allowed = surfaces.triangle_objects, surfaces.can_collide()
    corners = surfaces.vertices[surfaces.triangles]
    boxes = Boxes.around(corners, 0.5 * search_radius)
    bounds = boxes.group_bounds(objects, len(allowed))
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
    surfaces: Surfaces, near: NDArray[np.intp], allowed: NDArray[np.bool_], search_radius: float
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
        near_pairs, distances = np.empty((room, 2), dtype=np.int64), np.empty(room)
        count = write_near(
            leaves, trees.ranges, *faces, search_radius, unshared, near_pairs, distances
        )
        if count <= room:
            break
        room = count
    pairs = np.sort(near[trees.order[near_pairs[:count]]], axis=1).astype(np.int64)
    return pairs, distances[:count]


def near_others(
    boxes: Boxes, objects: NDArray[np.int32], bounds: Boxes, allowed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mark the (B,) boxes that overlap the bounds of an object with which their object is compared.

    Args:
        boxes: B boxes, of (B,) objects.
        bounds: around each of O objects.
        allowed: (O, O) which two are compared; all boxes of an object compared with itself count.
    """
    near: NDArray[np.bool_] = np.diagonal(allowed)[objects].copy()
    order, starts = grouped(objects, len(allowed))
    whole = boxes.group_bounds(objects, len(allowed))
    meet = (whole.low[:, None] <= bounds.high).all(axis=2)
    meet &= (whole.high[:, None] >= bounds.low).all(axis=2)
    for first, second in np.argwhere(allowed & meet):
        members = order[starts[first] : starts[first + 1]]
        overlap = boxes.low[members] <= bounds.high[second]
        overlap &= boxes.high[members] >= bounds.low[second]
        near[members] |= overlap.all(axis=1)
    return near
