# SPDX-License-Identifier: GPL-3.0-or-later
"""Which parts of a surface are close to each other, and how far they may go."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import use_threads
from .broad_phase import BroadPhase
from .candidates import Candidates
from .detection_kernels import Stencils, distances, nearest, step_sizes
from .surface import CollisionSurface, Points
from .toolkit import toolkit

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
        distance: d̂ in metres, at which it begins to push.
        by_area: whether pairs count by the area they stand for, and double ones are cancelled.
    """

    def __init__(self, surface: CollisionSurface, distance: float, by_area: bool) -> None:
        self._mesh, self._distance, self._by_area = surface.mesh, distance, by_area
        self._triangles = surface.triangles
        rest = surface.mesh.rest_positions
        self._broad_phase = BroadPhase(
            rest, surface.edges, surface.triangles, surface.object_of, surface.may_meet
        )
        self._radii = np.full(len(rest), 0.5 * MARGIN * distance)
        #: All that may come close on the way swept last.
        self.candidates = Candidates.none()
        self._edges = surface.edges

    def sweep(self, before: Points, after: Points) -> None:
        """Looks for all that may come close on a straight way between two (V, 3) places."""
        self.candidates = self._broad_phase.candidates(before, after, self._radii)

    def collisions(self, points: Points) -> Any:
        """What is closer than the distance at (V, 3) points on the way swept last."""
        kit = toolkit()
        found = kit.NormalCollisions()
        found.use_area_weighting = self._by_area
        kinds = kit.NormalCollisions
        found.collision_set_type = kinds.IMPROVED_MAX_APPROX if self._by_area else kinds.IPC
        candidates, own = kit.Candidates(), self.candidates
        candidates.ee_candidates = list(map(kit.EdgeEdgeCandidate, *own.edge_edges.T.tolist()))
        candidates.fv_candidates = list(map(kit.FaceVertexCandidate, *own.face_vertices.T.tolist()))
        found.build(candidates, self._mesh, points, self._distance)
        return found

    def free_share(
        self, before: Points, after: Points, room: float = 0.0, rounding: float = 0.0
    ) -> float:
        """The share of the way swept last that can be gone before anything meets, or comes closer
        than ``room`` metres.

        Args:
            rounding: of places on the way, in metres.
        """
        floor = max(room, FLOOR * self._distance, FLOOR_ROUNDINGS * rounding)
        least = np.ones(SHARES)
        use_threads(len(self.candidates), PAIRS_PER_THREAD)
        ends = np.ascontiguousarray(before), np.ascontiguousarray(after)
        step_sizes(self._stencils, *ends, floor, least)
        return float(least.min())

    def near(self, points: Points) -> Points:
        """(V,) the least distance, in metres, of what each vertex is a corner of to what was found
        for it on the way swept last; infinite where nothing was."""
        of_pairs, of_vertices = np.empty(len(self.candidates)), np.full(len(points), math.inf)
        use_threads(len(of_pairs), PAIRS_PER_THREAD)
        distances(self._stencils, np.ascontiguousarray(points), of_pairs)
        nearest(self._stencils, of_pairs, of_vertices)
        return of_vertices

    def gap(self, collisions: Any, points: Points) -> float:
        """The least distance of what is close, in metres; infinite where nothing is."""
        return math.sqrt(collisions.compute_minimum_distance(self._mesh, points))

    @property
    def _stencils(self) -> Stencils:
        own = self.candidates
        return Stencils(own.edge_edges, own.face_vertices, self._edges, self._triangles)
