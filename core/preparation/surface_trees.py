# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of boxes over the triangles of several objects: which triangles may be near each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..geometry.groups import grouped
from ..kernels.bounding_volumes import Trees, box_nodes, build_tree, leaf_pairs, tree_pairs

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
            margin: by which boxes are larger on all sides, in metres.
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
        of_faces = np.concatenate([ordered.min(axis=1) - margin, ordered.max(axis=1) + margin], 1)
        all_ends, all_ranges = np.concatenate(ends), np.concatenate(ranges)
        boxes = np.empty((nodes, 6))
        box_nodes(all_ends, all_ranges, of_faces, boxes)
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
        by_lowest_x = np.argsort(self.boxes[self.roots, 0], kind="stable").astype(np.int32)
        near = tree_pairs(
            *(self.boxes, still, self.roots, trees, np.ascontiguousarray(can_collide)),
            *(1.0, by_lowest_x),
        )
        every = np.ones(len(self.ends), dtype=bool)
        nodes = self.boxes, self.boxes, self.ends, every, self.roots
        pairs: NDArray[np.int32] = leaf_pairs(*nodes, near, np.zeros((len(near), 5)))[:, :2]
        return np.ascontiguousarray(pairs)
