# SPDX-License-Identifier: GPL-3.0-or-later
"""Explicit integrators: symplectic Euler, midpoint and Runge–Kutta 4."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor

from ..errors import InstabilityError, SceneError
from ..scene.integrator_table import INTEGRATORS
from ..system import System
from .contact_failures import unsupported_contact_reason
from .explicit_stepper import (
    ExplicitStep,
    ExplicitStepper,
    FixedStepIntegrator,
    more_substeps,
    refuse_stiff_forces,
    refuse_too_many,
    unstable_step_message,
)
from .integrator import move
from .mesh_contact_step import MeshContactStep
from .stability import Spectrum, impulse_times, spectrum, spectrum_at, velocity_retention

# Default steps are this fraction of the stability limit at rest: compressed tets are stiffer.
SAFETY_FACTOR = 0.5
# The same of the limit where bodies are deformed, once that is known.
DEFORMED_SAFETY_FACTOR = 0.8


class ExplicitIntegrator(FixedStepIntegrator):
    """An integrator that takes its steps from forces alone, without solving anything."""

    #: Its error at a given time is proportional to this power of the step.
    order: ClassVar[int]

    def stepper(self, system: System, substeps: int | None) -> ExplicitStepper:
        refuse_stiff_forces(system, self.label)
        if not system.scene.couples_bodies:
            return self.contact_free_stepper(system, substeps)
        if why := unsupported_contact_reason(system):
            raise SceneError(f"{system.names}: {self.label} {why}")
        contact = MeshContactStep(system)
        return self._stepper(system, substeps, contact=contact)

    def contact_free_stepper(
        self, system: System, substeps: int | None, records_positions: bool = False
    ) -> ExplicitStepper:
        """``stepper`` of a system without its contact.

        Args:
            records_positions: whether it samples positions through its last frame.
        """
        return self._stepper(system, substeps, records_positions)

    def _stepper(
        self,
        system: System,
        substeps: int | None,
        records_positions: bool = False,
        contact: MeshContactStep | None = None,
    ) -> ExplicitStepper:
        vibrations, options = spectrum(system), (records_positions, contact)
        longest = system.frame_times.longest
        if substeps is None:
            needed = max(1, math.ceil(longest / self.default_step(vibrations)))
            refuse_too_many(system, self.label, needed)
            deformed = None if contact is None else partial(self.deformed_step, system)
            return ExplicitStepper(self, system, needed, True, *options, deformed)
        limit = self.stability_limit(vibrations)
        if longest / substeps > limit:
            cure = more_substeps(math.ceil(longest / limit))
            raise InstabilityError(unstable_step_message(system, substeps, "", cure))
        return ExplicitStepper(self, system, substeps, False, *options)

    @abstractmethod
    def stability_limit(self, spectrum: Spectrum) -> float:
        """In seconds; longer ones are known to diverge."""

    def deformed_step(self, system: System, positions: Tensor) -> float:
        """In seconds, the longest one where bodies are deformed as they are at (3, N) positions."""
        return DEFORMED_SAFETY_FACTOR * self.stability_limit(spectrum_at(system, positions))

    def default_step(self, spectrum: Spectrum) -> float:
        """The step without a choice of the user, in seconds."""
        return SAFETY_FACTOR * self.stability_limit(spectrum)


@dataclass(frozen=True)
class SymplecticEuler(ExplicitIntegrator):
    """v ← e^(−αh) v − M⁻¹ ∇E(x) (1 − e^(−αh))/α, x ← x + h v, α the damping; then contact.

    Source: Hairer, Lubich and Wanner, "Geometric Numerical Integration", 2nd edition, section I.5.
    """

    label = INTEGRATORS["symplectic_euler"].label
    order = 1

    def make_step(self, system: System, step: float) -> ExplicitStep:
        return _SymplecticStep(system, step)

    def stability_limit(self, spectrum: Spectrum) -> float:
        # x″ + κx′ + ω²x = 0 with the old velocity in the damping is stable for h²ω² + 2hκ < 4.
        rate, frequency = spectrum.viscous_rate, spectrum.frequency
        return 4.0 / (rate + math.hypot(rate, 2.0 * frequency))


class _SymplecticStep(ExplicitStep):
    def set_step(self, step: float) -> None:
        super().set_step(step)
        self._dt_over_mass = self._impulse_times * self._system.inverse_mass

    def _move(self) -> None:
        gradient = self._gradient
        gradient.zero_()
        self._system.add_forces(self.positions, self.velocities, gradient, self._driving)
        move(
            self.positions,
            self.velocities,
            gradient,
            self._dt_over_mass,
            self._retention,
            self.step,
        )


# The tolerated energy growth of the fastest vibration in a second, for the step size.
ENERGY_GROWTH_PER_S = 0.1


@dataclass(frozen=True)
class Midpoint(ExplicitIntegrator):
    """A whole step with the velocity and force of half a step, of order 2; contact after it.

    The energy of an undamped vibration of frequency ω grows by (hω)⁴/4 a step: no step is short
    enough for ever, and steps with little growth are far shorter than those of symplectic Euler.

    Source: Hairer, Nørsett and Wanner, "Solving Ordinary Differential Equations I", 2nd edition,
    section II.1.
    """

    label = INTEGRATORS["midpoint"].label
    order = 2
    #: The time of each stage in the step, and its weight at the end.
    NODES: ClassVar = (0.0, 1.0 / 2.0)
    WEIGHTS: ClassVar = (0.0, 1.0)

    def make_step(self, system: System, step: float) -> ExplicitStep:
        return _RungeKuttaStep(system, step, self.NODES, self.WEIGHTS)

    def stability_limit(self, spectrum: Spectrum) -> float:
        return 2.0 / spectrum.fastest

    def default_step(self, spectrum: Spectrum) -> float:
        # Viscosity may dissipate the energy that the method adds.
        growth = ENERGY_GROWTH_PER_S + spectrum.viscous_rate
        bounded = (4.0 * growth / spectrum.frequency**4) ** (1.0 / 3.0)
        return min(bounded, super().default_step(spectrum))


@dataclass(frozen=True)
class RungeKutta4(ExplicitIntegrator):
    """The classical method of order 4: four forces a step; contact after it.

    Source: Hairer, Nørsett and Wanner, "Solving Ordinary Differential Equations I", 2nd edition,
    section II.1; its stability region, the second volume, section IV.2.
    """

    label = INTEGRATORS["runge_kutta4"].label
    order = 4
    NODES: ClassVar = (0.0, 1.0 / 2.0, 1.0 / 2.0, 1.0)
    WEIGHTS: ClassVar = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)

    def make_step(self, system: System, step: float) -> ExplicitStep:
        return _RungeKuttaStep(system, step, self.NODES, self.WEIGHTS)

    def stability_limit(self, spectrum: Spectrum) -> float:
        # On the imaginary axis it is stable up to √8, in the left half plane up to 2.6 at least.
        return (2.6 if spectrum.viscous_rate > 0.0 else 8.0**0.5) / spectrum.fastest


class _RungeKuttaStep(ExplicitStep):
    """Schemes whose every stage rests on the one before alone, applied to x and e^(αt) (v − ṽ), ṽ
    the velocity that decays under the acceleration at the start of the step: damping in proportion
    to mass and terminal speeds are exact (Krogstad, "Generalized Integrating Factor Methods for
    Stiff PDEs", Journal of Computational Physics 203, 2005).

    The contact reaction of obstacles is predicted by a step of symplectic Euler and kept constant
    through the stages, else vertices that carry a body would sink within each step; at the end of
    the step it is found again.
    """

    def __init__(
        self, system: System, step: float, nodes: tuple[float, ...], weights: tuple[float, ...]
    ) -> None:
        super().__init__(system, step, nodes, weights)
        self._negative_inverse_mass = -system.inverse_mass
        self._stage_gradient, self._acceleration, self._reaction = self._buffers(3)
        self._stage, self._change = self._buffers(4), self._buffers(2)

    def _buffers(self, count: int) -> list[Tensor]:
        return [torch.zeros_like(self.positions) for _ in range(count)]

    def set_step(self, step: float) -> None:
        super().set_step(step)
        system, nodes = self._system, self._nodes
        between = [after - before for before, after in pairwise(nodes)]
        #: For each stage but the first: the retained part of velocities, the time over which the
        #: first acceleration acts, the time for the surplus of the stage before over it, and the
        #: time for the stage's own surplus by the end.
        self._stages = [
            (
                velocity_retention(system, node * step),
                impulse_times(system, node * step),
                node * step * velocity_retention(system, since * step),
                weight * step * velocity_retention(system, (1.0 - node) * step),
            )
            for node, since, weight in zip(nodes[1:], between, self._weights[1:], strict=True)
        ]

    def _move(self) -> None:
        self._accelerate(self.positions, self.velocities, self._gradient, self._driving)
        if self.contact is not None or not self._system.has_obstacles:
            # Contact acts once a step, from its start, with the motion of colliders.
            self._evaluate_stages()
            return
        self._predict_contact_reaction()
        self._acceleration.add_(self._reaction)
        self._evaluate_stages(self._reaction)
        # The step ends as symplectic Euler would, so that obstacles repeat the predicted change.
        self._reaction.mul_(self._impulse_times)
        self.positions.add_(self._reaction, alpha=-self.step)
        self.velocities.sub_(self._reaction)

    def _predict_contact_reaction(self) -> None:
        stage_positions, stage_velocities, collided_velocities, _ = self._stage
        torch.mul(self.velocities, self._retention, out=stage_velocities)
        stage_velocities.addcmul_(self._acceleration, self._impulse_times)
        torch.add(self.positions, stage_velocities, alpha=self.step, out=stage_positions)
        collided_velocities.copy_(stage_velocities)
        self._collide_with_obstacles(stage_positions, collided_velocities)
        torch.sub(collided_velocities, stage_velocities, out=self._reaction)
        self._reaction.div_(self._impulse_times)

    def _evaluate_stages(self, reaction: Tensor | None = None) -> None:
        step, (displacement, end_velocities) = self.step, self._change
        stage_positions, stage_velocities, surplus, first = self._stage
        first.copy_(self._acceleration)
        torch.mul(self.velocities, self._weights[0] * step, out=displacement)
        torch.mul(self.velocities, self._retention, out=end_velocities)
        end_velocities.addcmul_(first, self._impulse_times)
        velocities = self.velocities
        surplus.zero_()
        stages = zip(self._nodes[1:], self._weights[1:], self._stages, strict=True)
        for index, (node, weight, (retention, impulse, before, after)) in enumerate(stages, 1):
            torch.add(self.positions, velocities, alpha=node * step, out=stage_positions)
            torch.mul(self.velocities, retention, out=stage_velocities)
            velocities = stage_velocities.addcmul_(first, impulse).addcmul_(surplus, before)
            self._set_stage(index)
            self._accelerate(stage_positions, velocities, self._stage_gradient)
            if reaction is not None:
                self._acceleration.add_(reaction)
            torch.sub(self._acceleration, first, out=surplus)
            displacement.add_(velocities, alpha=weight * step)
            end_velocities.addcmul_(surplus, after)
        self.positions.add_(displacement)
        self.velocities.copy_(end_velocities)

    def _accelerate(
        self, positions: Tensor, velocities: Tensor, gradient: Tensor, driving: Tensor | None = None
    ) -> None:
        gradient.zero_()
        self._system.add_forces(positions, velocities, gradient, driving)
        torch.mul(self._negative_inverse_mass, gradient, out=self._acceleration)
        if self.record is not None:
            self.record.accelerates(self._acceleration)
