# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of the volume ratios of tets on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .matrices import cofactors, determinant, tet_edges

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 10_000


def volume_ratios_on_cpu(positions: Tensor, corners: Tensor, volumes: Tensor) -> Tensor:
    """(M,) J = det F of tets with (4, M) int32 corners and (M,) rest volumes in m³."""
    ratios = torch.empty_like(volumes)
    use_threads(len(ratios), TETS_PER_THREAD)
    _volume_ratios(positions.numpy(), corners.numpy(), volumes.numpy(), ratios.numpy())
    return ratios


@compiled(parallel=True)
def _volume_ratios(positions: Any, corners: Any, volumes: Any, out: Any) -> None:
    for e in shared_range(corners.shape[1]):
        d = tet_edges(positions, corners, e)
        out[e] = determinant(d, cofactors(d)) / (6.0 * volumes[e])
