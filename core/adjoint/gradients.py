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
from .slide import slide_lengths
from .tape import TapeElasticity, TapeForces, TapeViscosity, pulled_back, with_rest
from .tape_contact import TapeContact


class Gradients:
    """
    Args:
        system: whose energies they are.
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
        # Also where nothing is damped now: by the damping there is a derivative.
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

    def carried_damping(self, given: Quantities) -> CarriedDamping | None:
        """What damps relative to pins and goals that move; None where nothing does or may."""
        damping = given["damping"]
        acts = damping.requires_grad or bool((damping > 0.0).any())
        return self._carried if acts else None

    @property
    def _ground(self) -> GroundBarrier:
        barrier = self._system.ground_barrier
        assert barrier is not None
        return barrier

    def conservative(
        self, positions: Tensor, given: Quantities, frame: int, fraction: float
    ) -> Tensor:
        """(3, N) of elasticity, gravity and goals at a time, in newtons."""
        gravity = self._system.gravity.channel.with_samples(given["gravity"]).at(frame, fraction)
        out = -gravity[:, None] * given["mass"]
        for index, part in enumerate(self.elasticities):
            if index not in self.left_out:
                moduli = given[f"mu {index}"], given[f"lam {index}"]
                own = part.gradient(
                    positions, *moduli, self._tets(part.part.tets, given, frame, fraction)
                )
                out = out + self._factor(index, given, frame, fraction) * own
        for index, force in enumerate(self._system.forces):
            if isinstance(force, GoalSprings):
                targets = _targets(force, given, index).at(frame, fraction)
                extension = gather(force.goals.points, positions) - targets
                pull = given[f"stiffness {index}"] * extension
                out = out + scatter(force.goals.points, pull, positions)
        return out + self._forces.conservative(positions, given, frame, fraction)

    def rate(
        self, positions: Tensor, velocities: Tensor, given: Quantities, frame: int, fraction: float
    ) -> Tensor | float:
        """(3, N) that velocities pull against in explicit steps, in newtons."""
        out: Tensor | float = 0.0
        for index, part in enumerate(self.viscosities):
            own = given[f"shear {index}"], given[f"bulk {index}"]
            channel = part.part.channel.with_samples(given[f"viscous factor {index}"])
            tets = self._tets(part.part.tets, given, frame, fraction)
            pull = part.rate_gradient(positions, velocities, *own, tets)
            out = out + channel.at(frame, fraction) * pull
        for index, force in enumerate(self._system.forces):
            if isinstance(force, GoalDamping):
                channel = _targets(force, given, index)
                moving = channel.rate(frame, fraction) / self._system.frame_times.of(frame)
                relative = gather(force.goals.points, velocities) - moving
                pull = given[f"dashpots {index}"] * relative
                out = out + scatter(force.goals.points, pull, positions)
        if (carried := self.carried_damping(given)) is not None:
            out = out + carried.rate_gradient(positions, given, frame, fraction)
        return out + self._forces.rate(positions, velocities, given, frame, fraction)

    def of_step(
        self, positions: Tensor, step: TimeStep, given: Quantities, frame: int, fraction: float
    ) -> Tensor:
        """(3, N) of the energies of an implicit step that ends at a time, in newtons; contact has
        begun it."""
        out = self.conservative(positions, given, frame, fraction)
        out = out + self._height_floor(positions, given, frame, fraction)
        if not step.is_static:
            weight = given["mass"] / (step.seconds * step.impulse_time)
            out = out + self._system.free * weight * (positions - step.predicted)
            out = out + self._dissipation(positions, step, given, frame, fraction)
        out = out + self._forces.of_step(positions, step, given, frame, fraction)
        if "height" in given:
            out = out + self._barrier(positions, given) + self.friction(positions, step, given)
        if self._attached is not None:
            out = out + _held(*self._attached, positions, given["attached"])
        if self.contact is not None:
            out = out + self.contact.gradient(positions, step, given)
        return out

    def _dissipation(
        self, positions: Tensor, step: TimeStep, given: Quantities, frame: int, fraction: float
    ) -> Tensor:
        past = [place[:2] for place in step.history]
        out = torch.zeros_like(positions)
        for index, part in enumerate(self.viscosities):
            own = given[f"shear {index}"], given[f"bulk {index}"]
            channel = part.part.channel.with_samples(given[f"viscous factor {index}"])
            tets = self._tets(part.part.tets, given, frame, fraction)
            pull = part.step_gradient(positions, *own, past, step.seconds, tets)
            out = out + channel.at(frame, fraction) * pull
        for index, force in enumerate(self._system.forces):
            if isinstance(force, GoalDamping):
                channel = _targets(force, given, index)
                came_from = self._target_displacement(channel, step, frame, fraction)
                points = force.goals.points
                relative = gather(points, positions - step.coasting_origin) - came_from
                pull = given[f"dashpots {index}"] / step.seconds * relative
                out = out + scatter(points, pull, positions)
        if (carried := self.carried_damping(given)) is not None:
            out = out + carried.step_gradient(step, given, frame, fraction)
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

    def _tets(self, tets: Tets, given: Quantities, frame: int, fraction: float) -> Tets:
        """Of an elasticity or a viscosity, at a time, with what of rest shapes is on the tape."""
        index = next(k for k, own in enumerate(self.elasticities) if own.part.tets is tets)
        if f"amounts {index}" in given:
            part = self.elasticities[index].part
            return with_rest(tets, *at_time(index, part, given, frame, fraction))
        if f"volumes {index}" not in given:
            return tets
        return with_rest(tets, given[f"volumes {index}"], given[f"shape gradients {index}"])

    def _factor(self, index: int, given: Quantities, frame: int, fraction: float) -> Tensor:
        """On the stiffness of an elasticity, at a time."""
        channel = self.elasticities[index].part.channel.with_samples(given[f"factor {index}"])
        return channel.at(frame, fraction)

    def _height_floor(
        self, positions: Tensor, given: Quantities, frame: int, fraction: float
    ) -> Tensor | float:
        """As ``HeightFloor`` has it: V P (1 − η/η̄)² against η."""
        out: Tensor | float = 0.0
        for index, own in enumerate(self.elasticities):
            part = own.part
            if not isinstance(part.material, StableNeoHookean):
                continue
            if bool((height_ratios(part.tets, positions.detach()) >= FLOOR_RATIO).all()):
                continue
            modulus = given[f"lam {index}"] + 2.0 * given[f"mu {index}"]
            pressures = self._pressure_ratios[index] * modulus / self._fills[index]
            tets = self._tets(part.tets, given, frame, fraction)
            ratios, slopes = height_derivatives_of(tets.deformation_gradients(positions))
            depth = (1.0 - ratios / FLOOR_RATIO).clamp(min=0.0)
            factor = self._factor(index, given, frame, fraction)
            stress = -factor * pressures * depth.square() * slopes
            corners = tets.corners.long().reshape(-1)
            out = out + pulled_back(tets, corners, stress, positions)
        return out

    def _barrier(self, positions: Tensor, given: Quantities) -> Tensor:
        force = self._normal_force(positions, given)
        lifted = torch.stack([torch.zeros_like(force), torch.zeros_like(force), -force])
        return scatter(self._ground.points, lifted, positions)

    def _normal_force(self, positions: Tensor, given: Quantities) -> Tensor:
        """(S,) of the ground on its points, in newtons."""
        heights = gather(self._ground.points, positions[2]) - given["height"]
        return -given["weights"] * barrier_derivative(heights / self._ground.distances)

    def rubs(self, positions: Tensor, given: Quantities) -> bool:
        """Whether friction has a part in the step to positions that contact has begun."""
        if self.contact is not None and self.contact.rubs:
            return True
        if "height" not in given:
            return False
        with torch.no_grad():
            return bool((given["static"] * self._normal_force(positions, given) > 0.0).any())

    def friction(self, positions: Tensor, step: TimeStep, given: Quantities) -> Tensor | float:
        """(3, N) of friction with the ground, whose normal forces are those of ``positions``."""
        static = given["static"]
        if not bool((static > 0.0).any()):
            return 0.0
        points = self._ground.points
        way = gather(points, (positions - step.friction_origin)[:2])
        sizes = points.from_bodies(given["diagonals"])
        threshold = STICK_SPEED_DIAGONALS_PER_S * step.stick_time * sizes
        lengths = slide_lengths(way.square().sum(0), threshold)
        drop = 1.0 - given["kinetic"] / static.clamp(min=NO_FRICTION)
        limit = static * self._normal_force(positions, given)
        pull = slide_stiffness(lengths, threshold, limit, drop)[0] * way
        return scatter(points, torch.cat([pull, torch.zeros_like(pull[:1])]), positions)


def _held(vertices: Tensor, shares: Tensor, positions: Tensor, stiffness: Tensor) -> Tensor:
    """(3, N) of attachments: k (x_a − Σ_j w_j x_j) on every one of the (A, 5) vertices."""
    own = (positions[:, vertices] * shares).sum(-1) * stiffness
    parts = (own[:, :, None] * shares).flatten(1)
    return torch.zeros_like(positions).index_add(1, vertices.reshape(-1), parts)


def _targets(force: GoalSprings | GoalDamping, given: Quantities, index: int) -> TensorChannel:
    return force.goals.targets.with_samples(given[f"targets {index}"])


def gather(points: GroundPoints, values: Tensor) -> Tensor:
    """(…, S) at points from (…, N) at vertices."""
    if not isinstance(points, EmbeddedPoints):
        return values[..., points.vertices]
    corners = values[..., points.corners.reshape(-1)]
    return (corners.view(*values.shape[:-1], 4, -1) * points.shares).sum(-2)


def scatter(points: GroundPoints, forces: Tensor, template: Tensor) -> Tensor:
    """(3, N) at vertices from (3, S) at points."""
    if not isinstance(points, EmbeddedPoints):
        return torch.zeros_like(template).index_add(1, points.vertices, forces)
    parts = (forces[:, None] * points.shares).flatten(1)
    return torch.zeros_like(template).index_add(1, points.corners.reshape(-1), parts)
