# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton steps with more inertia than there is, where surfaces that all but touch cut them short.

Such surfaces turn on the way of a long step, and meet early on it; short steps take them apart.
Sources: Levenberg, 1944; Marquardt, 1963.
"""

from __future__ import annotations

from collections.abc import Callable

# Surfaces all but touch below so much of the distance from which they push. Further apart, what
# cuts steps is met anew, and shorter ones only take longer to get there.
ALL_BUT_TOUCHING = 3e-3
# Where less than the first of these shares of a step may be gone, the next ones have more inertia,
# and more still until the second may be; from the third on it is divided by the last number.
CORNERED, PASSABLE, CLEAR, RELIEF = 0.1, 0.3, 0.9, 4.0
MAX_EXTRA_INERTIA = 1e9


class LevenbergMarquardt:
    """By how much the steps of a search take bodies for heavier than they are."""

    def __init__(self) -> None:
        #: So many times the inertia is added to the Hessian.
        self.extra_inertia = 0.0

    def update(self, free_fraction: float, relative_gap: Callable[[], float]) -> bool:
        """Chooses it for the next step; whether it is another one.

        Args:
            free_fraction: how much of the last step may have been gone.
            relative_gap: says how near surfaces are, over the distance from which they push.
        """
        before = self.extra_inertia
        is_cut = free_fraction < (PASSABLE if before > 0.0 else CORNERED)
        if is_cut and relative_gap() < ALL_BUT_TOUCHING:
            grown = max(1.0, before) / max(free_fraction, 1.0 / MAX_EXTRA_INERTIA)
            self.extra_inertia = min(grown, MAX_EXTRA_INERTIA)
        elif free_fraction >= CLEAR:
            self.extra_inertia = before / RELIEF if before > RELIEF else 0.0
        return self.extra_inertia != before
