# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Hessian of a step leaves out of the derivative of friction."""

from __future__ import annotations

import torch
from torch import Tensor

from ..minimizers.incremental_potential import IncrementalPotential
from ..potentials import GroundFriction, TimeStep
from .gradients import Gradients
from .quantities import Quantities


class FrictionChange:
    """λ to (∂F/∂x)ᵀ λ − K λ, with friction F whose normal forces go with the positions, and the K
    that friction is in the Hessian, where they lag.

    Args:
        gradients: that have F on autograd's tape.
        objective: whose Hessian it is, at work on the step.
        positions: (3, N) where the step ended.
        step: with nothing on the tape.
        given: quantities.
    """

    def __init__(
        self,
        gradients: Gradients,
        objective: IncrementalPotential,
        positions: Tensor,
        step: TimeStep,
        given: Quantities,
    ) -> None:
        self._friction = next(p for p in objective.potentials if isinstance(p, GroundFriction))
        displacement = self._friction.displacement(positions)
        self._stiffness = self._friction.second_derivative(displacement)
        plain = {name: own.detach() for name, own in given.items()}
        with torch.enable_grad():
            self._positions = positions.detach().requires_grad_()
            self._force = gradients.friction(self._positions, step, plain)
        self._free = objective.system.free

    def __call__(self, multiplier: Tensor) -> Tensor:
        assert isinstance(self._force, Tensor)
        (exact,) = torch.autograd.grad(self._force, self._positions, multiplier, retain_graph=True)
        points, own = self._friction.points, torch.zeros_like(multiplier)
        moved = points.gather(multiplier[:2].contiguous())
        points.add((self._stiffness * moved).sum(1), own[:2])
        return (exact - own) * self._free
