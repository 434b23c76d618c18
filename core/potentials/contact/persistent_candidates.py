# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidate pairs that serve many short steps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...compiled import use_threads
from ...kernels.clearance import deviation_ratios, follow
from ...kernels.continuous_collision import CandidateStencils
from .collision_detection import BroadPhase, Candidates, Sweep
from .surface import CollisionSurface, Points, Values

# The allowed deviation from the straight path of the candidates, in edges at a point; and the
# largest factor on it for points with large changes of velocity.
DEVIATION_RATIO, MAX_GROWTH = 0.03, 4.0
# The same in the radius at a point, where that is farther. A monkey between plates whose mesh is
# finer than its tetrahedra takes 12.1, 12.6 and 15.9 s with none, a quarter and half of one. Two
# chairs with bevels take 12.4, 4.5 and 4.4 s, ten monkeys 5 % less than with half of one.
RADIUS_RATIO = 0.25
# Steps that candidates are built for, and in mean edges how far points may go from each other on
# paths of more steps than the least.
MIN_STEPS, MAX_STEPS, PATH_RATIO = 5, 64, 1.0
# The retained part of a point's expected change of velocity after a step.
MEMORY = 0.5
# Points that have used up more than the first ratio of their allowed deviation get new paths
# together with points that have left theirs, up to the second ratio of all points.
NEW_PATH_RATIO, MAX_NEW_PATHS_RATIO = 0.5, 0.1
# The least points of a thread.
POINTS_PER_THREAD = 4_000
# The shortest path in metres; shorter ones count as rest.
SHORTEST_PATH = 1e-300


class PersistentCandidates:
    """Candidates along paths on which points go on as they did. Points that leave theirs by more
    than the allowed deviation get new ones, and the pairs near those are added.

    A trembling, pressed point may deviate more than one on a straight path. Otherwise one such
    point would cause a new search in every step.

    Args:
        surface: the collision surface.
        broad_phase: of it.
        radii: (V,) around points within which pairs have to be found, in metres.
    """

    def __init__(self, surface: CollisionSurface, broad_phase: BroadPhase, radii: Values) -> None:
        self._surface, self._broad_phase, self._radii = surface, broad_phase, radii
        on_bodies = surface.edges[:, 0] < surface.body_count
        lengths = np.sqrt(surface.topology.squared_lengths[on_bodies])
        self._mean_edge = float(lengths.mean())
        edges = np.minimum(surface.edge_lengths, self._mean_edge)
        self._least_allowed = np.maximum(DEVIATION_RATIO * edges, RADIUS_RATIO * radii)
        self.begin(np.zeros((len(radii), 3)))

    def begin(self, velocities: Points) -> None:
        """Forget all candidates, and set (V, 3) velocities of points in m/s."""
        count = len(velocities)
        self.candidates = Candidates.none()
        #: (K,) lower bounds of the distances of pairs, in metres; users of the candidates update
        #: them.
        self.distances = np.zeros(0)
        #: (K,) how often each pair was blocked in this step, likewise.
        self.blocked = np.zeros(0, dtype=np.int64)
        self._origins, self._path_velocities = np.zeros((2, count, 3))
        self._velocities, self._changes = velocities.copy(), np.zeros(count)
        self._allowed = np.zeros(count)
        self._elapsed, self._until = 0.0, -1.0
        self._swept: Sweep | None = None

    @property
    def stencils(self) -> CandidateStencils:
        """Return the stencils of the present candidates."""
        return self.candidates.stencils(self._surface.edges, self._surface.triangles)

    def cover(self, before: Points, after: Points, step: float, is_hindered: bool = False) -> int:
        """Sees to it that all is among the candidates that comes close on straight paths between
        two (V, 3) places in a step of ``step`` seconds, which may be none.

        Args:
            is_hindered: whether moves were blocked in this step: most points are already at its
                end, and few still have to move.

        Returns:
            The number of new pairs; those before are candidates still, where few points have left
            their paths.
        """
        until = self._elapsed + step
        since = until if is_hindered else self._elapsed
        if until > self._until:
            return self._find_all(before, after, since, step)
        ratios = np.empty(len(before))
        paths = self._origins, self._path_velocities
        if deviation_ratios(before, after, *paths, since, until, self._allowed, ratios) <= 1.0:
            return 0
        leaving = ratios > NEW_PATH_RATIO
        goes_on = step > 0.0 and self._until < math.inf
        if goes_on and leaving.mean() <= MAX_NEW_PATHS_RATIO:
            return self._find_around(leaving, before, after, since, step)
        return self._find_all(before, after, since, step)

    def add_reachable(
        self, points: Points, reaches: Values, which: NDArray[np.bool_], swept: Sweep | None = None
    ) -> Sweep:
        """Add the pairs of some points that may come close on any path, if no point gets farther
        than (V,) ``reaches`` metres from its position.

        Args:
            which: (V,) those.
            swept: the result for other points with the same reaches.
        """
        if swept is None:
            radii = self._radii + reaches
            swept = self._broad_phase.sweep(points, points, radii, queried=which)
        else:
            swept = self._broad_phase.around(swept, which)
        merged = self.candidates.merged(self._broad_phase.among(swept, swept.leaves))
        if len(merged) > len(self.candidates):
            self._replace(merged)
        return swept

    def _find_all(self, before: Points, after: Points, since: float, step: float) -> int:
        """Finds all candidates, of paths that begin with this step."""
        since, self._elapsed = since - self._elapsed, 0.0
        steps, velocities = self._horizon(step), self._velocities
        # Half a step more, so that rounding does not end the last one.
        duration = (steps + 0.5) * step
        # Candidates for a step of no duration are valid until something moves.
        rests = step == 0.0 and not velocities.any()
        self._until = math.inf if rests else duration
        self._path_velocities, self._origins = velocities.copy(), before - since * velocities
        deviations = lengths(after - before - (step - since) * velocities)
        self._allowed = self._allowance(np.ones(len(before), bool), deviations, steps, step)
        self._ends = self._origins + duration * velocities
        search_radii = self._radii + self._allowed
        self._swept = self._broad_phase.sweep(self._origins, self._ends, search_radii)
        candidates = self._broad_phase.among(self._swept, self._swept.leaves)
        self._replace(candidates)
        return len(candidates)

    def _find_around(
        self, leaving: NDArray[np.bool_], before: Points, after: Points, since: float, step: float
    ) -> int:
        """Give new paths to the (V,) points that leave theirs, and add the pairs near those."""
        assert self._swept is not None
        velocities, start = self._velocities[leaving], before[leaving]
        left = self._elapsed + step - since
        steps = math.ceil((self._until - since) / step)
        self._path_velocities[leaving] = velocities
        self._origins[leaving] = start - since * velocities
        self._ends[leaving] = start + (self._until - since) * velocities
        deviations = lengths(after[leaving] - start - left * velocities)
        self._allowed[leaving] = self._allowance(leaving, deviations, steps, step)
        search_radii = self._radii + self._allowed
        self._swept = self._broad_phase.sweep_moved(
            self._swept, leaving, self._origins, self._ends, search_radii
        )
        added = self._broad_phase.among(self._swept, self._swept.leaves)
        self._replace(self.candidates.merged(added))
        return len(added)

    def _replace(self, candidates: Candidates) -> None:
        """Takes other candidates; bounds of known pairs are kept."""
        # The last place is that of pairs that were not.
        places = candidates.places_among(self.candidates)
        self.distances = np.append(self.distances, 0.0)[places]
        self.blocked = np.append(self.blocked, 0)[places]
        self.candidates = candidates

    def _allowance(
        self, which: NDArray[np.bool_], deviations: Values, steps: int, step: float
    ) -> Values:
        """Return the distances by which points may leave their paths, in metres.

        Args:
            which: (V,) mask of the D points.
            deviations: (D,) by which they leave them in the first of steps, in metres.
        """
        # The deviation by a constant change of velocity in each step.
        changes = np.maximum(step * self._changes[which], deviations)
        expected = 0.5 * steps * (steps + 1) * changes
        least = self._least_allowed[which]
        most = MAX_GROWTH * least
        return np.maximum(np.minimum(least + expected, most), least + deviations)

    def _horizon(self, step: float) -> int:
        """Return the number of steps to build candidates for; uniform motion needs fewer
        searches."""
        apart = lengths(self._velocities - self._velocities.mean(axis=0)).max(initial=0.0)
        steps = PATH_RATIO * self._mean_edge / max(apart * step, SHORTEST_PATH)
        return int(min(MAX_STEPS, max(MIN_STEPS, steps)))

    def advance(self, before: Points, after: Points, step: float) -> None:
        """Says that a step has led from (V, 3) ``before`` to ``after``."""
        use_threads(len(before), POINTS_PER_THREAD)
        follow(before, after, step, MEMORY, self._velocities, self._changes)
        self._elapsed += step


def lengths(vectors: Points) -> Values:
    """Return the (N,) lengths of (N, 3) vectors."""
    return np.asarray(np.sqrt(np.einsum("vi,vi->v", vectors, vectors)))
