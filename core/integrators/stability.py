# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the frequency of a system's fastest vibration, which limits explicit steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..minimizers.incremental_potential import IncrementalPotential
from ..potentials.posed_elasticity import PosedElasticity
from ..state import Energies
from ..system import System

# The Rayleigh quotient approaches the largest eigenvalue from below; this many products bring it
# within a few per cent, which the margin of the caller covers.
POWER_ITERATIONS = 50
# The iterations for deformed bodies, before each frame with contact: within 6 % of the estimate of
# 80 iterations, in a cup of crushed cubes.
DEFORMED_ITERATIONS = 10
# The length of the finite difference, relative to the shortest wavelength: far above rounding, and
# far below the effects of the material's nonlinearity.
DIFFERENCE_RATIO = 1e-4
# The least frequency, so that bodies without any stiffness get a step of finite length.
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
    """Compute the spectrum by power iteration on differences of the forces, where they are stiffest
    over time.

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
    at_rest = spectrum_at(system, rest, POWER_ITERATIONS)
    posed = [part for part in system.elasticities if isinstance(part, PosedElasticity)]
    ratio = max((part.frequency_ratio for part in posed), default=1.0)
    if ratio == 1.0:
        return at_rest
    rates = [at_rest.viscous_rate]
    for index in range(max(len(part.fastest_poses) for part in posed)):
        for part in posed:
            part.act(part.fastest_poses[min(index, len(part.fastest_poses) - 1)])
            rest[:, part.body] = part.parameters
        rates.append(_viscous_rate(system, rest, POWER_ITERATIONS))
    # The frequencies are bounds: vibrations about a pose that squeezes tets squeeze them more.
    return Spectrum(ratio * at_rest.frequency, max(rates))


def spectrum_at(
    system: System, positions: Tensor, iterations: int = DEFORMED_ITERATIONS
) -> Spectrum:
    """Estimate the spectrum at (3, N) positions, with the present forces and this many products.
    Compressed or stretched bodies vibrate faster than at rest."""
    scale = DIFFERENCE_RATIO * system.shortest_edge()

    def stiffness(direction: Tensor) -> Tensor:
        difference = torch.zeros_like(positions)
        system.add_gradient(positions - scale * direction, difference)
        difference.neg_()
        system.add_gradient(positions + scale * direction, difference)
        return difference / (2.0 * scale)

    frequency = math.sqrt(_largest_eigenvalue(system, stiffness, iterations))
    rate = _viscous_rate(system, positions, iterations)
    return Spectrum(max(MIN_FREQUENCY_RAD_PER_S, frequency), rate)


def _viscous_rate(system: System, positions: Tensor, iterations: int) -> float:
    """Return κ at (3, N) positions in 1/s, from a number of products."""
    if not system.is_dissipative:
        return 0.0
    # Wind acts on bodies at rest, too.
    still = torch.zeros_like(positions)
    system.add_rate_forces(positions, torch.zeros_like(positions), still)

    def viscosity(direction: Tensor) -> Tensor:
        forces = -still
        system.add_rate_forces(positions, direction, forces)
        return forces

    return _largest_eigenvalue(system, viscosity, iterations)


def _largest_eigenvalue(
    system: System, operator: Callable[[Tensor], Tensor], iterations: int
) -> float:
    """Return the largest eigenvalue of M⁻¹ times a symmetric operator on (3, N) directions, from a
    number of products."""
    # A fixed start vector, so that the same scene gets the same step; float64 on the CPU
    # generator, so that every device does.
    generator = torch.Generator().manual_seed(0)
    start = torch.randn((3, system.vertex_count), generator=generator, dtype=torch.float64)
    direction = start.to(system.mass) * system.free
    eigenvalue = 0.0
    for _ in range(iterations):
        direction = direction / direction.abs().max()
        image = system.inverse_mass * operator(direction)
        weighted = system.mass * direction
        eigenvalue = float((weighted * image).sum() / (weighted * direction).sum())
        if not eigenvalue > 0.0:
            return 0.0
        direction = image
    return eigenvalue


# Inverse iterations: the Rayleigh quotient has converged to a few per cent.
ITERATIONS, LINEAR_TOLERANCE = 6, 1e-2
# The time scale of the inertia that keeps the matrix of free bodies definite: slower than any
# vibration.
SHIFT_S = 2.0


def slowest_frequency(system: System) -> float:
    """Return the slowest frequency of vibration about the start, in rad/s, without rigid motions
    of free bodies; infinite without any.

    Source: inverse iteration, Golub and Van Loan, "Matrix Computations", 4th edition, section 8.2.
    """
    objective = IncrementalPotential(system, with_contact=False)
    positions = system.initial_positions
    objective.begin_static_step(positions, SHIFT_S, SHIFT_S)
    matrix, solver = objective.hessian(positions), objective.linear_solver()
    solver.begin()
    solver.prepare(matrix, objective.unknowns(positions))
    mass, rigid = system.free_mass, _rigid_motions(system, positions)
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(positions.shape, generator=generator, dtype=torch.float64)
    direction = _without(rigid, start.to(positions) * system.free, mass)
    squared = math.inf
    for _ in range(ITERATIONS):
        size = float((mass * direction.square()).sum().sqrt())
        if not size > 0.0:
            return math.inf
        direction = direction / size
        solution = solver.solve(objective.unknowns(mass * direction), LINEAR_TOLERANCE, 0.0)
        image = _without(rigid, objective.vectors(solution.x), mass)
        # The largest eigenvalue of (K + M/s²)⁻¹ M belongs to the slowest vibration.
        largest = float((mass * direction * image).sum())
        squared = 1.0 / largest - 1.0 / SHIFT_S**2 if largest > 0.0 else math.inf
        direction = image
    return math.sqrt(max(0.0, squared))


def _rigid_motions(system: System, positions: Tensor) -> list[Tensor]:
    """(3, N) motions of the bodies without pins, orthonormal by mass."""
    motions: list[Tensor] = []
    for where in system.body_slices():
        if not bool(system.free[where].all()):
            continue
        arms = positions[:, where] - positions[:, where].mean(1, keepdim=True)
        axes = torch.eye(3).to(arms)
        turns = [torch.linalg.cross(axis[:, None].expand_as(arms), arms, dim=0) for axis in axes]
        for motion in [*(axis[:, None].expand_as(arms) for axis in axes), *turns]:
            whole = torch.zeros_like(positions)
            whole[:, where] = motion
            whole = _without(motions, whole, system.mass)
            size = float((system.mass * whole.square()).sum().sqrt())
            if size > 0.0:
                motions.append(whole / size)
    return motions


def _without(motions: list[Tensor], direction: Tensor, mass: Tensor) -> Tensor:
    """Remove motions, orthonormal with respect to mass, from a (3, N) direction."""
    for motion in motions:
        direction = direction - float((mass * motion * direction).sum()) * motion
    return direction


# The safety factor on the sum of errors below, of one unit of rounding each.
MARGIN_FACTOR = 64.0


class EnergyRounding:
    """The rounding errors of a system's energies.

    A coordinate x is known to δ = ε x, ε the unit of rounding, and so the deformation gradient to
    δ |∇|, |∇| the root of the sum of the squared gradients of a tet's shape functions. The energy
    of a tet at rest is then known to 2μV (ε + δ |∇|), because terms of about 2μV cancel, and each
    step moves vertices by δ, which adds up to (λ + 2μ) V δ² |∇|².

    Args:
        system: the system of the energies.
    """

    def __init__(self, system: System) -> None:
        self._eps = torch.finfo(system.dtype).eps
        self._weight = system.max_gravity * float(system.mass.sum())
        self._cancelled = self._strained = self._stiffness = 0.0
        for part in system.elasticities:
            tets, material = part.tets, part.material
            squares = tets.shape_gradients.double().square().sum((0, 1))
            volumes = part.scale(part.stiffest) * tets.volumes
            shear = 2.0 * (material.mu * volumes).double()
            bulk = (material.lam * volumes).double()
            self._cancelled += float(shear.sum())
            self._strained += float((shear * squares.sqrt()).sum())
            self._stiffness += float(((shear + bulk) * squares).sum())

    def joules(self, energies: Energies, positions: Tensor, substeps: int) -> float:
        """Return the energy in joules that rounding may seem to add in a frame of ``substeps``
        that ends at (3, N) ``positions``."""
        farthest = float(positions.abs().max())
        coordinate = self._eps * farthest
        terms = energies.kinetic + abs(energies.elastic) + energies.ground + abs(energies.forces)
        known = self._eps * (terms + self._cancelled) + coordinate * (self._weight + self._strained)
        moved = substeps * self._stiffness * coordinate * coordinate
        total = MARGIN_FACTOR * (known + moved)
        return total if math.isfinite(total) else 0.0


def decay(rate: Tensor | float, step: float) -> Tensor | float:
    """The factor on velocities over a step.

    Args:
        rate: α in 1/s, a number or (N,).
        step: in seconds.
    """
    if isinstance(rate, float):
        return math.exp(-rate * step)
    return (-step * rate).exp()


def impulse_time(rate: Tensor | float, step: float) -> Tensor | float:
    """Return (1 − e^(−αh))/α in seconds. A force over mass times this is its change of a velocity
    that decays meanwhile.

    Args:
        rate: α in 1/s, a number or (N,).
        step: h in seconds.
    """
    if isinstance(rate, float):
        return -math.expm1(-rate * step) / rate if rate > 0.0 else step
    damped = rate > 0.0
    exact = -torch.expm1(-step * rate) / torch.where(damped, rate, 1.0)
    # The series has the right slope at a rate of zero, too.
    return torch.where(damped, exact, step - 0.5 * step * step * rate)


def velocity_retention(system: System, step: float) -> Tensor:
    """Return the (N,) retained part of each vertex's velocity over a step; prescribed ones keep
    theirs."""
    whole = torch.ones_like(system.mass)
    return torch.where(system.free, whole * decay(system.damping, step), whole)


def impulse_times(system: System, step: float) -> Tensor:
    """(N,) ``impulse_time`` of each vertex."""
    return torch.ones_like(system.mass) * impulse_time(system.damping, step)
