# SPDX-License-Identifier: GPL-3.0-or-later
"""Which primitives of a surface are close to each other, and how far they may go."""

from __future__ import annotations

import math

import numpy as np

from ...compiled import use_threads
from ...kernels.continuous_collision import (
    CandidateStencils,
    distances,
    step_sizes,
    vertex_min_distances,
)
from ...kernels.rest_distance import SEARCH_RADIUS_RATIO
from .broad_phase import BroadPhase
from .cached_pairs import CachedPairs
from .candidates import Candidates
from .surface import CollisionSurface
from .topology import Points, Values

# No step brings primitives closer than this ratio of the activation distance, at which the barrier
# exceeds the strength of any body a thousandfold, nor than this many roundings of positions.
MIN_DISTANCE_RATIO, MIN_DISTANCE_ROUNDINGS = 1e-7, 64.0
# Pairs that make a thread worth its while; and the chunks of the work that threads share.
PAIRS_PER_THREAD, CHUNKS = 2_000, 64


class Detection:
    """Build candidates once for a whole trajectory, and find close pairs among them.

    Args:
        surface: the collision surface.
        distances: (O, O) d̂ of every two objects, in metres, at which they begin to push.
    """

    def __init__(self, surface: CollisionSurface, distances: Values) -> None:
        self._distances, self._object_of = distances, surface.object_of
        self._triangles = surface.triangles
        radii = _search_radii(distances, surface)
        extras = np.where(surface.can_collide, distances - radii[:, None] - radii, 0.0)
        #: Finds candidates.
        self.broad_phase = BroadPhase(
            *(surface.rest, surface.edges, surface.triangles, surface.group_of),
            surface.group_collisions(surface.can_collide),
            SEARCH_RADIUS_RATIO * np.tile(extras, (2, 2)),
            np.tile(np.where(surface.are_joined, distances, 0.0), (2, 2)),
            *(surface.exempt, np.tile(surface.exempt_bits, (2, 2))),
        )
        #: (V,) search radius around each vertex, in metres; of two objects there may be more.
        self.radii = SEARCH_RADIUS_RATIO * radii[surface.object_of]
        self._cached_pairs = CachedPairs(self.broad_phase, self.radii, surface.edge_lengths)
        #: The swept candidates that were built last.
        self.candidates = Candidates.none()
        self._edges = surface.edges

    def build_swept_candidates(self, before: Points, after: Points) -> None:
        """Builds candidates for linear trajectories between two (V, 3) positions."""
        self.candidates = self._cached_pairs.candidates(before, after)

    def collision_free_step_size(
        self, before: Points, after: Points, min_separation: float = 0.0, rounding: float = 0.0
    ) -> float:
        """The share of the trajectory swept last before anything collides, or comes closer than
        ``min_separation`` metres.

        Args:
            rounding: of positions on it, in metres.
        """
        min_distances = np.maximum(
            MIN_DISTANCE_RATIO * self._distances,
            max(min_separation, MIN_DISTANCE_ROUNDINGS * rounding),
        )
        least = np.ones(CHUNKS)
        use_threads(len(self.candidates), PAIRS_PER_THREAD)
        ends = np.ascontiguousarray(before), np.ascontiguousarray(after)
        step_sizes(self._stencils, *ends, self._object_of, min_distances, least)
        return float(least.min())

    def vertex_distances(self, points: Points) -> Points:
        """(V,) the least distance, in metres, among the candidates that each vertex is a corner of;
        infinite where there are none."""
        pair_distances, least_distances = (
            np.empty(len(self.candidates)),
            np.full(len(points), math.inf),
        )
        use_threads(len(pair_distances), PAIRS_PER_THREAD)
        distances(self._stencils, np.ascontiguousarray(points), pair_distances)
        vertex_min_distances(self._stencils, pair_distances, least_distances)
        return least_distances

    @property
    def _stencils(self) -> CandidateStencils:
        return self.candidates.stencils(self._edges, self._triangles)


def _search_radii(distances: Values, surface: CollisionSurface) -> Values:
    """Return the (O,) search radii in metres, half of the least d̂ of an object: a fine mesh,
    which touches itself from nearer than others, is full of pairs within theirs.
    """
    least = np.where(surface.can_collide, distances, np.inf).min(axis=1)
    return 0.5 * np.where(np.isfinite(least), least, 0.0)
