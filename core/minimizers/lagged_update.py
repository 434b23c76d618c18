# SPDX-License-Identifier: GPL-3.0-or-later
"""When a search updates the forces that lag behind, such as the normal forces of friction."""

from __future__ import annotations

import math

from torch import Tensor

from .incremental_potential import IncrementalPotential

# Normal forces of friction are updated after every step, until a step within the first number of
# tolerances changes them by at most the second ratio.
LAG_TOLERANCE_FACTOR, LAG_CHANGE_RATIO = 200.0, 0.03
# In a step whose tolerances are relaxed, the share may be so large.
MAX_LAG_CHANGE_RATIO = 0.1
# Normal forces between surfaces are updated once a step is within the first number of tolerances,
# since before that surfaces come as close as steps allow; and until a step is within the second.
CONTACT_LAG_START_FACTOR, CONTACT_LAG_END_FACTOR = 50.0, 3.0
# If a change is more than the first ratio of the one before, friction and normal forces alternate,
# and the next update is relaxed by the factor. Between surfaces, without an explicit tolerance,
# all later updates are relaxed, down to the least fraction.
LAG_CYCLING_RATIO, LAG_RELAXATION_FACTOR, MIN_LAG_FRACTION = 0.7, 0.5, 0.125


class LaggedUpdate:
    """Update lagged quantities during a search.

    Args:
        objective: the objective of the lagged quantities.
        tolerance: of the search, in metres.
        relaxation: the factor on tolerances of friction.
        is_due: whether there are any updates.
        is_exact: whether the tolerance is explicit, so that normal forces have to be those of the
            end.
    """

    def __init__(
        self,
        objective: IncrementalPotential,
        tolerance: float,
        relaxation: float,
        is_due: bool,
        is_exact: bool = True,
    ) -> None:
        self._objective, self._tolerance = objective, tolerance
        self._max_change = min(relaxation * LAG_CHANGE_RATIO, MAX_LAG_CHANGE_RATIO)
        self._last_change, self._fraction = math.inf, 1.0
        self._stays_relaxed = objective.contact is not None and not is_exact
        #: Whether there is another update after the next step.
        self.is_due = is_due

    def apply(self, positions: Tensor, step_norm: float) -> float:
        """Updates them at (3, N) ``positions``; the relative change.

        Args:
            step_norm: of the last Newton step, in metres.
        """
        is_near_end = step_norm <= CONTACT_LAG_START_FACTOR * self._tolerance
        change = self._objective.update_lagged(positions, self._fraction, is_near_end)
        # A relaxed update of a constant value leaves 1 - fraction of the change.
        expected = LAG_CYCLING_RATIO
        if self._stays_relaxed:
            expected = max(expected, 1.0 - 0.5 * self._fraction)
        is_cycling = change > expected * self._last_change
        if is_cycling and self._stays_relaxed:
            self._fraction = max(MIN_LAG_FRACTION, LAG_RELAXATION_FACTOR * self._fraction)
        elif not self._stays_relaxed:
            self._fraction = LAG_RELAXATION_FACTOR if is_cycling else 1.0
        self._last_change = change
        has_contact = self._objective.contact is not None
        factor = CONTACT_LAG_END_FACTOR if has_contact else LAG_TOLERANCE_FACTOR
        # After the strongest relaxation, further updates only move loosely held parts to and fro.
        is_near = step_norm <= factor * self._tolerance or self._fraction == MIN_LAG_FRACTION
        self.is_due = self.is_too_large(change) or not is_near
        return change

    def is_too_large(self, change: float) -> bool:
        """Whether a search cannot end after such a relative change."""
        return change > self._max_change
