# SPDX-License-Identifier: GPL-3.0-or-later
"""The gradients of all energies of a system as functions on autograd's tape."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..assembly.tensor_channel import TensorChannel
from ..assembly.tets import Tets
from ..kernels.barrier import barrier_derivative
from ..materials import StableNeoHookean
from ..potentials import GroundBarrier, TimeStep
from ..potentials.attachments import attached_vertices
from ..potentials.carried_damping import CarriedDamping
from ..potentials.goals import GoalDamping, GoalSprings
from ..potentials.ground import STICK_SPEED_DIAGONALS_PER_S, EmbeddedPoints, GroundPoints
from ..potentials.height_floor import (
    FLOOR_RATIO,
    height_derivatives_of,
    height_ratios,
    pressure_ratios,
)
from ..scene.friction import NO_FRICTION, slide_stiffness
from ..system import System
from ..tet_energies import fill
from .quantities import Quantities, at_time
from .tape import TapeElasticity, TapeForces, TapeViscosity, pulled_back, with_rest
from .tape_contact import TapeContact, slide_lengths


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
        self._forces = TapeForces(system)
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

    @property
    def _ground(self) -> GroundBarrier:
        barrier = self._system.ground_barrier
        assert barrier is not None
        return barrier

    def conservative(
        self, positions: Tensor, quantities: Quantities, frame: int, fraction: float
    ) -> Tensor:
        """Return the (3, N) gradient of elasticity, gravity and goals at a time, in newtons."""
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
        for index, force in enumerate(self._system.forces):
            if isinstance(force, GoalSprings):
                targets = _targets(force, quantities, index).at(frame, fraction)
                extension = gather(force.goals.points, positions) - targets
                pull = quantities[f"stiffness {index}"] * extension
                out = out + scatter(force.goals.points, pull, positions)
        return out + self._forces.conservative(positions, quantities, frame, fraction)

    def rate(
        self,
        positions: Tensor,
        velocities: Tensor,
        quantities: Quantities,
        frame: int,
        fraction: float,
    ) -> Tensor | float:
        """Return the (3, N) resistance to velocities in explicit steps, in newtons."""
        out: Tensor | float = 0.0
        for index, part in enumerate(self.viscosities):
            moduli = quantities[f"shear {index}"], quantities[f"bulk {index}"]
            channel = part.part.channel.with_samples(quantities[f"viscous factor {index}"])
            tets = self._tets(part.part.tets, quantities, frame, fraction)
            pull = part.rate_gradient(positions, velocities, *moduli, tets)
            out = out + channel.at(frame, fraction) * pull
        for index, force in enumerate(self._system.forces):
            if isinstance(force, GoalDamping):
                channel = _targets(force, quantities, index)
                moving = channel.rate(frame, fraction, self._system.frame_times.of(frame))
                relative = gather(force.goals.points, velocities) - moving
                pull = quantities[f"dashpots {index}"] * relative
                out = out + scatter(force.goals.points, pull, positions)
        if (carried := self.carried_damping(quantities)) is not None:
            out = out + carried.rate_gradient(positions, quantities, frame, fraction)
        return out + self._forces.rate(positions, velocities, quantities, frame, fraction)

    def step_gradient(
        self, positions: Tensor, step: TimeStep, quantities: Quantities, frame: int, fraction: float
    ) -> Tensor:
        """Return the (3, N) gradient of an implicit step's energies, at the time of its end, in
        newtons; contact has begun it.
        """
        out = self.conservative(positions, quantities, frame, fraction)
        out = out + self._height_floor(positions, quantities, frame, fraction)
        if not step.is_static:
            weight = quantities["mass"] / (step.seconds * step.impulse_time)
            out = out + self._system.free * weight * (positions - step.predicted)
            out = out + self._dissipation(positions, step, quantities, frame, fraction)
        out = out + self._forces.step_gradient(positions, step, quantities, frame, fraction)
        if "height" in quantities:
            out = (
                out
                + self._barrier(positions, quantities)
                + self.friction(positions, step, quantities)
            )
        if self._attached is not None:
            out = out + _held(*self._attached, positions, quantities["attached"])
        if self.contact is not None:
            out = out + self.contact.gradient(positions, step, quantities)
        return out

    def _dissipation(
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
        for index, force in enumerate(self._system.forces):
            if isinstance(force, GoalDamping):
                channel = _targets(force, quantities, index)
                came_from = self._target_displacement(channel, step, frame, fraction)
                points = force.goals.points
                relative = gather(points, positions - step.coasting_origin) - came_from
                pull = quantities[f"dashpots {index}"] / step.seconds * relative
                out = out + scatter(points, pull, positions)
        if (carried := self.carried_damping(quantities)) is not None:
            out = out + carried.step_gradient(step, quantities, frame, fraction)
        return out

    def _target_displacement(
        self, channel: TensorChannel, step: TimeStep, frame: int, fraction: float
    ) -> Tensor:
        """(3, P) t − t̂, as ``GoalDamping`` has it."""

        def target(seconds_before: float) -> Tensor:
            time = max(0.0, frame + fraction - seconds_before / self._system.frame_times.of(frame))
            whole = min(frame, int(time))
            return channel.at(whole, time - whole)

        displacement = target(0.0)
        for weight, _, seconds in step.history:
            displacement = displacement - weight * target(seconds)
        return displacement

    def _tets(self, tets: Tets, quantities: Quantities, frame: int, fraction: float) -> Tets:
        """Return the tets of an elasticity or a viscosity at a time, with rest shapes that are
        on the tape.
        """
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

    def _barrier(self, positions: Tensor, quantities: Quantities) -> Tensor:
        force = self._normal_force(positions, quantities)
        lifted = torch.stack([torch.zeros_like(force), torch.zeros_like(force), -force])
        return scatter(self._ground.points, lifted, positions)

    def _normal_force(self, positions: Tensor, quantities: Quantities) -> Tensor:
        """Return the (S,) normal forces of the ground on its points, in newtons."""
        heights = gather(self._ground.points, positions[2]) - quantities["height"]
        return -quantities["weights"] * barrier_derivative(heights / self._ground.distances)

    def has_friction(self, positions: Tensor, quantities: Quantities) -> bool:
        """Whether friction has a part in the step to positions that contact has begun."""
        if self.contact is not None and self.contact.has_friction:
            return True
        if "height" not in quantities:
            return False
        with torch.no_grad():
            return bool(
                (quantities["static"] * self._normal_force(positions, quantities) > 0.0).any()
            )

    def friction(self, positions: Tensor, step: TimeStep, quantities: Quantities) -> Tensor | float:
        """Return the (3, N) gradient of friction with the ground, whose normal forces are those
        of ``positions``.
        """
        static = quantities["static"]
        if not bool((static > 0.0).any()):
            return 0.0
        points = self._ground.points
        displacement = gather(points, (positions - step.friction_origin)[:2])
        sizes = points.from_bodies(quantities["diagonals"])
        threshold = STICK_SPEED_DIAGONALS_PER_S * step.stick_time * sizes
        lengths = slide_lengths(displacement.square().sum(0), threshold)
        drop = 1.0 - quantities["kinetic"] / static.clamp(min=NO_FRICTION)
        limit = static * self._normal_force(positions, quantities)
        pull = slide_stiffness(lengths, threshold, limit, drop)[0] * displacement
        return scatter(points, torch.cat([pull, torch.zeros_like(pull[:1])]), positions)


def _held(vertices: Tensor, shares: Tensor, positions: Tensor, stiffness: Tensor) -> Tensor:
    """Return the (3, N) forces of attachments: k (x_a − Σ_j w_j x_j) on every one of the (A, 5)
    vertices.
    """
    pull = (positions[:, vertices] * shares).sum(-1) * stiffness
    parts = (pull[:, :, None] * shares).flatten(1)
    return torch.zeros_like(positions).index_add(1, vertices.reshape(-1), parts)


def _targets(force: GoalSprings | GoalDamping, quantities: Quantities, index: int) -> TensorChannel:
    return force.goals.targets.with_samples(quantities[f"targets {index}"])


def gather(points: GroundPoints, values: Tensor) -> Tensor:
    """Interpolate (…, N) values of vertices to (…, S) values at points."""
    if not isinstance(points, EmbeddedPoints):
        return values[..., points.vertices]
    corners = values[..., points.corners.reshape(-1)]
    return (corners.view(*values.shape[:-1], 4, -1) * points.shares).sum(-2)


def scatter(points: GroundPoints, forces: Tensor, template: Tensor) -> Tensor:
    """Distribute (3, S) forces on points to (3, N) forces on vertices."""
    if not isinstance(points, EmbeddedPoints):
        return torch.zeros_like(template).index_add(1, points.vertices, forces)
    parts = (forces[:, None] * points.shares).flatten(1)
    return torch.zeros_like(template).index_add(1, points.corners.reshape(-1), parts)
