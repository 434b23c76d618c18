# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground's smooth barrier at the end of an explicit step.

Solved for the end of the step, it never limits the step, however stiff it is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import is_compiled
from ..kernels import obstacle_barrier as loops
from ..kernels.barrier import barrier_derivatives
from ..kernels.obstacle_contact import choose_threads
from ..potentials import GroundBarrier
from ..scene.friction import Coefficients
from .obstacle_step import ObstacleStep
from .surfaces import up


class BarrierStep(ObstacleStep):
    """Minimises ½ m (z − z̃)² / hσ + b(z), σ the time that forces change velocities over: the
    barrier acts implicitly, all else explicitly.

    Args:
        barrier: whose energy holds the vertices up.
        inverse_mass: (S,) of its vertices, in 1/kg.
        friction: (S,) tensors, of its vertices.
    """

    def __init__(
        self, barrier: GroundBarrier, inverse_mass: Tensor, friction: Coefficients
    ) -> None:
        super().__init__(barrier.vertices, friction)
        self._height, self._distances = barrier.height, barrier.distances
        self._stiffness = barrier.weights * inverse_mass / barrier.distances

    def _respond(
        self, points: Tensor, velocity: Tensor, step: float, impulse_times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        height = points[2]
        start = (height - self._height) / self._distances
        ratio = barrier_proximal(start, step * impulse_times * self._stiffness)
        lifted = torch.where(start < 1.0, self._height + ratio * self._distances, height)
        placed = torch.stack([points[0], points[1], lifted])
        return placed, up(points), (lifted - height) / step

    def _loop(
        self,
        positions: NDArray[Any],
        velocities: NDArray[Any],
        step: float,
        impulse_times: NDArray[Any],
    ) -> None:
        loops.apply_barrier(
            positions,
            velocities,
            self._vertices.numpy(),
            self._stiffness.numpy(),
            self._height,
            self._distances.numpy(),
            self._friction.static.numpy(),
            self._friction.kinetic.numpy(),
            step,
            impulse_times,
            smallest_ratio(self._stiffness.dtype),
        )


def barrier_proximal(start: Tensor, stiffness: Tensor) -> Tensor:
    """The root u in (0, 1) of u − start + stiffness β'(u) = 0, for start < 1.

    Without its logarithm the equation is quadratic, and its root lies below the true one; the
    function is concave, so Newton's method climbs from there without a safeguard.
    """
    if is_compiled() and not start.is_cuda:
        roots = torch.empty_like(start)
        choose_threads(len(start))
        loops.proximal_of_each(
            start.numpy(), stiffness.numpy(), smallest_ratio(start.dtype), roots.numpy()
        )
        return roots
    start = start.clamp(max=1.0)
    half = 2.0 * stiffness - start
    root = (half * half + 4.0 * stiffness * (1.0 - stiffness)).clamp(min=0.0).sqrt()
    ratio = torch.where(
        half > 0.0,
        2.0 * stiffness / (half + root),
        (root - half) / (2.0 * (1.0 - stiffness)).clamp(min=0.5),
    )
    ratio = ratio.clamp(min=smallest_ratio(ratio.dtype), max=1.0)
    for _ in range(loops.MAX_ITERATIONS):
        slope, curvature = barrier_derivatives(ratio)
        change = (ratio - start + stiffness * slope) / (1.0 + stiffness * curvature)
        ratio = (ratio - change).clamp(max=1.0)
    return ratio


@cache
def smallest_ratio(dtype: torch.dtype) -> float:
    """The least ratio that Newton's method starts from: its square still has an inverse."""
    return float(torch.finfo(dtype).tiny ** 0.25)
