# SPDX-License-Identifier: GPL-3.0-or-later
"""Explicit Runge–Kutta schemes: exact where motion is smooth, several forces a step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor

from ..scene.integrator_table import INTEGRATORS
from ..system import System
from .damping import impulse_times, velocity_retention
from .explicit_scheme import ExplicitScheme
from .stability import Spectrum
from .substep import Substep

# What the energy of the fastest vibration may grow by in a second at steps chosen for it.
GROWTH = 0.1


@dataclass(frozen=True)
class Midpoint(ExplicitScheme):
    """A whole step with the velocity and force of half a step, of order 2; contact after it.

    The energy of an undamped vibration of frequency ω grows by (hω)⁴/4 a step: no step is short
    enough for ever, and steps that stay calm are far shorter than those of symplectic Euler.

    Source: Hairer, Nørsett and Wanner, "Solving Ordinary Differential Equations I", 2nd edition,
    section II.1.
    """

    label = INTEGRATORS["midpoint"].label
    order = 2
    #: Of each stage, its time in the step and what it counts for at the end.
    NODES: ClassVar = (0.0, 1.0 / 2.0)
    WEIGHTS: ClassVar = (0.0, 1.0)

    def substep(self, system: System, step: float) -> Substep:
        return _RungeKuttaSubstep(system, step, self.NODES, self.WEIGHTS)

    def longest_step(self, spectrum: Spectrum) -> float:
        return 2.0 / spectrum.fastest

    def good_step(self, spectrum: Spectrum) -> float:
        # Viscosity may take what the scheme adds.
        lost = GROWTH + spectrum.viscous_rate
        calm = (4.0 * lost / spectrum.frequency**4) ** (1.0 / 3.0)
        return min(calm, super().good_step(spectrum))


@dataclass(frozen=True)
class RungeKutta4(ExplicitScheme):
    """The classical scheme of order 4: four forces a step; contact after it.

    Source: Hairer, Nørsett and Wanner, "Solving Ordinary Differential Equations I", 2nd edition,
    section II.1; its stability region, the second volume, section IV.2.
    """

    label = INTEGRATORS["runge_kutta4"].label
    order = 4
    NODES: ClassVar = (0.0, 1.0 / 2.0, 1.0 / 2.0, 1.0)
    WEIGHTS: ClassVar = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)

    def substep(self, system: System, step: float) -> Substep:
        return _RungeKuttaSubstep(system, step, self.NODES, self.WEIGHTS)

    def longest_step(self, spectrum: Spectrum) -> float:
        # On the imaginary axis it is stable up to √8, in the left half plane up to 2.6 at least.
        return (2.6 if spectrum.viscous_rate > 0.0 else 8.0**0.5) / spectrum.fastest


class _RungeKuttaSubstep(Substep):
    """Schemes whose every stage rests on the one before alone, applied to x and e^(αt) (v − ṽ), ṽ
    the velocity that decays under the acceleration at the start of the step: damping in proportion
    to mass and terminal speeds are exact (Krogstad, "Generalized Integrating Factor Methods for
    Stiff PDEs", Journal of Computational Physics 203, 2005).

    What obstacles push back with is foreseen by a step of symplectic Euler and held through the
    stages, else vertices that carry a body would sink within each step; at its end it is decided
    anew.
    """

    def __init__(
        self, system: System, step: float, nodes: tuple[float, ...], weights: tuple[float, ...]
    ) -> None:
        super().__init__(system, step, nodes, weights)
        self._pull = -system.inverse_mass
        self._stage_gradient, self._acceleration, self._reaction = self._buffers(3)
        self._stage, self._change = self._buffers(4), self._buffers(2)

    def _buffers(self, count: int) -> list[Tensor]:
        return [torch.zeros_like(self.positions) for _ in range(count)]

    def set_step(self, step: float) -> None:
        super().set_step(step)
        system, nodes = self._system, self._nodes
        between = [after - before for before, after in pairwise(nodes)]
        #: Of each stage but the first: what is left of velocities, the seconds that the first
        #: acceleration acts over, those that the surplus of the stage before over it does, and
        #: those that its own does by the end.
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
        self._accelerate(self.positions, self.velocities, self._gradient)
        if not self._system.has_obstacles:
            self._take_stages()
            return
        self._foresee_reaction()
        self._acceleration.add_(self._reaction)
        self._take_stages(self._reaction)
        # Ends as symplectic Euler would, for obstacles to do again what they did to that.
        self._reaction.mul_(self._impulse_times)
        self.positions.add_(self._reaction, alpha=-self.step)
        self.velocities.sub_(self._reaction)

    def _foresee_reaction(self) -> None:
        at, going, met, _ = self._stage
        torch.mul(self.velocities, self._retention, out=going)
        going.addcmul_(self._acceleration, self._impulse_times)
        torch.add(self.positions, going, alpha=self.step, out=at)
        met.copy_(going)
        self._meet_obstacles(at, met)
        torch.sub(met, going, out=self._reaction)
        self._reaction.div_(self._impulse_times)

    def _take_stages(self, reaction: Tensor | None = None) -> None:
        step, (moved, gained) = self.step, self._change
        at, going, surplus, first = self._stage
        first.copy_(self._acceleration)
        torch.mul(self.velocities, self._weights[0] * step, out=moved)
        torch.mul(self.velocities, self._retention, out=gained)
        gained.addcmul_(first, self._impulse_times)
        velocities = self.velocities
        surplus.zero_()
        stages = zip(self._nodes[1:], self._weights[1:], self._stages, strict=True)
        for index, (node, weight, (retention, impulse, before, after)) in enumerate(stages, 1):
            torch.add(self.positions, velocities, alpha=node * step, out=at)
            torch.mul(self.velocities, retention, out=going)
            velocities = going.addcmul_(first, impulse).addcmul_(surplus, before)
            self._use_gravity(index)
            self._accelerate(at, velocities, self._stage_gradient)
            if reaction is not None:
                self._acceleration.add_(reaction)
            torch.sub(self._acceleration, first, out=surplus)
            moved.add_(velocities, alpha=weight * step)
            gained.addcmul_(surplus, after)
        self.positions.add_(moved)
        self.velocities.copy_(gained)

    def _accelerate(self, positions: Tensor, velocities: Tensor, gradient: Tensor) -> None:
        gradient.zero_()
        self._system.add_forces(positions, velocities, gradient)
        torch.mul(self._pull, gradient, out=self._acceleration)
