# SPDX-License-Identifier: GPL-3.0-or-later
"""Damped Newton steps, by more inertia than there is, where surfaces all but touch.

Such surfaces turn along a long step, and collide early on it; short steps part them.
Sources: Levenberg, 1944; Marquardt, 1963.
"""

from __future__ import annotations

from collections.abc import Callable

# Surfaces all but touch below this share of the activation distance. Above it, other surfaces are
# what cuts steps, and shorter ones only take longer to get there.
NEAR_DISTANCE_RATIO = 3e-3
# Below the first of these collision-free step sizes damping begins, below the second it grows, and
# from the third on it is divided by the factor.
MIN_STEP_SIZE, MIN_DAMPED_STEP_SIZE, MIN_FREE_STEP_SIZE, DECREASE_FACTOR = 0.1, 0.3, 0.9, 4.0
MAX_EXTRA_INERTIA = 1e9


class LevenbergMarquardt:
    """The damping of the steps of a search."""

    def __init__(self) -> None:
        #: So many times the inertia is added to the Hessian.
        self.extra_inertia = 0.0

    def update(self, step_size: float, distance_ratio: Callable[[], float]) -> bool:
        """Chooses it for the next step; whether it is another one.

        Args:
            step_size: the collision-free one of the last step.
            distance_ratio: finds the least distance of surfaces over the activation distance.
        """
        before = self.extra_inertia
        is_cut = step_size < (MIN_DAMPED_STEP_SIZE if before > 0.0 else MIN_STEP_SIZE)
        if is_cut and distance_ratio() < NEAR_DISTANCE_RATIO:
            grown = max(1.0, before) / max(step_size, 1.0 / MAX_EXTRA_INERTIA)
            self.extra_inertia = min(grown, MAX_EXTRA_INERTIA)
        elif step_size >= MIN_FREE_STEP_SIZE:
            is_large = before > DECREASE_FACTOR
            self.extra_inertia = before / DECREASE_FACTOR if is_large else 0.0
        return self.extra_inertia != before
