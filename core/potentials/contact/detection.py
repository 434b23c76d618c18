# SPDX-License-Identifier: GPL-3.0-or-later
"""Which parts of a surface are close to each other, and how far they may go."""

from __future__ import annotations

import math

import numpy as np

from ...compiled import use_threads
from ...kernels.detection import CandidateStencils, distances, nearest, step_sizes
from .broad_phase import BroadPhase
from .candidates import Candidates
from .surface import CollisionSurface
from .topology import Points, Values

# How far apart two parts may be to be looked at, in units of the distance at which they push: for
# what rounding does to distances.
MARGIN = 1.01
# No step brings parts closer than this share of the distance at which they push, where the barrier
# holds a thousand times what any body would bear, nor than so many roundings of their places.
FLOOR, FLOOR_ROUNDINGS = 1e-7, 64.0
# What a thread is worth, in pairs; and how many parts the work has that threads share.
PAIRS_PER_THREAD, SHARES = 2_000, 64


class Detection:
    """Finds pairs once for a whole way, and what is close anywhere on it from those.

    Args:
        surface: what touches.
        distances: (O, O) d̂ of every two objects, in metres, at which they begin to push.
    """

    def __init__(self, surface: CollisionSurface, distances: Values) -> None:
        self._distances, self._object_of = distances, surface.object_of
        self._triangles = surface.triangles
        #: Finds what may meet.
        self.broad_phase = BroadPhase(
            *(surface.rest, surface.edges, surface.triangles, surface.group_of),
            surface.by_groups(surface.may_meet),
        )
        #: (V,) so far around each vertex it looks, in metres.
        self.radii = MARGIN * _reaches(distances, surface)[surface.object_of]
        #: All that may come close on the way swept last.
        self.candidates = Candidates.none()
        self._edges = surface.edges

    def sweep(self, before: Points, after: Points) -> None:
        """Looks for all that may come close on a straight way between two (V, 3) places."""
        self.candidates = self.broad_phase.candidates(before, after, self.radii)

    def free_share(
        self, before: Points, after: Points, room: float = 0.0, rounding: float = 0.0
    ) -> float:
        """The share of the way swept last that can be gone before anything meets, or comes closer
        than ``room`` metres.

        Args:
            rounding: of places on the way, in metres.
        """
        floors = np.maximum(FLOOR * self._distances, max(room, FLOOR_ROUNDINGS * rounding))
        least = np.ones(SHARES)
        use_threads(len(self.candidates), PAIRS_PER_THREAD)
        ends = np.ascontiguousarray(before), np.ascontiguousarray(after)
        step_sizes(self._stencils, *ends, self._object_of, floors, least)
        return float(least.min())

    def near(self, points: Points) -> Points:
        """(V,) the least distance, in metres, of what each vertex is a corner of to what was found
        for it on the way swept last; infinite where nothing was."""
        of_pairs, of_vertices = np.empty(len(self.candidates)), np.full(len(points), math.inf)
        use_threads(len(of_pairs), PAIRS_PER_THREAD)
        distances(self._stencils, np.ascontiguousarray(points), of_pairs)
        nearest(self._stencils, of_pairs, of_vertices)
        return of_vertices

    @property
    def _stencils(self) -> CandidateStencils:
        own = self.candidates
        return CandidateStencils(own.edge_edges, own.face_vertices, self._edges, self._triangles)


def _reaches(distances: Values, surface: CollisionSurface) -> Values:
    """(O,) in metres, of any two objects at least their d̂ together: bodies reach half as far as
    they push themselves or others, and colliders what is left."""
    bodies = surface.topology.body_objects
    reaches = 0.5 * distances[:, :bodies].max(axis=1)
    left = distances[:bodies, bodies:] - reaches[:bodies, None]
    reaches[bodies:] = left.max(axis=0, initial=0.0)
    return reaches
