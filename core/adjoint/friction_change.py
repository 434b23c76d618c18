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
        gradients: that have F on autograd's tape, and contact that has begun the step.
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
        self._contact = gradients.contact
        plain = {name: own.detach() for name, own in given.items()}
        with torch.enable_grad():
            self._positions = positions.detach().requires_grad_()
            force = torch.zeros_like(positions)
            if "height" in given:
                force = force + gradients.friction(self._positions, step, plain)
            if self._contact is not None and self._contact.rubs:
                force = force + self._contact.friction(self._positions, step, plain)
            self._force = force
        on_ground = (p for p in objective.potentials if isinstance(p, GroundFriction))
        self._friction = next(on_ground, None)
        if self._friction is not None:
            displacement = self._friction.displacement(positions)
            self._stiffness = self._friction.second_derivative(displacement)
        self._free = objective.system.free

    def __call__(self, multiplier: Tensor) -> Tensor:
        (exact,) = torch.autograd.grad(self._force, self._positions, multiplier, retain_graph=True)
        return (exact - self._lagged(multiplier)) * self._free

    def _lagged(self, multiplier: Tensor) -> Tensor:
        """(3, N) K λ."""
        own = torch.zeros_like(multiplier)
        if self._friction is not None:
            points = self._friction.points
            moved = points.gather(multiplier[:2].contiguous())
            points.add((self._stiffness * moved).sum(1), own[:2])
        if self._contact is not None and self._contact.rubs:
            own += self._contact.lagged_friction_product(multiplier)
        return own
