# SPDX-License-Identifier: GPL-3.0-or-later
"""How vertices move in an explicit step, contact left out."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..compiled import compiled, is_compiled, shared_range, use_threads

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
        _move(x, v, pull, dt_over_mass.numpy(), retention.numpy(), step)
        return
    velocities.mul_(retention).addcmul_(gradient, dt_over_mass, value=-1.0)
    positions.add_(velocities, alpha=step)


@compiled(parallel=True)
def _move(
    positions: Any, velocities: Any, gradient: Any, dt_over_mass: Any, retention: Any, step: float
) -> None:
    for v in shared_range(len(retention)):
        for axis in range(3):
            velocity = retention[v] * velocities[axis, v] - dt_over_mass[v] * gradient[axis, v]
            velocities[axis, v] = velocity
            positions[axis, v] += step * velocity
