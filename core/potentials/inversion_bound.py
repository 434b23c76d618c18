# SPDX-License-Identifier: GPL-3.0-or-later
"""Bound the displacement of tets along a step before the first one is flat."""

from __future__ import annotations

import torch
from torch import Tensor

from ..math3.torch_matrices import cofactors3

# The largest step, relative to the one to the first flat tet, where the energy is infinite.
MARGIN_RATIO = 0.9
BISECTIONS = 30


def inversion_bound(edges: Tensor, change: Tensor) -> float:
    """The step size along ``change``, at most 1, that keeps every volume positive.

    A volume along a straight step is a cubic; its least value on an interval lies at the ends or
    where its slope is zero.

    Args:
        edges: (3, 3, M) edge vectors of tets of positive volume.
        change: (3, 3, M) that a whole step adds to them.
    """
    cubic = _determinant_cubic(edges, change)
    step_size = 1.0
    risky = cubic[:, ~(_cubic_minimum(cubic, step_size) > 0.0)]
    if risky.shape[1] == 0:
        return step_size
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        step_size = 0.5 * (low + high)
        if bool((_cubic_minimum(risky, step_size) > 0.0).all()):
            low = step_size
        else:
            high = step_size
    return MARGIN_RATIO * low


def _determinant_cubic(edges: Tensor, change: Tensor) -> Tensor:
    """(4, M) coefficients of det(edges + t change) by rising powers of t."""
    a, b = edges, change
    ab, ba = cofactors3(a), cofactors3(b)
    return torch.stack(
        [(a[0] * ab[0]).sum(0), (b * ab).sum((0, 1)), (a * ba).sum((0, 1)), (b[0] * ba[0]).sum(0)]
    )


def _cubic_minimum(cubic: Tensor, step_size: float) -> Tensor:
    """(M,) the least value for t between 0 and ``step_size``."""
    constant, linear, square, cube = cubic
    # The two roots of the derivative, each in its stable form.
    root = (square * square - 3.0 * cube * linear).clamp(min=0.0).sqrt()
    sum_of = -(square + torch.where(square >= 0.0, root, -root))
    first = (sum_of / (3.0 * cube)).nan_to_num(0.0).clamp(0.0, step_size)
    second = (linear / sum_of).nan_to_num(0.0).clamp(0.0, step_size)
    ends = torch.full_like(constant, step_size)
    values = [((cube * t + square) * t + linear) * t + constant for t in (first, second, ends)]
    return torch.minimum(torch.minimum(values[0], values[1]), torch.minimum(values[2], constant))
