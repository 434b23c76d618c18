# SPDX-License-Identifier: GPL-3.0-or-later
"""What a frame of explicit steps with contact may cost."""

from __future__ import annotations

import math

from .contact_failures import CostlyFrameError


class FrameBudget:
    """In seconds of one core as they are estimated, not measured: the same scene ends at the same
    place.

    Args:
        names: of the bodies, for the error.
    """

    def __init__(self, names: str) -> None:
        self._names = names
        #: What a frame may cost, and how much more for each pair that may come to touch in it.
        self.limit_s, self.pair_s = math.inf, 0.0
        self.begin()

    def begin(self) -> None:
        """Begins a frame."""
        #: What it has cost so far, and the most pairs that might have come to touch.
        self.spent_s, self.most_pairs = 0.0, 0

    def meet(self, pairs: int) -> None:
        """Says that so many may come to touch."""
        self.most_pairs = max(self.most_pairs, pairs)

    def spend(self, seconds: float) -> None:
        """
        Raises:
            CostlyFrameError: where that is more than there is.
        """
        self.spent_s += seconds
        if self.spent_s > self.limit_s + self.pair_s * self.most_pairs:
            raise CostlyFrameError(
                f"{self._names}: so many surfaces press on each other that explicit steps "
                "take long. Choose Automatic or Implicit Euler."
            )
