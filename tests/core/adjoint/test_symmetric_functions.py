# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core.adjoint.tape import exponential, logarithm, positive_part


@pytest.mark.parametrize("function", [exponential, logarithm, positive_part])
@pytest.mark.parametrize("values", [(0.5, 1.2, 2.0), (1.0, 1.0, 1.7), (1.0, 1.0, 1.0)])
def test_derivatives_are_finite_differences(function, values) -> None:
    random = torch.Generator().manual_seed(0)
    turn, _ = torch.linalg.qr(torch.randn(3, 3, generator=random, dtype=torch.float64))
    shift = 1.1 if function is positive_part else 0.0
    matrix = turn @ torch.diag(torch.tensor(values, dtype=torch.float64) - shift) @ turn.T
    change, weights = (torch.randn(3, 3, generator=random, dtype=torch.float64) for _ in range(2))
    change = change + change.T
    along = matrix.clone().requires_grad_()
    (found,) = torch.autograd.grad((function(along) * weights).sum(), along)
    h = 1e-6
    after, before = (function(matrix + sign * h * change) for sign in (1.0, -1.0))
    expected = ((after - before) * weights).sum() / (2.0 * h)
    assert float((found * change).sum()) == pytest.approx(float(expected), rel=1e-7)


def test_the_exponential_takes_the_logarithm_back() -> None:
    matrix = torch.tensor([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]]).double()
    torch.testing.assert_close(exponential(logarithm(matrix)), matrix)
