# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core.adjoint.tape_contact import ClosestPoints, barrier_hessians
from supple.core.math3.symmetric_functions import exponential, logarithm, positive_part
from supple.tests.core.potentials.contact.close_parts import REACH, STIFFNESS
from supple.tests.core.potentials.contact.test_normal_collisions import (
    ALL_KINDS,
    exact_hessian,
    one,
)


@pytest.mark.parametrize("area_weighted", [False, True], ids=["original", "by area"])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_second_derivatives_are_those_of_ipctk(kind: str, area_weighted: bool) -> None:
    found = one(kind, area_weighted, 0.01)
    pairs = ClosestPoints(found.collisions)
    distances = torch.full((len(pairs),), REACH, dtype=torch.float64)
    scales = pairs.weights * STIFFNESS * (distances if area_weighted else distances**4)
    corners = torch.as_tensor(found.points[found.collisions.vertices])
    (own,) = barrier_hessians(pairs, corners, distances, scales).numpy()
    whole = np.zeros((3 * len(found.points),) * 2)
    places = (3 * found.collisions.vertices[0][:, None] + np.arange(3)).ravel()
    # Where there are fewer than four vertices, the last is there more than once.
    np.add.at(whole, np.ix_(places, places), own)
    exact = exact_hessian(found, kind.removesuffix(" that are almost parallel"), area_weighted)
    np.testing.assert_allclose(whole, exact, atol=1e-7 * abs(exact).max())


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
