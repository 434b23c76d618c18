# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from supple.core.integrators.contact_failures import CostlyFrameError
from supple.core.integrators.frame_budget import FrameBudget


def test_a_frame_may_cost_as_much_as_its_limit_and_more_for_each_pair_that_may_touch() -> None:
    budget = FrameBudget("Jelly")
    budget.limit_s, budget.pair_s = 2.0, 0.5
    budget.spend(2.0)
    budget.meet(3)
    budget.meet(1)
    budget.spend(1.5)
    with pytest.raises(CostlyFrameError, match=r"^Jelly: "):
        budget.spend(0.1)
    budget.begin()
    assert (budget.spent_s, budget.most_pairs) == (0.0, 0)
    with pytest.raises(CostlyFrameError):
        budget.spend(2.1)
