# SPDX-License-Identifier: GPL-3.0-or-later
"""The gradients of all energies of a system as functions on autograd's tape.

Formulas and sources: ``core/potentials/plastic_flow.py``. The functions of principal stretches
there are functions of L = ½ ln FᵀF here, with the same axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..assembly.tets import Tets
from ..kernels.elasticity import Constants, ElasticityKernel
from ..kernels.plastic_flow import MIN_SQUARED_STRETCH
from ..materials import Material, StableNeoHookean
from ..math3.symmetric_functions import exponential, logarithm
from ..math3.torch_matrices import matmul3, trace3
from ..potentials import (
    Elasticity,
    GroundBarrier,
    GroundFriction,
    Inertia,
    Potential,
    TimeStep,
    Viscosity,
)
from ..potentials.attachments import attached_vertices
from ..potentials.carried_damping import CarriedDamping
from ..potentials.height_floor import (
    FLOOR_RATIO,
    height_derivatives_of,
    height_ratios,
    pressure_ratios,
)
from ..potentials.plastic_flow import TetFlow
from ..scene.friction import Coefficients
from ..system import System, fill
from .flow_loops import LEAST_CREEP_RATIO, LEAST_STRAIN
from .force_loops import DerivativesKernel
from .quantities import Quantities, at_time
from .tape_contact import TapeContact


class TapeElasticity:
    """The gradient of an elasticity, as a function on autograd's tape.

    A compiled loop gives its exact second derivative where there is one for the material; autograd
    goes through its stresses elsewhere.
    """

    def __init__(self, part: Elasticity) -> None:
        self.part, self._corners = part, part.tets.corners.long().reshape(-1)
        #: None where autograd goes through the stresses.
        self.derivatives: DerivativesKernel | None = None
        if isinstance(part.kernel, ElasticityKernel):
            constants = Constants(part.material, part.tets.volumes)
            self.derivatives = DerivativesKernel(part.tets, constants)

    def gradient(self, positions: Tensor, mu: Tensor, lam: Tensor, tets: Tets) -> Tensor:
        """Return the (3, N) gradient in newtons, with Lamé's (M,) moduli, of its tets or the
        same ``with_rest``."""
        part = self.part
        if self.derivatives is not None and tets is part.tets:
            apply: Callable[..., Tensor] = _ElasticGradient.apply
            return apply(positions, mu, lam, self)
        material = material_of(part.material, mu, lam)
        f = tets.deformation_gradients(positions)
        stress = material.first_piola(f.permute(2, 0, 1)).permute(1, 2, 0)
        return pulled_back(tets, self._corners, stress, positions)


class _ElasticGradient(torch.autograd.Function):
    """The gradient of the elastic energy at positions (3, N), with μ and λ (M,)."""

    @staticmethod
    def forward(
        ctx: Any, positions: Tensor, mu: Tensor, lam: Tensor, elasticity: TapeElasticity
    ) -> Tensor:
        ctx.save_for_backward(positions)
        ctx.elasticity = elasticity
        out = torch.zeros_like(positions)
        assert elasticity.part.kernel is not None
        elasticity.part.kernel.add_gradient(positions, out)
        return out

    @staticmethod
    def backward(ctx: Any, displacement: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (positions,) = ctx.saved_tensors
        assert ctx.elasticity.derivatives is not None
        # The second derivative is symmetric.
        along, works = ctx.elasticity.derivatives.along(positions, displacement.contiguous())
        return along, works[0], works[1], None


class TapeViscosity:
    """The forces of a viscosity, as functions on autograd's tape."""

    def __init__(self, part: Viscosity) -> None:
        self.part, self._corners = part, part.tets.corners.long().reshape(-1)

    def step_gradient(
        self,
        positions: Tensor,
        shear: Tensor,
        bulk: Tensor,
        past: list[tuple[float, Tensor]],
        span: float,
        tets: Tets,
    ) -> Tensor:
        """Return the (3, N) gradient of the energy of an implicit step of ``span`` seconds.

        Args:
            past: weights and (3, N) positions whose strains add up to that of the start.
            tets: its own, or the same ``with_rest``.
        """
        f = tets.deformation_gradients(positions)
        strains = (weight * _green(tets.deformation_gradients(at)) for weight, at in past)
        rate = (_green(f) - sum(strains, torch.zeros_like(f))) / span
        return self._gradient(positions, f, rate, shear, bulk, tets)

    def rate_gradient(
        self, positions: Tensor, velocities: Tensor, shear: Tensor, bulk: Tensor, tets: Tets
    ) -> Tensor:
        """Return the (3, N) resistance to velocities."""
        f = tets.deformation_gradients(positions)
        change = matmul3(f.transpose(0, 1), tets.deformation_gradients(velocities))
        rate = 0.5 * (change + change.transpose(0, 1))
        return self._gradient(positions, f, rate, shear, bulk, tets)

    def _gradient(
        self, positions: Tensor, f: Tensor, rate: Tensor, shear: Tensor, bulk: Tensor, tets: Tets
    ) -> Tensor:
        identity = torch.eye(3, dtype=f.dtype)[:, :, None]
        stress = 2.0 * shear * rate + bulk * trace3(rate) * identity
        return pulled_back(tets, self._corners, matmul3(f, stress), positions)


def material_of(material: Material, mu: Tensor, lam: Tensor) -> Material:
    """The same model with Lamé's moduli."""
    young = mu * (3.0 * lam + 2.0 * mu) / (lam + mu)
    return replace(material, young=young, poisson=0.5 * lam / (lam + mu))


def with_rest(tets: Tets, volumes: Tensor, gradients: Tensor) -> Tets:
    """Return the same tets with other rest shapes for passes on autograd's tape.

    Args:
        volumes: (M,) in m³.
        gradients: (3, 3, M) of the shape functions of corners 1 to 3, in 1/m.
    """
    reshaped = copy(tets)
    reshaped.volumes = volumes
    reshaped.shape_gradients = torch.cat([-gradients.sum(0, keepdim=True), gradients])
    return reshaped


def _green(f: Tensor) -> Tensor:
    """(3, 3, M) E = (FᵀF − I)/2."""
    identity = torch.eye(3, dtype=f.dtype)[:, :, None]
    return 0.5 * (matmul3(f.transpose(0, 1), f) - identity)


def pulled_back(tets: Tets, corners: Tensor, stress: Tensor, template: Tensor) -> Tensor:
    """(3, N) V P ∇N summed at vertices, of (3, 3, M) first Piola–Kirchhoff stresses P.

    Args:
        corners: (4M,) vertices of all corners, corner first.
        template: (3, N).
    """
    weighted = tets.volumes * stress
    forces = torch.stack([(weighted * g).sum(1) for g in tets.shape_gradients], dim=1)
    return torch.zeros_like(template).index_add(1, corners, forces.reshape(3, -1))


@dataclass(frozen=True, eq=False)
class _Flowing:
    """The A tets that flow from where they are.

    Args:
        which: (A,) their indices.
        deviator: (A, 3, 3) of L; ``size`` (A,) its norm, ``mean`` (A,) a third of the trace of L.
        mu, threshold: (A,) shear modulus, and yield stress including hardening, in pascal.
        hardening: (A,) in pascal, ``relaxed`` (A,) 1 − e^(−h/τ), ``limit`` (A,).
    """

    which: Tensor
    deviator: Tensor
    size: Tensor
    mean: Tensor
    mu: Tensor
    threshold: Tensor
    hardening: Tensor
    relaxed: Tensor
    limit: Tensor

    @property
    def excess(self) -> Tensor:
        """Return the (A,) excess of the stress q over the threshold, in pascal."""
        return math.sqrt(6.0) * self.mu * self.size - self.threshold

    @property
    def flexibility(self) -> Tensor:
        """(A,) κ in 1/Pa."""
        return self.relaxed / (3.0 * self.mu + self.hardening)


class TapePlasticity:
    """The plastic flow of a system's bodies on the tape; a plastic strain is (10, P), as
    ``PlasticFlow`` has it.

    Args:
        system: a system with plastic flow.
    """

    def __init__(self, system: System) -> None:
        self._flow = system.plastic_flow
        self._parts: list[tuple[int, TetFlow, Elasticity]] = []
        self._rest: list[Tensor] = []
        for flow in self._flow.parts:
            index = next(k for k, e in enumerate(system.elasticities) if e.tets is flow.tets)
            self._parts.append((index, flow, system.solved_elasticities[index]))
            gradients = np.concatenate([mesh.shape_gradients for _, mesh in flow.tets.meshes])
            self._rest.append(torch.as_tensor(gradients[:, 1:].transpose(1, 2, 0)).to(system.mass))
        self._template = system.mass

    def strain(self, plastic: Tensor | None) -> Tensor:
        """A plastic strain as numbers, where it is None, too."""
        if plastic is not None:
            return plastic
        whole = self._template.new_zeros(10, self._flow.count)
        whole[:9:4] = 1.0
        return whole

    def shapes(self, plastic: Tensor, quantities: Quantities) -> Quantities:
        """Volumes and shape gradients of tets that have flowed, as ``Quantities`` names them."""
        out: Quantities = {}
        for (index, flow, _), strain, rest in zip(
            self._parts, self._split(plastic), self._rest, strict=True
        ):
            modelled = quantities.get(f"shape gradients {index}", rest)
            out[f"shape gradients {index}"] = matmul3(modelled, strain[:9].view(3, 3, -1))
            out[f"volumes {index}"] = quantities.get(f"volumes {index}", flow.tets.volumes)
        return out

    def flow(
        self, positions: Tensor, plastic: Tensor, seconds: float, quantities: Quantities
    ) -> Tensor:
        """Return the (10, P) plastic strain after some seconds at (3, N) positions."""
        if not self._parts:
            return plastic
        out, shapes = [], self.shapes(plastic, quantities)
        for place, strain in zip(self._parts, self._split(plastic), strict=True):
            flowing = self._flowing(place, positions, strain, seconds, quantities, shapes)
            out.append(strain if flowing is None else _flowed(strain, flowing))
        return torch.cat(out, dim=1)

    def step_gradient(
        self, positions: Tensor, plastic: Tensor, seconds: float, quantities: Quantities
    ) -> Tensor:
        """Return the (3, N) difference between the gradient of an implicit step and that of
        elastic tets, in newtons."""
        out, shapes = torch.zeros_like(positions), self.shapes(plastic, quantities)
        for place, strain in zip(self._parts, self._split(plastic), strict=True):
            index, flow, elastic = place
            flowing = self._flowing(place, positions, strain, seconds, quantities, shapes)
            if flowing is None:
                continue
            tets = _tets(index, flow, shapes)
            f = tets.deformation_gradients(positions)[:, :, flowing.which].permute(2, 0, 1)
            moduli = (quantities[f"{name} {index}"][flowing.which] for name in ("mu", "lam"))
            material = material_of(elastic.material, *moduli)
            max_growth = (flowing.limit - _size(_inverse(strain, flowing.which))).clamp(min=0.0)
            stress = torch.linalg.inv(f).mT @ _kirchhoff(material, flowing, max_growth)
            change = (stress - material.first_piola(f)).permute(1, 2, 0)
            whole = change.new_zeros(3, 3, len(flow.tets)).index_copy(2, flowing.which, change)
            out = out + pulled_back(tets, tets.corners.long().reshape(-1), whole, positions)
        return out

    def _split(self, plastic: Tensor) -> tuple[Tensor, ...]:
        return torch.split(plastic, [len(flow.tets) for _, flow, _ in self._parts], dim=1)

    def _flowing(
        self,
        place: tuple[int, TetFlow, Elasticity],
        positions: Tensor,
        plastic: Tensor,
        seconds: float,
        quantities: Quantities,
        shapes: Quantities,
    ) -> _Flowing | None:
        """Return the flowing tets of an elasticity; None where none flows."""
        index, flow, _ = place
        constants = quantities[f"flow {index}"]
        f = _tets(index, flow, shapes).deformation_gradients(positions)
        threshold = constants[1] + constants[2] * plastic[9]
        with torch.no_grad():
            which = _beyond(f, constants[0], threshold)
        if len(which) == 0:
            return None
        gradients = f[:, :, which].permute(2, 0, 1)
        strain = 0.5 * logarithm(gradients.mT @ gradients)
        mean = strain.diagonal(dim1=1, dim2=2).sum(1) / 3.0
        deviator = strain - mean[:, None, None] * torch.eye(3, dtype=strain.dtype)
        mu, _, hardening, creep, limit = constants[:, which]
        # At a creep time of zero the root of the exponent has no derivative.
        relaxed = -torch.expm1(-seconds / creep.clamp(min=LEAST_CREEP_RATIO * seconds))
        size = deviator.square().sum((1, 2)).sqrt()
        numbers = mu, threshold[which], hardening, relaxed, limit
        return _Flowing(which, deviator, size, mean, *numbers)


def _tets(index: int, flow: TetFlow, shapes: Quantities) -> Tets:
    return with_rest(flow.tets, shapes[f"volumes {index}"], shapes[f"shape gradients {index}"])


def _beyond(f: Tensor, mu: Tensor, threshold: Tensor) -> Tensor:
    """Return the (A,) indices of (3, 3, M) gradients that are solid and stressed beyond a
    threshold."""
    gradients = f.permute(2, 0, 1)
    squares = torch.linalg.eigvalsh(gradients.mT @ gradients)
    solid = (squares[:, 0] >= MIN_SQUARED_STRETCH) & (torch.linalg.det(gradients) > 0.0)
    strain = 0.5 * squares.clamp(min=MIN_SQUARED_STRETCH).log()
    size = (strain - strain.mean(1, keepdim=True)).norm(dim=1)
    return torch.nonzero(solid & (math.sqrt(6.0) * mu * size > threshold)).ravel()


def _flowed(plastic: Tensor, flowing: _Flowing) -> Tensor:
    """(10, M) plastic strains after the tets found have flowed; their determinant stays one."""
    old, growth = _inverse(plastic, flowing.which), flowing.flexibility * flowing.excess
    shrink = math.sqrt(1.5) * growth / flowing.size
    new = old @ exponential(-shrink[:, None, None] * flowing.deviator)
    size = _size(new)
    is_over = size > flowing.limit
    share = torch.where(is_over, flowing.limit / size, 1.0)
    logarithms = logarithm(new @ new.mT)
    back = exponential(0.5 * (share - 1.0)[:, None, None] * logarithms) @ new
    new = torch.where(is_over[:, None, None], back, new)
    left = torch.minimum(growth, (flowing.limit - _size(old)).clamp(min=0.0))
    growth = torch.where(is_over, left, growth)
    rows = torch.cat([new.flatten(1).T, (plastic[9, flowing.which] + growth)[None]])
    return plastic.index_copy(1, flowing.which, rows)


def _inverse(plastic: Tensor, which: Tensor) -> Tensor:
    """(A, 3, 3) F_p⁻¹ of some tets."""
    return plastic[:9, which].T.reshape(-1, 3, 3)


def _size(inverse: Tensor) -> Tensor:
    """(A,) √⅔ |ln U_p|, the strain of a bar."""
    # The root of a clamped square has a derivative at zero.
    squares = logarithm(inverse @ inverse.mT).square().sum((1, 2)) / 6.0
    return squares.clamp(min=LEAST_STRAIN**2).sqrt()


def _kirchhoff(material: Material, flowing: _Flowing, max_growth: Tensor) -> Tensor:
    """(A, 3, 3) ∂W/∂L in pascal, of the energy W of a step in which tets flow, turned back.

    Args:
        max_growth: (A,) the most that the plastic strain may grow.
    """
    flexibility, mu, r = flowing.flexibility, flowing.mu, flowing.size
    growth, slope = flexibility * flowing.excess, math.sqrt(6.0) * mu
    is_free = growth < max_growth
    growth = torch.minimum(growth, max_growth)
    hardening = 1.0 / flexibility - 3.0 * mu
    rise = torch.where(is_free, flexibility * slope, 0.0)
    ratio = 1.0 - math.sqrt(1.5) * growth / r
    bend = (torch.where(is_free, 1.0 - 3.0 * mu * flexibility, 1.0) - ratio) / r
    identity = torch.eye(3, dtype=r.dtype)
    log_stretch = _scaled(ratio, flowing.deviator) + _scaled(flowing.mean, identity)
    stretch = exponential(log_stretch)
    stress = stretch @ material.first_piola(stretch)
    mean = stress.diagonal(dim1=1, dim2=2).sum(1) / 3.0
    shear = stress - _scaled(mean, identity)
    power = (shear * flowing.deviator).sum((1, 2))
    resistance = (flowing.threshold + hardening * growth) * rise
    along = _scaled((bend * power + resistance) / r, flowing.deviator)
    return _scaled(mean, identity) + _scaled(ratio, shear) + along


def _scaled(factors: Tensor, matrices: Tensor) -> Tensor:
    return factors[:, None, None] * matrices


class Gradients:
    """The gradients of a system's energies on autograd's tape.

    Args:
        system: the system of the energies.
        solved: whether implicit steps take them.
    """

    def __init__(self, system: System, solved: bool) -> None:
        self._system = system
        parts = system.solved_elasticities if solved else system.elasticities
        self.elasticities = [TapeElasticity(part) for part in parts]
        #: Indices of elasticities that others add.
        self.left_out: set[int] = set()
        self.viscosities = [TapeViscosity(part) for part in system.viscosities]
        # Also without damping now: the derivative by the damping is not zero.
        self._carried = CarriedDamping.of(system)
        #: Between surfaces; None where they do not touch.
        self.contact: TapeContact | None = None
        if solved and system.scene.contact is not None:
            self.contact = TapeContact(system)
        self._attached: tuple[Tensor, Tensor] | None = None
        if solved and system.scene.attaches_bodies:
            attached = attached_vertices(system.scene, system.vertex_offsets)
            vertices, shares = (torch.as_tensor(part) for part in attached.shares())
            self._attached = vertices, shares.to(system.mass)
        start = system.initial_positions
        self._pressure_ratios = [pressure_ratios(part, start) for part in parts]
        self._fills = [
            torch.as_tensor(np.concatenate([fill(mesh) for _, mesh in part.tets.meshes]))
            for part in parts
        ]

    def carried_damping(self, quantities: Quantities) -> CarriedDamping | None:
        """Return the damping relative to pins and goals that move; None where there is none."""
        damping = quantities["damping"]
        acts = damping.requires_grad or bool((damping > 0.0).any())
        return self._carried if acts else None

    def _forces(
        self, are_dissipative: bool, quantities: Quantities, frame: int, fraction: float
    ) -> Iterator[Potential]:
        """Yield the forces of either kind at a time, as functions of quantities."""
        for index, force in enumerate(self._system.forces):
            if force.is_dissipative == are_dissipative and not isinstance(force, CarriedDamping):
                yield force.on_tape(quantities, index, frame, fraction)
        if are_dissipative and (carried := self.carried_damping(quantities)) is not None:
            yield carried.on_tape(quantities, 0, frame, fraction)

    def conservative(
        self, positions: Tensor, quantities: Quantities, frame: int, fraction: float
    ) -> Tensor:
        """Return the (3, N) gradient of elasticity, gravity and forces that depend on positions
        alone at a time, in newtons."""
        gravity = self._system.gravity.channel.with_samples(quantities["gravity"]).at(
            frame, fraction
        )
        out = -gravity[:, None] * quantities["mass"]
        for index, part in enumerate(self.elasticities):
            if index not in self.left_out:
                moduli = quantities[f"mu {index}"], quantities[f"lam {index}"]
                pull = part.gradient(
                    positions, *moduli, self._tets(part.part.tets, quantities, frame, fraction)
                )
                out = out + self._factor(index, quantities, frame, fraction) * pull
        for force in self._forces(False, quantities, frame, fraction):
            force.add_gradient(positions, out)
        return out

    def rate(
        self,
        positions: Tensor,
        velocities: Tensor,
        quantities: Quantities,
        frame: int,
        fraction: float,
    ) -> Tensor:
        """Return the (3, N) resistance to velocities in explicit steps, in newtons."""
        out = torch.zeros_like(positions)
        for index, part in enumerate(self.viscosities):
            moduli = quantities[f"shear {index}"], quantities[f"bulk {index}"]
            channel = part.part.channel.with_samples(quantities[f"viscous factor {index}"])
            tets = self._tets(part.part.tets, quantities, frame, fraction)
            pull = part.rate_gradient(positions, velocities, *moduli, tets)
            out = out + channel.at(frame, fraction) * pull
        for force in self._forces(True, quantities, frame, fraction):
            force.add_rate_forces(positions, velocities, out)
        return out

    def step_gradient(
        self, positions: Tensor, step: TimeStep, quantities: Quantities, frame: int, fraction: float
    ) -> Tensor:
        """Return the (3, N) gradient of an implicit step's energies, at the time of its end, in
        newtons; contact has begun it."""
        out = self.conservative(positions, quantities, frame, fraction)
        out = out + self._height_floor(positions, quantities, frame, fraction)
        if not step.is_static:
            inertia = Inertia(self._system.free * quantities["mass"])
            inertia.begin_time_step(step)
            inertia.add_gradient(positions, out)
            out = out + self._viscous(positions, step, quantities, frame, fraction)
        for force in self._forces(True, quantities, frame, fraction):
            force.begin_time_step(step)
            force.add_gradient(positions, out)
        if "height" in quantities:
            self._ground(quantities).add_gradient(positions, out)
            out = out + self.friction(positions, step, quantities)
        if self._attached is not None:
            out = out + _held(*self._attached, positions, quantities["attached"])
        if self.contact is not None:
            out = out + self.contact.gradient(positions, step, quantities)
        return out

    def _viscous(
        self, positions: Tensor, step: TimeStep, quantities: Quantities, frame: int, fraction: float
    ) -> Tensor:
        past = [place[:2] for place in step.history]
        out = torch.zeros_like(positions)
        for index, part in enumerate(self.viscosities):
            moduli = quantities[f"shear {index}"], quantities[f"bulk {index}"]
            channel = part.part.channel.with_samples(quantities[f"viscous factor {index}"])
            tets = self._tets(part.part.tets, quantities, frame, fraction)
            pull = part.step_gradient(positions, *moduli, past, step.seconds, tets)
            out = out + channel.at(frame, fraction) * pull
        return out

    def _tets(self, tets: Tets, quantities: Quantities, frame: int, fraction: float) -> Tets:
        """Return the tets of an elasticity or a viscosity at a time, with rest shapes that are
        on the tape."""
        index = next(
            k for k, elasticity in enumerate(self.elasticities) if elasticity.part.tets is tets
        )
        if f"amounts {index}" in quantities:
            part = self.elasticities[index].part
            return with_rest(tets, *at_time(index, part, quantities, frame, fraction))
        if f"volumes {index}" not in quantities:
            return tets
        return with_rest(
            tets, quantities[f"volumes {index}"], quantities[f"shape gradients {index}"]
        )

    def _factor(self, index: int, quantities: Quantities, frame: int, fraction: float) -> Tensor:
        """On the stiffness of an elasticity, at a time."""
        channel = self.elasticities[index].part.channel.with_samples(quantities[f"factor {index}"])
        return channel.at(frame, fraction)

    def _height_floor(
        self, positions: Tensor, quantities: Quantities, frame: int, fraction: float
    ) -> Tensor | float:
        """As ``HeightFloor`` has it: V P (1 − η/η̄)² against η."""
        out: Tensor | float = 0.0
        for index, elasticity in enumerate(self.elasticities):
            part = elasticity.part
            if not isinstance(part.material, StableNeoHookean):
                continue
            if bool((height_ratios(part.tets, positions.detach()) >= FLOOR_RATIO).all()):
                continue
            modulus = quantities[f"lam {index}"] + 2.0 * quantities[f"mu {index}"]
            pressures = self._pressure_ratios[index] * modulus / self._fills[index]
            tets = self._tets(part.tets, quantities, frame, fraction)
            ratios, slopes = height_derivatives_of(tets.deformation_gradients(positions))
            depth = (1.0 - ratios / FLOOR_RATIO).clamp(min=0.0)
            factor = self._factor(index, quantities, frame, fraction)
            stress = -factor * pressures * depth.square() * slopes
            corners = tets.corners.long().reshape(-1)
            out = out + pulled_back(tets, corners, stress, positions)
        return out

    def _ground(self, quantities: Quantities) -> GroundBarrier:
        barrier = self._system.ground_barrier
        assert barrier is not None
        # A number elsewhere.
        height: Any = quantities["height"]
        return GroundBarrier(barrier.points, quantities["weights"], height, barrier.distances)

    def has_friction(self, positions: Tensor, quantities: Quantities) -> bool:
        """Whether friction has a part in the step to positions that contact has begun."""
        if self.contact is not None and self.contact.has_friction:
            return True
        if "height" not in quantities:
            return False
        with torch.no_grad():
            forces = self._ground(quantities).normal_force(positions)
            return bool((quantities["static"] * forces > 0.0).any())

    def friction(self, positions: Tensor, step: TimeStep, quantities: Quantities) -> Tensor:
        """Return the (3, N) gradient of friction with the ground, whose normal forces are those
        of ``positions``."""
        out, ground = torch.zeros_like(positions), self._ground(quantities)
        coefficients = Coefficients(quantities["static"], quantities["kinetic"])
        if coefficients.act:
            sizes = ground.points.from_bodies(quantities["diagonals"])
            friction = GroundFriction(ground, coefficients, sizes)
            friction.begin_time_step(step)
            friction.update_lagged(positions)
            friction.add_gradient(positions, out)
        return out


def _held(vertices: Tensor, shares: Tensor, positions: Tensor, stiffness: Tensor) -> Tensor:
    """Return the (3, N) forces of attachments: k (x_a − Σ_j w_j x_j) on every one of the (A, 5)
    vertices."""
    pull = (positions[:, vertices] * shares).sum(-1) * stiffness
    parts = (pull[:, :, None] * shares).flatten(1)
    return torch.zeros_like(positions).index_add(1, vertices.reshape(-1), parts)
