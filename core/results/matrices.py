# SPDX-License-Identifier: GPL-3.0-or-later
"""(3, 3, M) matrices, entry by entry: batches of small ones are slow in LAPACK."""

from __future__ import annotations

import torch
from torch import Tensor


def det3(matrices: Tensor) -> Tensor:
    """(M,) determinants."""
    x, y, z = matrices
    return (x * torch.linalg.cross(y, z, dim=0)).sum(0)


def less_mean(matrices: Tensor) -> Tensor:
    """The deviators A − tr(A)/3 I."""
    mean = trace3(matrices) / 3.0
    return matrices - torch.eye(3).to(matrices)[:, :, None] * mean


def trace3(matrices: Tensor) -> Tensor:
    """(M,) traces."""
    return matrices[0, 0] + matrices[1, 1] + matrices[2, 2]
