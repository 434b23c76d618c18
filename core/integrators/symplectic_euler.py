# SPDX-License-Identifier: GPL-3.0-or-later
"""Symplectic Euler: the cheapest scheme that keeps the energy of an undamped body bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..system import System
from .damping import kept
from .explicit_scheme import ExplicitScheme
from .motion import move
from .stability import Spectrum
from .substep import Substep


@dataclass(frozen=True)
class SymplecticEuler(ExplicitScheme):
    """v ← e^(−damping h) v − h M⁻¹ ∇E(x), x ← x + h v, then contact.

    Source: Hairer, Lubich and Wanner, "Geometric Numerical Integration", 2nd edition, section I.5.
    """

    label = "Symplectic Euler"
    order = 1

    def substep(self, system: System, step: float) -> Substep:
        return _SymplecticSubstep(system, step)

    def longest_step(self, spectrum: Spectrum) -> float:
        # Of x″ + κx′ + ω²x = 0 with the old velocity in the damping: h²ω² + 2hκ < 4.
        rate, frequency = spectrum.viscous_rate, spectrum.frequency
        return 4.0 / (rate + math.hypot(rate, 2.0 * frequency))


class _SymplecticSubstep(Substep):
    def set_step(self, step: float) -> None:
        super().set_step(step)
        system = self._system
        self._kick = step * system.inverse_mass
        self._keep = kept(system, step)

    def _move(self) -> None:
        gradient = self._gradient
        gradient.zero_()
        self._system.add_forces(self.positions, self.velocities, gradient)
        # Damping acts on the old velocity alone: at rest the ground then carries the whole weight.
        move(self.positions, self.velocities, gradient, self._kick, self._keep, self.step)
