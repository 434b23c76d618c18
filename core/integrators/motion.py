# SPDX-License-Identifier: GPL-3.0-or-later
"""How vertices move in an explicit step, contact left out."""

from __future__ import annotations

from torch import Tensor

from ..compiled import is_compiled, use_threads
from ..kernels.explicit_motion import advance_vertices

#: Fewer vertices than this a thread cost more to hand out than to move.
VERTICES_PER_THREAD = 8000


def move(
    positions: Tensor,
    velocities: Tensor,
    gradient: Tensor,
    dt_over_mass: Tensor,
    retention: Tensor,
    step: float,
) -> None:
    """v ← r v − k ∇E, x ← x + step v, in place.

    Args:
        positions, velocities, gradient: (3, N) in metres, m/s and newtons.
        dt_over_mass: (N,) k, the step over mass, in s/kg.
        retention: (N,) r, the share of the velocity that damping leaves.
        step: in seconds.
    """
    if is_compiled() and not positions.is_cuda:
        use_threads(len(retention), VERTICES_PER_THREAD)
        x, v, pull = positions.numpy(), velocities.numpy(), gradient.numpy()
        advance_vertices(x, v, pull, dt_over_mass.numpy(), retention.numpy(), step)
        return
    velocities.mul_(retention).addcmul_(gradient, dt_over_mass, value=-1.0)
    positions.add_(velocities, alpha=step)
