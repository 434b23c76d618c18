# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the fastest vibration of a system is: what bounds explicit steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..potentials.posed_elasticity import PosedElasticity
from ..system import System

# The Rayleigh quotient approaches the largest eigenvalue from below; this many products bring it
# within a few per cent, which the margin of the caller covers.
POWER_ITERATIONS = 50
# Of the finite difference, in units of the shortest wave's length: far above rounding, far below
# where the material's nonlinearity would be felt.
DIFFERENCE_RATIO = 1e-4
# In rad/s: what has no stiffness at all still gets a step of finite length.
MIN_FREQUENCY_RAD_PER_S = 1e-12


@dataclass(frozen=True)
class Spectrum:
    """The extremes of a system at rest.

    Args:
        frequency: ω in rad/s, its square the largest eigenvalue of M⁻¹K.
        viscous_rate: κ in 1/s, the largest eigenvalue of M⁻¹C, C the viscous forces by velocity.
    """

    frequency: float
    viscous_rate: float

    @property
    def fastest(self) -> float:
        """A bound on the roots of x″ + κx′ + ω²x = 0, in 1/s."""
        return max(self.frequency, self.viscous_rate)


def spectrum(system: System) -> Spectrum:
    """By power iteration on differences of the forces, where they are stiffest over time.

    In terms of the mesh, 2/ω is the shortest edge over the speed of the fastest wave,
    √((λ + 2μ)/ρ), times a factor near one that depends on the shape of the tets.
    """
    # Before all flow, so that a run that goes on takes the steps it began with.
    system.plastic_flow.plastic = None
    with system.at_its_stiffest():
        return _spectrum(system)


def _spectrum(system: System) -> Spectrum:
    rest = system.rest_positions()
    for part in system.elasticities:
        if part.rest_shape is not None:
            part.rest_shape.put_into(rest)
    found = _spectrum_at(system, rest)
    posed = [part for part in system.elasticities if isinstance(part, PosedElasticity)]
    ratio = max((part.frequency_ratio for part in posed), default=1.0)
    if ratio == 1.0:
        return found
    rates = [found.viscous_rate]
    for index in range(max(len(part.fastest_poses) for part in posed)):
        for part in posed:
            part.act(part.fastest_poses[min(index, len(part.fastest_poses) - 1)])
            rest[:, part.body] = part.parameters
        rates.append(_viscous_rate(system, rest))
    # Frequencies by the bound: what swings about a pose that squeezes tets squeezes them more.
    return Spectrum(ratio * found.frequency, max(rates))


def _spectrum_at(system: System, rest: Tensor) -> Spectrum:
    """At (3, N) positions without stress."""
    scale = DIFFERENCE_RATIO * system.shortest_edge()

    def stiffness(direction: Tensor) -> Tensor:
        difference = torch.zeros_like(rest)
        system.add_gradient(rest - scale * direction, difference)
        difference.neg_()
        system.add_gradient(rest + scale * direction, difference)
        return difference / (2.0 * scale)

    frequency = math.sqrt(_largest_eigenvalue(system, stiffness))
    return Spectrum(max(MIN_FREQUENCY_RAD_PER_S, frequency), _viscous_rate(system, rest))


def _viscous_rate(system: System, rest: Tensor) -> float:
    """κ at (3, N) positions, in 1/s."""
    if not system.is_dissipative:
        return 0.0
    # Wind blows at what does not move, too.
    still = torch.zeros_like(rest)
    system.add_rate_forces(rest, torch.zeros_like(rest), still)

    def viscosity(direction: Tensor) -> Tensor:
        forces = -still
        system.add_rate_forces(rest, direction, forces)
        return forces

    return _largest_eigenvalue(system, viscosity)


def _largest_eigenvalue(system: System, operator: Callable[[Tensor], Tensor]) -> float:
    """Of M⁻¹ times a symmetric operator on (3, N) directions."""
    # A fixed start vector, so that the same scene gets the same step; float64 on the CPU
    # generator, so that every device does.
    generator = torch.Generator().manual_seed(0)
    start = torch.randn((3, system.vertex_count), generator=generator, dtype=torch.float64)
    direction = start.to(system.mass) * system.free
    eigenvalue = 0.0
    for _ in range(POWER_ITERATIONS):
        direction = direction / direction.abs().max()
        image = system.inverse_mass * operator(direction)
        weighted = system.mass * direction
        eigenvalue = float((weighted * image).sum() / (weighted * direction).sum())
        if not eigenvalue > 0.0:
            return 0.0
        direction = image
    return eigenvalue
