# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Hessian of an equilibrium leaves out of the derivative of force fields."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..potentials import TimeStep
from ..system import System
from .quantities import Quantities
from .tape_forces import TapeForces


def field_change(
    system: System, positions: Tensor, step: TimeStep, given: Quantities, frame: int
) -> Callable[[Tensor], Tensor] | None:
    """(3, N) λ to (∂F/∂x)ᵀ λ − K λ, with what fields pull back at rest, F, and the K of what of
    their slope does, which is in the Hessian; None where fields are the same everywhere.

    Args:
        system: whose fields they are.
        positions: (3, N) of the equilibrium.
        step: a static one that begins there.
        given: quantities.
        frame: after which it was looked for.
    """
    forces, plain = TapeForces(system), {name: own.detach() for name, own in given.items()}
    with torch.enable_grad():
        at = positions.detach().requires_grad_()
        exact = forces.rate(at, torch.zeros_like(positions), plain, frame, 0.0)
        force = exact - forces.of_step(at, step, plain, frame, 0.0)
    if not isinstance(force, Tensor) or not force.requires_grad:
        return None
    own: Tensor = force

    def change(multiplier: Tensor) -> Tensor:
        (found,) = torch.autograd.grad(own, at, multiplier, retain_graph=True)
        return found * system.free

    return change
