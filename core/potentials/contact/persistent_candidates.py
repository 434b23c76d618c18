# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidate pairs that serve many short steps."""

from __future__ import annotations

import math

import numpy as np

from ...kernels.detection import CandidateStencils
from ...kernels.straight_paths import keep_to_paths
from .broad_phase import BroadPhase
from .candidates import Candidates
from .kept_pairs import KeptPairs, kept_margins
from .surface import CollisionSurface
from .topology import Points, Values

# In mean edges of bodies, how far points may leave the straight paths that candidates were built
# along; and at most so many times as far, for points whose velocity changes much.
DEVIATION_RATIO, MAX_GROWTH = 0.05, 4.0
# Steps that candidates are built for, and in mean edges how far points may go from each other on
# paths of more steps than the least.
MIN_STEPS, MAX_STEPS, PATH_RATIO = 5, 64, 0.5
# What is left after a step of the change of velocity that a point is expected to make.
MEMORY = 0.5
# In metres: what goes less far rests.
SHORTEST_PATH = 1e-300


class PersistentCandidates:
    """Candidates along paths on which points go on as they did, built anew only when a point leaves
    its path by more than was allowed for.

    A point that trembles where it is pressed is allowed more than one that goes straight: else one
    such point would have all of them looked for again in every step.

    Args:
        surface: what touches.
        broad_phase: of it.
        radii: (V,) around points within which pairs have to be found, in metres.
    """

    def __init__(self, surface: CollisionSurface, broad_phase: BroadPhase, radii: Values) -> None:
        self._surface, self._broad_phase, self._radii = surface, broad_phase, radii
        of_bodies = surface.edges[:, 0] < surface.body_count
        lengths = np.sqrt(surface.topology.squared_lengths[of_bodies])
        self._mean_edge = float(lengths.mean())
        self._least_allowed = DEVIATION_RATIO * self._mean_edge
        wider = radii + self._least_allowed
        self._kept = KeptPairs(broad_phase, wider, kept_margins(surface))
        self.begin(np.zeros((len(radii), 3)))

    def begin(self, velocities: Points) -> None:
        """Begins anew, with points that have (V, 3) velocities in m/s."""
        count = len(velocities)
        self.candidates = Candidates.none()
        self._origins, self._path_velocities = np.zeros((2, count, 3))
        self._velocities, self._changes = velocities, np.zeros(count)
        self._allowed = np.zeros(count)
        self._elapsed, self._until = 0.0, -1.0

    @property
    def stencils(self) -> CandidateStencils:
        """Of the candidates that there are."""
        return self.candidates.stencils(self._surface.edges, self._surface.triangles)

    def cover(self, before: Points, after: Points, step: float, is_hindered: bool = False) -> None:
        """Sees to it that all is among the candidates that comes close on straight paths between
        two (V, 3) places in a step of ``step`` seconds, which may be none.

        Args:
            is_hindered: whether something was in the way in this step: points are no more where a
                path leads that goes on after it, and what is found serves the rest of it alone.
        """
        if self._elapsed + step <= self._until:
            paths = (self._origins, self._path_velocities)
            times = (self._elapsed, self._elapsed + step)
            if keep_to_paths(before, after, *paths, *times, self._allowed):
                return
        self._origins, self._elapsed = before, 0.0
        if is_hindered:
            self._path_velocities, self._until = (after - before) / step, step
            allowed = self._least_allowed + _lengths(after - before)
            if allowed.mean() <= MAX_GROWTH * self._least_allowed:
                # Wherever they stop on their way, what is found serves on.
                self._allowed = allowed
                self.candidates = self._broad_phase.candidates(before, after, self._radii + allowed)
                return
            self._allowed = np.full(len(before), self._least_allowed)
            self.candidates = self._kept.candidates(before, after)
            return
        steps = self._horizon(step)
        self._allow_for(_lengths(after - before - step * self._velocities), steps, step)
        # Half a step more, so that rounding does not end the last one.
        duration = (steps + 0.5) * step
        # What is found for no step, where nothing moves yet, holds until something does.
        rests = step == 0.0 and not self._velocities.any()
        self._path_velocities, self._until = self._velocities, math.inf if rests else duration
        self.candidates = self._broad_phase.candidates(
            before, before + duration * self._velocities, self._radii + self._allowed
        )

    def _allow_for(self, deviations: Values, steps: int, step: float) -> None:
        """Lets points leave their paths that deviate by so many metres in the first of steps."""
        # As a velocity that changes by as much in each of them leads away.
        expected = 0.5 * steps * (steps + 1) * np.maximum(step * self._changes, deviations)
        most = MAX_GROWTH * self._least_allowed
        self._allowed = np.minimum(self._least_allowed + expected, most)
        np.maximum(self._allowed, deviations, out=self._allowed)

    def _horizon(self, step: float) -> int:
        """Steps to build candidates for: what goes on together has to be looked at less often."""
        apart = _lengths(self._velocities - self._velocities.mean(axis=0)).max(initial=0.0)
        steps = PATH_RATIO * self._mean_edge / max(apart * step, SHORTEST_PATH)
        return int(min(MAX_STEPS, max(MIN_STEPS, steps)))

    def advance(self, before: Points, after: Points, step: float) -> None:
        """Says that a step has led from (V, 3) ``before`` to ``after``."""
        velocities = (after - before) / step
        changes = _lengths(velocities - self._velocities)
        self._changes = np.maximum(changes, MEMORY * self._changes)
        self._velocities = velocities
        self._elapsed += step


def _lengths(vectors: Points) -> Values:
    return np.asarray(np.sqrt(np.einsum("vi,vi->v", vectors, vectors)))
