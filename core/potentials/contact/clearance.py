# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells of frames that contact had no part in whether they needed it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...compiled import use_threads
from ...geometry.tet_mesh import TetMesh
from ...kernels.clearance import bends, least_room, own_way, stay_apart
from ...kernels.detection import CandidateStencils
from ...scene.scene import Scene
from .candidates import Candidates
from .detection import MARGIN, PAIRS_PER_THREAD, SHARES, Detection
from .rest_distance import surface_distances
from .surface import CollisionSurface
from .topology import Points, Values

# How much farther than needed it looks, in distances at which surfaces push: so far everything may
# move before it has to look again.
EXTRA = 2.0
# By so many of the longest way may two parts come nearer: both go, and somewhat farther between the
# places that are known.
WAYS = 2.5
# In mean edges of bodies.
MOST_BEND = 0.25


@dataclass(frozen=True, eq=False)
class Ways:
    """Where the vertices of bodies went in a frame.

    Args:
        places: (K + 1, B, 3) vertices of their surfaces one after the other, in metres.
        shares: (K + 1,) of the frame, from 0 to 1, at which they were there.
        is_straight: whether they went straight from each place to the next.
        colliders: (C, 3) vertices of colliders before and after, which go straight.
    """

    places: NDArray[np.float64]
    shares: Values
    is_straight: bool
    colliders: tuple[Points, Points]

    def at(self, index: int) -> Points:
        """(B + C, 3) all that touches."""
        before, after = self.colliders
        share = self.shares[index]
        return np.concatenate([self.places[index], (1.0 - share) * before + share * after])

    def bends(self, first: int, last: int) -> Values:
        """(B + C,) how far vertices may leave the straight line from one place to a later one."""
        out = np.zeros(self.places.shape[1] + len(self.colliders[0]))
        bends(self.places, self.shares, first, last, self.is_straight, out)
        return out


class Clearance:
    """Looks whether anything that may meet came within the distance at which it pushes.

    Parts of one body that are nearer than that at rest count as meeting at half the distance they
    have there.

    Args:
        scene: with contact; its bodies have tetrahedra.
        meshes: those of its bodies.
    """

    def __init__(self, scene: Scene, meshes: list[TetMesh]) -> None:
        #: All that touches.
        self.surface = surface = CollisionSurface(scene, meshes)
        self._distances = surface_distances(scene, surface)
        detection = Detection(surface, self._distances)
        self._broad_phase, self._radii = detection.broad_phase, detection.radii
        own = np.diag(self._distances)[: surface.topology.body_objects]
        self._meets_itself = np.diag(surface.may_meet)[: len(own)]
        #: In metres, the most room that there is known to be.
        self.most_room = EXTRA * float(own[self._meets_itself].min(initial=math.inf))
        edges = surface.edges[surface.edges[:, 0] < surface.body_count]
        lengths = np.linalg.norm(surface.rest[edges[:, 0]] - surface.rest[edges[:, 1]], axis=1)
        # In metres; on ways that bend more, what is near anywhere is not found at once.
        self._most_bend = MOST_BEND * float(lengths.mean())
        counts = np.bincount(surface.object_of, minlength=len(surface.names))
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._full = np.flatnonzero(counts)

    def colliders(self, led: Points | None, frame: int, share: float) -> Points:
        """(C, 3) vertices of colliders in the frame after ``frame``, in metres, at its start where
        they have been ``led``."""
        if share == 0.0 and led is not None:
            return led
        return self.surface.colliders_at(frame, share)

    def room_after(self, ways: Ways, room: float) -> float | None:
        """How much nearer to itself any body may come after a frame, in metres at least, all motion
        that it makes as a whole left out.

        Args:
            ways: what the frame was.
            room: the same before it.

        Returns:
            None where something met, or may have.
        """
        if len(self._full) == 1:
            # What it does as a whole brings nothing nearer, and is not to bend any way.
            ways = replace(ways, places=ways.places - ways.places.mean(axis=1, keepdims=True))
        left = room - WAYS * self._own_ways(ways)
        if left > 0.0 and not self._pass_by(ways):
            return left
        last = len(ways.places) - 1
        found = self._found_free(ways, 0, last, EXTRA)
        if found is None:
            return None
        return min(self.most_room, self._least_room(found, ways.at(last)))

    def is_clear(self, bodies: Points, colliders: Points) -> bool:
        """Whether nothing is near where (B, 3) and (C, 3) vertices are, in metres."""
        still = np.stack([bodies, bodies])
        ways = Ways(still, np.array([0.0, 1.0]), True, (colliders, colliders))
        return self._found_free(ways, 0, 1, 0.0) is not None

    def _own_ways(self, ways: Ways) -> float:
        """In metres, of the body that moved the most within itself."""
        return max(
            (
                own_way(ways.places, self._starts[body], self._starts[body + 1])
                for body in np.flatnonzero(self._meets_itself)
            ),
            default=0.0,
        )

    def _pass_by(self, ways: Ways) -> bool:
        """Whether different objects that may meet came near each other, by the boxes around their
        ways."""
        if len(self._full) < 2:
            return False
        last = len(ways.places) - 1
        aside = 0.0 if ways.is_straight else float(ways.bends(0, last).max(initial=0.0))
        low, high = ways.at(0), ways.at(0)
        for index in range(1, last + 1):
            points = ways.at(index)
            low, high = np.minimum(low, points), np.maximum(high, points)
        starts = self._starts[self._full]
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        reach = MARGIN * float(self._distances.max()) + 2.0 * aside
        reaches = (low[:, None] <= high + reach).all(axis=2)
        near = reaches & reaches.T & self.surface.may_meet[np.ix_(self._full, self._full)]
        np.fill_diagonal(near, False)
        return bool(near.any())

    def _found_free(self, ways: Ways, first: int, last: int, extra: float) -> Candidates | None:
        """What may be near at the last of some places, found with so much ``extra``; None where
        anything came near on the way there."""
        bends = ways.bends(first, last)
        if last - first > 1 and bends.max() > self._most_bend:
            middle = (first + last) // 2
            if self._found_free(ways, first, middle, 0.0) is None:
                return None
            return self._found_free(ways, middle, last, extra)
        radii = (1.0 + extra) * self._radii + bends
        found = self._broad_phase.candidates(ways.at(first), ways.at(last), radii)
        return found if self._stay_apart(found, ways, first, last) else None

    def _stay_apart(self, found: Candidates, ways: Ways, first: int, last: int) -> bool:
        if len(found) == 0:
            return True
        pieces = range(first, last)
        are_apart = np.empty(SHARES, dtype=np.int64)
        use_threads(len(found), PAIRS_PER_THREAD)
        stay_apart(
            self._stencils(found),
            np.stack([ways.at(index) for index in range(first, last + 1)]),
            np.stack([ways.bends(piece, piece + 1) for piece in pieces]),
            *(self.surface.rest, self.surface.object_of, self._distances),
            are_apart,
        )
        return bool(are_apart.all())

    def _least_room(self, found: Candidates, points: Points) -> float:
        if len(found) == 0:
            return math.inf
        rooms, surface = np.empty(SHARES), self.surface
        use_threads(len(found), PAIRS_PER_THREAD)
        stencils = self._stencils(found)
        least_room(stencils, points, surface.rest, surface.object_of, self._distances, rooms)
        return float(rooms.min())

    def _stencils(self, found: Candidates) -> CandidateStencils:
        surface = self.surface
        return CandidateStencils(
            found.edge_edges, found.face_vertices, surface.edges, surface.triangles
        )
