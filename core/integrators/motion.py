# SPDX-License-Identifier: GPL-3.0-or-later
"""How vertices move in an explicit step, contact left out."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..compiled import compiled, is_compiled, shared_range, use_threads

#: Fewer vertices than this a thread cost more to hand out than to move.
VERTICES_PER_THREAD = 8000


def move(
    positions: Tensor, velocities: Tensor, gradient: Tensor, kick: Tensor, keep: Tensor, step: float
) -> None:
    """v ← keep v − kick ∇E, x ← x + step v, in place.

    Args:
        positions, velocities, gradient: (3, N) in metres, m/s and newtons.
        kick: (N,) step over mass, in s/kg.
        keep: (N,) share of the velocity that damping leaves.
        step: in seconds.
    """
    if is_compiled() and not positions.is_cuda:
        use_threads(len(keep), VERTICES_PER_THREAD)
        x, v, pull = positions.numpy(), velocities.numpy(), gradient.numpy()
        _move(x, v, pull, kick.numpy(), keep.numpy(), step)
        return
    velocities.mul_(keep).addcmul_(gradient, kick, value=-1.0)
    positions.add_(velocities, alpha=step)


@compiled(parallel=True)
def _move(
    positions: Any, velocities: Any, gradient: Any, kick: Any, keep: Any, step: float
) -> None:
    for v in shared_range(len(keep)):
        for axis in range(3):
            velocity = keep[v] * velocities[axis, v] - kick[v] * gradient[axis, v]
            velocities[axis, v] = velocity
            positions[axis, v] += step * velocity
