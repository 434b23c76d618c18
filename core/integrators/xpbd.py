# SPDX-License-Identifier: GPL-3.0-or-later
"""Extended position-based dynamics, the method of games: always stable, and too soft at long
steps.

See docs/physics.md for its limits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..errors import SceneError
from ..materials import Material, StableNeoHookean, StVenantKirchhoff, label_of
from ..potentials import TargetVolume
from ..scene.integrator_table import INTEGRATORS
from ..system import System
from ..xpbd import Constraints, GreenStrains, NeoHookeanConstraints
from .explicit_step import ExplicitStep
from .explicit_stepper import ExplicitStepper, refuse_contact
from .fixed_step_integrator import FixedStepIntegrator

# The default: about 2 ms at 24 frames a second.
SUBSTEPS = 20

_CONSTRAINTS: dict[type[Material], type[Constraints]] = {
    StableNeoHookean: NeoHookeanConstraints,
    StVenantKirchhoff: GreenStrains,
}


@dataclass(frozen=True)
class XPBD(FixedStepIntegrator):
    """x̃ = x + h (e^(−αh) v + σ g) with σ = (1 − e^(−αh))/α, one Gauss–Seidel pass over the
    constraints of a step of √(hσ) from there, v' = (x' − x)/h, then contact. α is the damping.

    No step is too long for it. A body is the softer the longer they are, until its stiffness has
    little to do with Young's modulus.

    Source: Macklin et al., "Small Steps in Physics Simulation", Symposium on Computer Animation
    2019: one iteration a step, so that multipliers begin at zero.
    """

    label = INTEGRATORS["xpbd"].label
    # A body that is too soft takes up more energy than the work on it, and is still stable.
    has_bounded_energy = False

    def stepper(self, system: System, substeps: int | None) -> ExplicitStepper:
        refuse_contact(system, self.label)
        _check(system)
        return ExplicitStepper(self, system, substeps or SUBSTEPS, adapts=False)

    def make_step(self, system: System, step: float) -> ExplicitStep:
        return _XPBDStep(system, step)


class _XPBDStep(ExplicitStep):
    def __init__(self, system: System, step: float) -> None:
        self._constraints = [
            _CONSTRAINTS[type(part.material)](part, system.inverse_mass)
            for part in system.elasticities
        ]
        # Constraints respond to the gravity at the end of the step, as in implicit Euler.
        super().__init__(system, step, nodes=(1.0,))
        self._start = torch.zeros_like(self.positions)
        self._volumes = [part for part in system.forces if isinstance(part, TargetVolume)]
        # The forces, and their sum.
        self._forces = [part for part in system.forces if part not in self._volumes]
        self._pull = torch.zeros_like(self.positions)

    def set_step(self, step: float) -> None:
        super().set_step(step)
        impulse_times = self._impulse_times
        self._fall = impulse_times * self._system.free_acceleration
        self._dt_over_mass = impulse_times * self._system.inverse_mass
        for part, constraints in zip(self._system.elasticities, self._constraints, strict=True):
            constraints.set_step(part.stiffness * (step * impulse_times))

    def _move(self) -> None:
        system, positions, velocities = self._system, self.positions, self.velocities
        if system.moving_pins is not None:
            # Only the work of pins needs it.
            self._gradient.zero_()
            system.add_gradient(positions, self._gradient)
        self._start.copy_(positions)
        if not system.gravity.is_constant:
            torch.mul(self._impulse_times, system.free_acceleration, out=self._fall)
        if self._forces:
            self._pull.zero_()
            for force in self._forces:
                # Velocity-dependent forces use the velocities after the constraints.
                if force.is_dissipative:
                    force.add_rate_forces(positions, velocities, self._pull)
                else:
                    force.add_gradient(positions, self._pull)
        velocities.mul_(self._retention).add_(self._fall)
        if self._forces:
            velocities.sub_(self._pull.mul_(self._dt_over_mass))
        positions.add_(velocities, alpha=self.step)
        for part, constraints in zip(system.elasticities, self._constraints, strict=True):
            if not part.is_constant:
                constraints.follow_rest_shape(part)
                # A longer step makes constraints stiffer.
                constraints.set_step(part.stiffness * (self.step * self._impulse_times))
            constraints.relax(positions)
        for volume in self._volumes:
            volume.relax(positions, self.step * self._dt_over_mass)
        torch.sub(positions, self._start, out=velocities)
        velocities.mul_(1.0 / self.step)


def _check(system: System) -> None:
    for body in system.bodies:
        material = body.material
        if type(material) not in _CONSTRAINTS:
            raise SceneError(
                f"{body.name}: XPBD has no constraints for the model {label_of(material)}. "
                "Choose Stable Neo-Hookean or St. Venant–Kirchhoff, or another integrator."
            )
        if isinstance(material, StVenantKirchhoff) and material.compression_resistance > 0.0:
            raise SceneError(
                f"{body.name}: XPBD has no constraint for St. Venant–Kirchhoff's compression "
                "resistance. Set it to 0, or choose another integrator."
            )
        if body.plasticity is not None:
            raise SceneError(
                f"{body.name}: XPBD does not support plasticity. Leave it out, or choose another "
                "integrator."
            )
        if body.pose is not None:
            raise SceneError(
                f"{body.name}: XPBD keeps the rest shape of the start, and its goals are to be "
                "sag-free. Choose another integrator."
            )
        if body.is_viscous:
            raise SceneError(
                f"{body.name}: XPBD supports no loss factor, no stiffness damping and no "
                "viscosity. Set all of them to 0, or choose another integrator."
            )
