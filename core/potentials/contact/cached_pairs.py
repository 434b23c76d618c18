# SPDX-License-Identifier: GPL-3.0-or-later
"""Cached candidate pairs that serve one trajectory after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compiled import use_threads
from ...kernels.broad_phase import (
    STALE,
    UNCHANGED,
    box_moves,
    classify_leaves,
    find_near_edges,
    find_near_faces,
)
from .broad_phase import BOXES_PER_THREAD, PAIRS_PER_THREAD, BroadPhase, Sweep, sorted_pairs
from .candidates import Candidates
from .topology import Points, Values

# The extra search distance of cached pairs, in mean edge lengths at a vertex.
MARGIN_RATIO = 0.1
# The cache is updated once the stale pairs of leaves add up to this many searches of all leaves.
MAX_STALENESS = 1.0
# The allowance for rounding, in units of the rounding of the largest coordinate.
ROUNDINGS = 64.0


class CachedPairs:
    """Find exactly the candidates of ``BroadPhase.candidates``, mostly sooner.

    The cache holds the pairs that are near at one place, with a margin. Two leaves have no other
    pair that comes near as long as their corners move alike to within that margin, since then and
    along the trajectory. All other leaves are searched again.

    Args:
        broad_phase: of a surface.
        radii: (V,) around points within which pairs have to be found, in metres.
        edge_lengths: (V,) mean of the edges at each vertex, in metres.
    """

    def __init__(self, broad_phase: BroadPhase, radii: Values, edge_lengths: Values) -> None:
        self._broad_phase, self._radii = broad_phase, radii
        self._margins = MARGIN_RATIO * edge_lengths
        self._leaf_margins = _least_of_leaves(self._margins, broad_phase)
        # The positions at which the cached pairs were found, and the pairs by their place in the
        # order of leaves.
        self._origins: Points | None = None
        self._edges = self._faces = Candidates.none().edge_edges
        # The searches of stale leaves since the last update, in searches of all leaves.
        self._staleness = 0.0

    def candidates(self, before: Points, after: Points) -> Candidates:
        """Return the candidates on linear trajectories between two (V, 3) positions."""
        swept = self._broad_phase.sweep(before, after, self._radii)
        leaves = swept.leaves
        if len(leaves) == 0:
            return Candidates.none()
        verdicts = self._classify(swept)
        self._staleness += float((verdicts == STALE).mean())
        if self._staleness > MAX_STALENESS:
            self._update_cache(swept)
            verdicts[verdicts == STALE] = UNCHANGED
        uncached = self._broad_phase.among(swept, leaves[verdicts != UNCHANGED])
        if not (verdicts == UNCHANGED).any():
            return uncached
        edges, faces = self._cached_candidates(swept)
        return Candidates(
            sorted_pairs(np.concatenate([uncached.edge_edges, edges])),
            sorted_pairs(np.concatenate([uncached.face_vertices, faces])),
        )

    def _classify(self, swept: Sweep) -> NDArray[np.int64]:
        """Return for (K,) pairs of leaves whether their cached pairs are complete, as the kernel
        does."""
        ends, faces = self._broad_phase.ends, swept.faces
        before, after = swept.trajectories.before, swept.trajectories.after
        origins = before if self._origins is None else self._origins
        moves, verdicts = np.empty((len(ends), 12)), np.empty(len(swept.leaves), dtype=np.int64)
        use_threads(len(origins), BOXES_PER_THREAD)
        box_moves(ends, faces.ranges, faces.corners, origins, before, after, moves)
        size = max(abs(points).max() for points in (origins, before, after))
        rounding = ROUNDINGS * np.finfo(np.float64).eps * size
        classify_leaves(swept.leaves, moves, self._leaf_margins, rounding, verdicts)
        if self._origins is None:
            verdicts[verdicts == UNCHANGED] = STALE
        return verdicts

    def _update_cache(self, swept: Sweep) -> None:
        """Find the pairs to cache, at the start of trajectories."""
        points = swept.trajectories.before.copy()
        candidates = self._broad_phase.candidates(points, points, self._radii + self._margins)
        edges, faces, vertices = (
            _places(parts.indices) for parts in (swept.edges, swept.faces, swept.vertices)
        )
        # The order of a search.
        self._edges = np.sort(edges[candidates.edge_edges], axis=1)
        own_faces, own_vertices = candidates.face_vertices.T
        self._faces = np.column_stack([faces[own_faces], vertices[own_vertices]])
        self._origins, self._staleness = points, 0.0

    def _cached_candidates(self, swept: Sweep) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the cached pairs that are candidates."""
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
