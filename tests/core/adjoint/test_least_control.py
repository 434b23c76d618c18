# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for the smallest control, on functions that are known."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from supple.core.adjoint.follow_keys import LeastControl, LeastControlSearch

WANTED = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)


class Known:
    """A problem of three numbers that the control brings to their targets, and a fourth that
    none moves.
    """

    def __init__(self, stuck: float) -> None:
        self._stuck = torch.tensor([stuck], dtype=torch.float64)

    def residual(self, control: Tensor) -> Tensor:
        return torch.cat([control + 0.05 * control**2 - WANTED, self._stuck])

    def linearized(self, control: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        return self.residual(control), lambda w: (1.0 + 0.1 * control) * w[:3]


def found(stuck: float) -> LeastControl:
    def excess(residual: Tensor) -> float:
        return float(residual.norm()) / 0.01

    search = LeastControlSearch(Known(stuck), excess, 1e-4, 200, lambda *heard: None)
    return search.minimized(torch.zeros(3, dtype=torch.float64))


def test_what_can_be_reached_is() -> None:
    assert float(found(0.0).residual.norm()) <= 0.01


def test_what_is_out_of_reach_is_given_up_where_more_weight_promises_nothing() -> None:
    near, far = found(0.0), found(0.5)
    assert 0.5 <= float(far.residual.norm()) < 0.51
    # Three weights more are tried without that.
    assert far.runs <= near.runs
