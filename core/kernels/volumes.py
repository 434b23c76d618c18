# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of the volume ratios of tets on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads

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
    x, y, z = positions[0], positions[1], positions[2]
    for e in shared_range(corners.shape[1]):
        v0, v1, v2, v3 = corners[0, e], corners[1, e], corners[2, e], corners[3, e]
        x1, y1, z1 = x[v1] - x[v0], y[v1] - y[v0], z[v1] - z[v0]
        x2, y2, z2 = x[v2] - x[v0], y[v2] - y[v0], z[v2] - z[v0]
        x3, y3, z3 = x[v3] - x[v0], y[v3] - y[v0], z[v3] - z[v0]
        determinant = x1 * (y2 * z3 - z2 * y3) + y1 * (z2 * x3 - x2 * z3) + z1 * (x2 * y3 - y2 * x3)
        out[e] = determinant / (6.0 * volumes[e])
