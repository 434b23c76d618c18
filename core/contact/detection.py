# SPDX-License-Identifier: GPL-3.0-or-later
"""Which parts of a surface are close to each other, and how far they may go."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .candidates import Candidates
from .surface import CollisionSurface, Points
from .toolkit import all_threads, toolkit

# How far apart two parts may be to be looked at, in units of the distance at which they push: for
# what rounding does to boxes.
MARGIN = 1.01
# Additive CCD steps through what is closer than rounding can tell: below this share of the distance
# a method takes its place that bounds its own rounding, and takes some ten times as long.
NARROW = 1e-3
# After so many bisections of one pair's way it answers with what it is sure of so far.
MOST_BISECTIONS = 1_000


class Detection:
    """Finds pairs once for a whole way, and what is close anywhere on it from those.

    Args:
        surface: what touches.
        distance: d̂ in metres, at which it begins to push.
    """

    def __init__(self, surface: CollisionSurface, distance: float) -> None:
        kit = toolkit()
        self._mesh, self._distance = surface.mesh, distance
        self._candidates = kit.Candidates()
        self._broad_phase = kit.LBVH()
        self._quick = kit.AdditiveCCD()
        self._exact = kit.TightInclusionCCD(max_iterations=MOST_BISECTIONS)

    def sweep(self, before: Points, after: Points) -> None:
        """Looks for all that may come close on a straight way between two (V, 3) places."""
        radius = 0.5 * MARGIN * self._distance
        self._candidates.build(self._mesh, before, after, radius, self._broad_phase)

    @property
    def candidates(self) -> Candidates:
        """What was found, as arrays."""
        found = self._candidates
        edges = [(pair.edge0_id, pair.edge1_id) for pair in found.ee_candidates]
        faces = [(pair.face_id, pair.vertex_id) for pair in found.fv_candidates]
        edge_edges = np.sort(np.array(edges, dtype=np.int32).reshape(-1, 2), axis=1)
        face_vertices = np.array(faces, dtype=np.int32).reshape(-1, 2)
        return Candidates(
            edge_edges[np.lexsort(edge_edges.T[::-1])],
            face_vertices[np.lexsort(face_vertices.T[::-1])],
        )

    def free_share(self, before: Points, after: Points, gap: float, room: float = 0.0) -> float:
        """The share of the way swept last that can be gone before anything meets, or comes closer
        than ``room`` metres; ``gap`` is the least distance at its start."""
        if gap < NARROW * self._distance:
            # How far this bisects goes by the pairs that were looked at before.
            return self._free_share(before, after, room, self._exact)
        with all_threads():
            return self._free_share(before, after, room, self._quick)

    def _free_share(self, before: Points, after: Points, room: float, method: Any) -> float:
        candidates = self._candidates
        return float(
            candidates.compute_collision_free_stepsize(self._mesh, before, after, room, method)
        )

    def near(self, points: Points) -> Points:
        """(V,) the least distance, in metres, of what each vertex is a corner of to what was found
        for it on the way swept last; infinite where nothing was."""
        distances = self._candidates.compute_per_vertex_safe_distances(self._mesh, points, math.inf)
        return np.asarray(distances)
