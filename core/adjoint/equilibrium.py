# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of an equilibrium."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..errors import InstabilityError
from ..minimizers.equilibrium import STICK_STEP_S
from ..minimizers.incremental_potential import IncrementalPotential
from ..potentials import TimeStep
from ..state import State
from ..system import System
from .gradients import Gradients
from .implicit_run import TransposedSolve
from .quantities import Quantities
from .tape import TapeForces


def field_change(
    system: System, positions: Tensor, step: TimeStep, quantities: Quantities, frame: int
) -> Callable[[Tensor], Tensor] | None:
    """The map from (3, N) λ to (∂F/∂x)ᵀ λ − K λ, with the forces F of fields at rest and their part
    K of the Hessian; None where fields are the same everywhere.

    Args:
        system: the system of the fields.
        positions: (3, N) of the equilibrium.
        step: a static one that begins there.
        quantities: values by name, on autograd's tape or off it.
        frame: after which it was looked for.
    """
    forces, plain = TapeForces(system), {name: value.detach() for name, value in quantities.items()}
    with torch.enable_grad():
        at = positions.detach().requires_grad_()
        exact = forces.rate(at, torch.zeros_like(positions), plain, frame, 0.0)
        force = exact - forces.step_gradient(at, step, plain, frame, 0.0)
    if not isinstance(force, Tensor) or not force.requires_grad:
        return None
    pull: Tensor = force

    def change(multiplier: Tensor) -> Tensor:
        (change_of_force,) = torch.autograd.grad(pull, at, multiplier, retain_graph=True)
        return change_of_force * system.free

    return change


_RUBS = (
    "{}: an equilibrium with frictional contact has no gradient. Friction can hold a body in many "
    "places, and its path decides which one. Set the friction of the ground, of contact and of "
    "bodies to 0, or simulate."
)


class EquilibriumAdjoint:
    """With G(x, p) = 0, the gradient of all energies, ∂L/∂p = −(∂G/∂p)ᵀ λ with H λ = ∂L/∂x. It does
    not depend on where a body came from.

    Args:
        system: that was solved for.
        state: the equilibrium.
    """

    def __init__(self, system: System, state: State) -> None:
        self._system, self._state = system, state
        self._objective = IncrementalPotential(system, with_contact=False)
        self._gradients = Gradients(system, solved=True)

    def pull_back(self, upstream: Tensor, quantities: Quantities) -> dict[str, Tensor]:
        """The gradient by the quantities that require grad, from the (3, N) one by positions."""
        system, objective, state = self._system, self._objective, self._state
        positions = state.positions.detach()
        system.go_to(state.frame, 0.0)
        # Inertia is negligible.
        objective.begin_static_step(positions, 1e9 * STICK_STEP_S, STICK_STEP_S)
        solve = TransposedSolve(objective)
        step = TimeStep(positions, positions, 1.0, 1.0, is_static=True)
        contact = self._gradients.contact
        if contact is not None:
            contact.begin(positions, step, quantities, state.frame, 0.0)
        solve.prepare(positions, contact)
        if self._gradients.has_friction(positions, quantities):
            raise InstabilityError(_RUBS.format(system.names))
        more = field_change(system, positions, step, quantities, state.frame)
        multiplier = solve.solve(upstream * system.free, more, "the equilibrium")
        names = [name for name, value in quantities.items() if value.requires_grad]
        with torch.enable_grad():
            whole = self._pinned_on_tape(positions, quantities)
            gradient = self._gradients.step_gradient(whole, step, quantities, state.frame, 0.0)
            total = (whole * upstream).sum() - (gradient * multiplier).sum()
            if not total.requires_grad:
                return {}
            parts = torch.autograd.grad(total, [quantities[n] for n in names], allow_unused=True)
        return {name: part for name, part in zip(names, parts, strict=True) if part is not None}

    def _pinned_on_tape(self, positions: Tensor, quantities: Quantities) -> Tensor:
        system, pins = self._system, self._system.moving_pins
        # Pins without motion stay at their start.
        whole = torch.where(system.free, positions, quantities["positions"])
        if pins is None:
            return whole
        at = pins.path.with_samples(quantities["pins"]).at(self._state.frame, 0.0)
        return whole.index_copy(1, pins.vertices, at)
