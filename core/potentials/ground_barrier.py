# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground as a smooth energy."""

from __future__ import annotations

from torch import Tensor

from ..barrier import barrier, barrier_slope
from .potential import Potential


class GroundBarrier(Potential):
    """Σ w d̂ β(d/d̂) over the surface vertices, d their height above the ground.

    Args:
        vertices: (S,) indices of the vertices that touch the ground.
        weights: (S,) barrier stiffness in Pa times vertex area in m², so in newtons.
        height: of the ground, in metres.
        distance: d̂ in metres, at which the barrier begins to act.
    """

    def __init__(self, vertices: Tensor, weights: Tensor, height: float, distance: float) -> None:
        self.vertices, self.weights = vertices, weights
        self.height, self.distance = height, distance

    def energy(self, positions: Tensor) -> Tensor:
        return (self.weights * barrier(self._ratio(positions))).sum() * self.distance

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out[2].index_add_(0, self.vertices, self.weights * barrier_slope(self._ratio(positions)))

    def _ratio(self, positions: Tensor) -> Tensor:
        return (positions[2, self.vertices] - self.height) / self.distance
