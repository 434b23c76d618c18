# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidates of one trajectory after the other, by what was found to be near before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compiled import use_threads
from ...kernels.broad_phase import (
    SERVED,
    WORN,
    box_moves,
    find_near_edges,
    find_near_faces,
    judge_leaves,
)
from .broad_phase import BOXES_PER_THREAD, PAIRS_PER_THREAD, BroadPhase, Sweep, sorted_pairs
from .candidates import Candidates
from .topology import Points, Values

# By how much farther pairs are kept that were found, in mean edges at a vertex.
MARGIN_RATIO = 0.1
# Pairs are found anew once all leaves were looked at so many times for want of it.
MAX_WEAR = 1.0
# In units of the rounding of the largest coordinate.
ROUNDINGS = 64.0


class KeptPairs:
    """Finds the candidates that ``BroadPhase.candidates`` does, exactly those, mostly sooner.

    What is near at one place, with a margin, is kept. Two leaves whose corners have moved alike
    since, and will along the trajectory, but for less than that margin, have no other pair that
    comes near. The others are looked at anew.

    Args:
        broad_phase: of a surface.
        radii: (V,) around points within which pairs have to be found, in metres.
        edge_lengths: (V,) mean of the edges at each vertex, in metres.
    """

    def __init__(self, broad_phase: BroadPhase, radii: Values, edge_lengths: Values) -> None:
        self._broad_phase, self._radii = broad_phase, radii
        self._margins = MARGIN_RATIO * edge_lengths
        self._leaf_margins = _least_of_leaves(self._margins, broad_phase)
        # Where kept pairs were found, and by their place in the order of leaves, which.
        self._origins: Points | None = None
        self._edges = self._faces = Candidates.none().edge_edges
        # How many times all leaves have been looked at for want of newer pairs.
        self._wear = 0.0

    def candidates(self, before: Points, after: Points) -> Candidates:
        """Return the candidates on linear trajectories between two (V, 3) positions."""
        swept = self._broad_phase.sweep(before, after, self._radii)
        leaves = swept.leaves
        if len(leaves) == 0:
            return Candidates.none()
        judged = self._judge(swept)
        self._wear += float((judged == WORN).mean())
        if self._wear > MAX_WEAR:
            self._keep(swept)
            judged[judged == WORN] = SERVED
        anew = self._broad_phase.among(swept, leaves[judged != SERVED])
        if not (judged == SERVED).any():
            return anew
        edges, faces = self._near_ones(swept)
        return Candidates(
            sorted_pairs(np.concatenate([anew.edge_edges, edges])),
            sorted_pairs(np.concatenate([anew.face_vertices, faces])),
        )

    def _judge(self, swept: Sweep) -> NDArray[np.int64]:
        """Return the (K,) verdict on kept pairs for pairs of leaves, as the kernel gives it."""
        ends, faces = self._broad_phase.ends, swept.faces
        before, after = swept.trajectories.before, swept.trajectories.after
        origins = before if self._origins is None else self._origins
        moves, judged = np.empty((len(ends), 12)), np.empty(len(swept.leaves), dtype=np.int64)
        use_threads(len(origins), BOXES_PER_THREAD)
        box_moves(ends, faces.ranges, faces.corners, origins, before, after, moves)
        size = max(abs(points).max() for points in (origins, before, after))
        rounding = ROUNDINGS * np.finfo(np.float64).eps * size
        judge_leaves(swept.leaves, moves, self._leaf_margins, rounding, judged)
        if self._origins is None:
            judged[judged == SERVED] = WORN
        return judged

    def _keep(self, swept: Sweep) -> None:
        """Finds what is kept, at the start of trajectories."""
        points = swept.trajectories.before.copy()
        candidates = self._broad_phase.candidates(points, points, self._radii + self._margins)
        edges, faces, vertices = (
            _places(parts.indices) for parts in (swept.edges, swept.faces, swept.vertices)
        )
        # In the order in which a search asks.
        self._edges = np.sort(edges[candidates.edge_edges], axis=1)
        own_faces, own_vertices = candidates.face_vertices.T
        self._faces = np.column_stack([faces[own_faces], vertices[own_vertices]])
        self._origins, self._wear = points, 0.0

    def _near_ones(self, swept: Sweep) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The kept pairs that are candidates."""
        faces = swept.faces
        near = np.empty(len(self._edges), dtype=bool), np.empty(len(self._faces), dtype=bool)
        motion = self._broad_phase.trees, swept.motions, swept.trajectories
        use_threads(len(self._edges) + len(self._faces), PAIRS_PER_THREAD)
        find_near_edges(self._edges, swept.edges, *motion, near[0])
        find_near_faces(self._faces, faces, swept.vertices, *motion, near[1])
        edges = np.sort(swept.edges.indices[self._edges[near[0]]], axis=1)
        pairs = self._faces[near[1]]
        return edges, np.column_stack(
            [faces.indices[pairs[:, 0]], swept.vertices.indices[pairs[:, 1]]]
        )


def _least_of_leaves(values: Values, broad_phase: BroadPhase) -> Values:
    """Return for each node (N,) that is a leaf the least of (V,) values at its corners; zero for
    other nodes.
    """
    ends, faces = broad_phase.ends, broad_phase.faces
    leaves = np.flatnonzero(ends == np.arange(len(ends)) + 1)
    least = np.zeros(len(ends))
    starts = broad_phase.ranges[leaves, 0]
    least[leaves] = np.minimum.reduceat(values[faces].min(axis=1), starts)
    return least


def _places(indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the place of each index in a list."""
    places = np.zeros(int(indices.max(initial=-1)) + 1, dtype=np.int32)
    places[indices] = np.arange(len(indices), dtype=np.int32)
    return places
