# SPDX-License-Identifier: GPL-3.0-or-later
"""Symplectic Euler: the cheapest integrator that keeps the energy of an undamped body bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..scene.integrator_table import INTEGRATORS
from ..system import System
from .explicit_integrator import ExplicitIntegrator
from .explicit_step import ExplicitStep
from .integrator import move
from .stability import Spectrum


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
