# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy whose minimum is the end of an implicit time step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..contact.mesh_contact import MeshContact
from ..errors import SceneError
from ..linear_solvers.block_matrix import BlockMatrix, BlockPattern
from ..linear_solvers.couplings import Couplings
from ..linear_solvers.rigid_modes import bisect, group_size
from ..potentials import GroundFriction, Viscosity
from ..potentials.attachments import Attachments
from ..potentials.ground_points import EmbeddedPoints
from ..potentials.volume_floor import VolumeFloor
from ..system import System
from ..tet_mesh import signed_volumes
from .embedded_ground_path import EmbeddedGroundPath
from .ground_path import GroundPath

# Below this share of its body's diagonal a second, a vertex on the ground sticks.
SLIP_RATE = 1e-4
# Between surfaces, which a search cannot bend its steps along, so many times as much of the smaller
# one's.
CONTACT_SLIP = 3.0
# A step that has met less curvature than the model holds may go on for so many times its length.
LONGEST_STEP = 64.0
# The straight way to where a bent step leads has to descend by this share of what the step does.
DESCENT = 0.1
# One that is cut to less than this share, too, is tried to so much of the step as before.
CUT_SHORT, SHORTER, SHORTEST_SHARE = 0.2, 0.25, 1e-3


@dataclass(frozen=True)
class Way:
    """Where a search may go from a point.

    Args:
        at: (3, N) positions by the share of the way.
        slope: of the energy at its start, in joules.
        limit: the share along which every energy is finite and nothing meets, at most 1.
        longest: share to try when more promises more.
        share: of a Newton step, how much the whole way is.
    """

    at: Callable[[float], Tensor]
    slope: float
    limit: float
    longest: float
    share: float = 1.0

    @property
    def reach(self) -> float:
        """How much of the step may be gone."""
        return self.share * self.limit


class IncrementalPotential:
    """½ ‖x − x̃‖²_M / τσ + Σ potentials(x), over the vertices that are not pinned.

    τ is the step, and σ the time that forces change velocities over, which damping makes shorter.

    Args:
        system: a scene as tensors.
        touches: whether its contact counts, where it has one.
    """

    def __init__(self, system: System, touches: bool = True) -> None:
        if system.obstacles.need_explicit_steps:
            raise SceneError(_needs_explicit_steps(system))
        self.system = system
        for elasticity in system.elasticities:
            elasticity.keep_volumes()
        self._predicted = system.rest_positions()
        self._weight = torch.zeros_like(system.mass)
        self._floor = VolumeFloor(system.elasticities, _beginning_inside_out(system))
        #: In kg, by whose velocity errors of linear solves are measured.
        self.reference_mass = 0.0
        self._dampers: list[Viscosity] = []
        barrier = system.ground_barrier
        self._friction: GroundFriction | None = None
        self._bounds_friction = False
        self._path: GroundPath | EmbeddedGroundPath | None = None
        self._attachments = Attachments.of_scene(system.scene, system.starts, system.mass)
        #: Between surfaces; None where there is none.
        self.contact: MeshContact | None = None
        if touches and system.scene.contact is not None:
            self.contact = MeshContact(system.scene, system.meshes, float(system.mass.mean()))
        if barrier is not None:
            if system.friction > 0.0:
                self._friction = GroundFriction(barrier, system.friction)
            self._path = GroundPath(barrier, self._friction)
            if isinstance(barrier.points, EmbeddedPoints):
                self._path = EmbeddedGroundPath(barrier, self._friction, system.free)

    @cached_property
    def _groups(self) -> list[NDArray[np.int64]]:
        """Vertices that are not pinned, in groups of near ones."""
        system = self.system
        points = system.rest_positions().T.cpu().numpy()
        free = np.flatnonzero(~system.is_pinned)
        size = group_size(len(free))
        return [
            group
            for body in system.body_slices()
            for group in bisect(points, free[(free >= body.start) & (free < body.stop)], size)
        ]

    @cached_property
    def pattern(self) -> BlockPattern:
        system = self.system
        elements = torch.cat([part.corners for part in system.elasticities], dim=1)
        order = np.concatenate(self._groups)
        return BlockPattern(elements.cpu().numpy(), order, system.vertex_count, system.device)

    @cached_property
    def group_starts(self) -> NDArray[np.int32]:
        """(G + 1,) the first unknown of each group."""
        return np.cumsum([0, *(len(group) for group in self._groups)]).astype(np.int32)

    @cached_property
    def matrix(self) -> BlockMatrix:
        return BlockMatrix(self.pattern, self.system.dtype)

    @cached_property
    def _free_masses(self) -> list[float]:
        """Of the bodies that are not pinned as a whole, in kg."""
        masses = (float(self.system.free_mass[body].sum()) for body in self.system.body_slices())
        return [mass for mass in masses if mass > 0.0]

    def begin(
        self,
        start: Tensor,
        predicted: Tensor,
        step: float,
        before: Tensor | None = None,
        impulse_time: Tensor | float | None = None,
    ) -> None:
        """Begins a step of ``step`` seconds.

        Args:
            start: (3, N) where it starts.
            predicted: (3, N) x̃, where it would end without forces.
            before: (3, N) where the step before started, for the second-order difference.
            impulse_time: the seconds that forces change velocities over, a number or (N,);
                None is ``step``.
        """
        past = [(1.0, start)] if before is None else [(4.0 / 3.0, start), (-1.0 / 3.0, before)]
        self._dampers = self.system.viscosities
        for damper in self._dampers:
            damper.begin_step(step, past)
        self._predicted = predicted
        impulse_time = step if impulse_time is None else impulse_time
        self._weight = self.system.free_mass / (step * impulse_time)
        # What is little for a heavy body may be much for a light one.
        self.reference_mass = len(self._free_masses) * min(self._free_masses, default=0.0)
        if self._friction is not None:
            self._friction.begin_step(start, self._ground_slip(step))
        if self.contact is not None:
            self._adapt_at_start(start, step)
            self.contact.begin_step(start, self._contact_slips(self.contact, step))

    def _ground_slip(self, step: float) -> Tensor:
        """(S,) below how many metres in ``step`` seconds points on the ground stick."""
        assert self.system.ground_barrier is not None
        points = self.system.ground_barrier.points
        return SLIP_RATE * step * points.of_bodies(self.system.diagonals)

    def _contact_slips(self, contact: MeshContact, step: float) -> NDArray[np.float64]:
        """(O, O) below how many metres in ``step`` seconds two objects stick to each other."""
        slips: NDArray[np.float64] = CONTACT_SLIP * SLIP_RATE * step * contact.sizes
        return slips

    def begin_settling(self, start: Tensor, step: float, friction_step: float) -> None:
        """Begins a step without velocity at (3, N) ``start``.

        Args:
            step: in seconds.
            friction_step: of friction, which lets slip as much as in a step of so many seconds.
        """
        self._dampers = []
        self._predicted = start
        self._weight = self.system.free_mass / (step * step)
        self.reference_mass = sum(self._free_masses)
        if self._friction is not None:
            self._friction.begin_step(start, self._ground_slip(friction_step))
        if self.contact is not None:
            self._adapt_at_start(start, step)
            slips = self._contact_slips(self.contact, friction_step)
            self.contact.begin_step(start, slips)

    def _adapt_at_start(self, start: Tensor, step: float) -> None:
        contact = self.contact
        if contact is not None and contact.adapts:
            contact.adapt_at_start(start, step, self.gradient_apart(start))

    def adapt(self, positions: Tensor) -> bool:
        """Makes contact stiffer where surfaces got too close; whether it did."""
        return self.contact is not None and self.contact.adapt(positions)

    def check_volumes(self, positions: Tensor) -> None:
        """
        Raises:
            SceneError: when tets have no volume left at (3, N) ``positions`` although their model
                is undefined there.
        """
        count = sum(part.inverted(positions) for part in self.system.elasticities)
        if count:
            which = "1 tet is" if count == 1 else f"{count} tets are"
            raise SceneError(
                f"{self.system.names}: {which} flat or inside out, where the Neo-Hookean model has "
                "no energy. Use Stable Neo-Hookean, explicit steps, or a start shape that is not "
                "inverted."
            )

    def residual_acceleration(self, positions: Tensor) -> float:
        """The largest force on a vertex that moves, over its mass, in m/s², inertia left out."""
        inertia = self._weight * (positions - self._predicted)
        force = (self.gradient(positions) - inertia) * self.system.inverse_mass
        return float(torch.linalg.vector_norm(force, dim=0).max())

    def acceleration_rounding(self) -> float:
        """What rounding of positions alone makes of the residual acceleration, in m/s²."""
        blocks = self.matrix.values[self.pattern.diagonal]
        stiffness = (blocks[:, 0] + blocks[:, 4] + blocks[:, 8]) / 3.0
        rate = float((stiffness / self.system.mass[self.pattern.vertices]).max())
        return rate * self.system.size * torch.finfo(self.system.dtype).eps

    def guess(self, positions: Tensor, predicted: Tensor) -> Tensor:
        """(3, N) ``predicted`` positions, but where the ground would let them end."""
        if self._path is None:
            return predicted
        return self._path.land(positions, predicted, self._weight)

    def resting(self, start: Tensor, inertial: Tensor) -> list[slice]:
        """Vertices of the bodies that touch others at (3, N) ``start`` and are slower than friction
        lets go of, by where they would go without forces."""
        if self.contact is None:
            return []
        way = torch.linalg.vector_norm((inertial - start) * self.system.free, dim=0)
        touching = self.contact.touching(start)
        return [
            where
            for body, where in enumerate(self.system.body_slices())
            if body in touching and float(way[where].max()) < self.contact.slips[body, body]
        ]

    def lag(self, positions: Tensor, settled: bool = True, share: float = 1.0) -> float:
        """Takes what lags behind, the normal forces of friction, from ``positions``.

        Args:
            settled: whether the search has come so near that surfaces are where they will be.
            share: of the way to them that those of the ground go.

        Returns:
            The change, as a share of the whole; 0 where nothing lags.
        """
        changes = []
        if self._friction is not None:
            changes.append(self._friction.lag(positions, share))
        if self.contact is not None and settled:
            changes.append(self.contact.lag(positions))
        changed, whole = (math.fsum(values) for values in zip((0.0, 0.0), *changes, strict=True))
        return changed / whole if whole > 0.0 else float(changed > 0.0)

    def creep(self, before: Tensor, after: Tensor) -> float:
        """How far what friction holds has moved, as a share of what breaks it loose."""
        parts = [part for part in (self._friction, self.contact) if part is not None]
        return max((part.creep(before, after) for part in parts), default=0.0)

    def gap(self, positions: Tensor) -> float:
        """The least distance between surfaces that are close, in metres; else infinite."""
        return math.inf if self.contact is None else self.contact.gap(positions)

    def relative_gap(self, positions: Tensor) -> float:
        """The least distance between surfaces over that from which they push, at most 1."""
        return 1.0 if self.contact is None else self.contact.relative_gap(positions)

    def energy(self, positions: Tensor) -> tuple[float, float]:
        """In joules, and the sum of the sizes of its terms, which its rounding goes with."""
        return self._energy(positions, [] if self.contact is None else [self.contact])

    def energy_apart(self, positions: Tensor) -> float:
        """In joules, as if surfaces did not touch."""
        return self._energy(positions, [])[0]

    def _energy(self, positions: Tensor, touching: list[MeshContact]) -> tuple[float, float]:
        system, away = self.system, positions - self._predicted
        parts = [0.5 * (self._weight * (away * away).sum(0)).sum()]
        parts += [part.energy(positions) for part in (*system.potentials, *self._dampers)]
        parts.append(self._floor.energy(positions))
        if system.ground_barrier is not None:
            parts.append(system.ground_barrier.energy(positions))
        if self._friction is not None:
            parts.append(self._friction.energy(positions))
        if self._attachments is not None:
            parts.append(self._attachments.energy(positions))
        parts += [contact.energy(positions) for contact in touching]
        values = torch.stack([part.reshape(()) for part in parts]).tolist()
        hidden = sum(part.cancelled for part in system.elasticities)
        return math.fsum(values), hidden + math.fsum(abs(value) for value in values)

    def gradient(self, positions: Tensor) -> Tensor:
        """(3, N) in newtons, zero where pinned."""
        gradient = self.gradient_apart(positions)
        if self.contact is not None:
            self.contact.add_gradient(positions, gradient)
        return gradient * self.system.free

    def gradient_apart(self, positions: Tensor) -> Tensor:
        """(3, N) in newtons as if surfaces did not touch, also where pinned."""
        system = self.system
        gradient = self._weight * (positions - self._predicted)
        system.add_gradient(positions, gradient)
        self._floor.add_gradient(positions, gradient)
        for damper in self._dampers:
            damper.add_gradient(positions, gradient)
        if system.ground_barrier is not None:
            system.ground_barrier.add_gradient(positions, gradient)
        if self._friction is not None:
            self._friction.add_gradient(positions, gradient)
        if self._attachments is not None:
            self._attachments.add_gradient(positions, gradient)
        return gradient

    def hessian(
        self, positions: Tensor, projected: bool = True, anew: bool = True, heavier: float = 0.0
    ) -> BlockMatrix:
        """Projected to be positive semi-definite, in N/m.

        Args:
            anew: whether inertia, elasticity and damping are, or as they were evaluated last.
            heavier: so many times as much inertia is added, for steps that go less far.
        """
        matrix, barrier = self.matrix, self.system.ground_barrier
        matrix.uncouple()
        if anew:
            self._evaluate(positions, projected, heavier)
        if barrier is not None:
            blocks = barrier.points.changed_blocks(self.pattern)
            if anew:
                self._without_ground = matrix.values[blocks]
            else:
                matrix.values[blocks] = self._without_ground
            self._own_blocks = matrix.values[self.pattern.diagonal_of[barrier.vertices]]
            barrier.add_hessian(positions, matrix)
        if self._friction is not None:
            # Beside contact steps are straight, and do not bend to where points stick.
            self._bounds_friction = projected and self.contact is not None
            self._friction.add_hessian(positions, matrix, self._bounds_friction)
        self._floor.add_hessian(positions, matrix, projected)
        if self._attachments is not None:
            matrix.couple(self._joints)
        if self.contact is not None:
            matrix.couple(self._touching(self.contact, positions, projected))
        return matrix

    def _evaluate(self, positions: Tensor, projected: bool, heavier: float) -> None:
        """What vertices have from their mass and their tets alone."""
        matrix = self.matrix
        matrix.set_diagonal((1.0 + heavier) * self._weight[self.pattern.vertices])
        for part in (*self.system.potentials, *self._dampers):
            part.add_hessian(positions, matrix, projected)

    @cached_property
    def _joints(self) -> Couplings:
        assert self._attachments is not None
        pattern, joints = self.pattern, self._attachments.couplings()
        return Couplings.of(joints, pattern.unknown_of, pattern.size, self.matrix.dtype)

    def _touching(self, contact: MeshContact, positions: Tensor, projected: bool) -> Couplings:
        pattern, surface = self.pattern, contact.surface
        hessian = contact.hessian(positions, projected)
        unknown_of = pattern.unknown_of
        own = torch.zeros((self.system.vertex_count, 3), dtype=torch.float64)
        if surface.selected is not None:
            diagonal = hessian.diagonal().reshape(-1, 3)[: surface.body_count]
            own[surface.selected] = torch.as_tensor(diagonal)
            bodies = unknown_of[surface.selected]
            unknown_of = np.full(len(surface.object_of), -1)
            unknown_of[: surface.body_count] = bodies
        else:
            hessian = surface.pull_back_matrix(hessian)
            own[:] = torch.as_tensor(hessian.diagonal().reshape(-1, 3))
        self._stiffness_of_contact = own.T.to(self.matrix.values)
        return Couplings.of(hessian, unknown_of, pattern.size, self.matrix.dtype)

    def way(
        self, positions: Tensor, direction: Tensor, gradient: Tensor, eager: bool = False
    ) -> Way:
        """Where a search along a Newton step may go.

        Args:
            direction: (3, N) the step; the Hessian is the one evaluated last.
            gradient: (3, N) at ``positions``.
            eager: whether the search may want to go further than the step, which takes longer to
                look for what is met.
        """
        at, slope = self.path(positions, direction), float((gradient * direction).sum())
        if self.contact is None:
            # Found to a tolerance, a bent path need not begin as the step does.
            is_bent = isinstance(self._path, EmbeddedGroundPath)
            if is_bent and float((gradient * (at(1.0) - positions)).sum()) > DESCENT * slope:
                at = partial(_straight, positions, direction)
            return Way(at, slope, self.max_step(positions, direction), LONGEST_STEP)
        # What meets what is looked for on straight ways alone. Where the one to the end of a bent
        # step is cut short, one to an earlier place of it may lead further.
        most, share = LONGEST_STEP if eager else 1.0, 1.0
        way = self._straight_way(positions, at(share) - positions, gradient, most)
        while self._path is not None and share > SHORTEST_SHARE:
            descends = way.slope <= DESCENT * share * slope
            if descends and way.limit > CUT_SHORT:
                break
            share *= SHORTER
            shorter = self._straight_way(positions, at(share) - positions, gradient, most)
            if descends and shorter.slope * shorter.limit >= way.slope * way.limit:
                # What was swept last has to be where the search goes.
                share /= SHORTER
                way = self._straight_way(positions, way.at(1.0) - positions, gradient, most)
                break
            way = shorter
        if self._path is not None and way.slope > DESCENT * share * slope:
            # Where tets are far stiffer than the ground, they do not bend along it: the step itself
            # descends, if not far.
            way = self._straight_way(positions, share * direction, gradient, most)
        self.contact.limited_steps += way.longest < 1.0
        return replace(way, share=share)

    def _straight_way(self, positions: Tensor, chord: Tensor, gradient: Tensor, most: float) -> Way:
        """Along a chord, at most ``most`` times, as far as it may be looked and nothing meets."""
        assert self.contact is not None
        slope = float((gradient * chord).sum())
        still = np.zeros_like(self.contact.colliders)
        reach = self.contact.max_step_size(positions, chord, still, most)
        whole = reach * chord
        free = self.contact.sweep(positions, positions + whole)
        longest = reach * min(free, self.max_step(positions, whole))
        return Way(lambda part: positions + part * chord, slope, min(1.0, longest), longest)

    def path(self, positions: Tensor, direction: Tensor) -> Callable[[float], Tensor]:
        """The curve along a Newton step; the Hessian is the one evaluated last."""
        path = self._path
        if path is None:
            return partial(_straight, positions, direction)
        if isinstance(path, EmbeddedGroundPath) and not path.bends(positions, direction):
            return partial(_straight, positions, direction)
        path.start(positions, direction, self._own_stiffness(), self._bounds_friction)
        return path.at

    def max_step(self, positions: Tensor, direction: Tensor) -> float:
        """The share of a step along which every potential is defined."""
        return min(part.max_step(positions, direction) for part in self.system.elasticities)

    def unknowns(self, vectors: Tensor) -> Tensor:
        """(3, N) to (n, 3): the rows of the vertices that are not pinned."""
        return vectors[:, self.pattern.vertices].T.contiguous()

    def vectors(self, unknowns: Tensor) -> Tensor:
        """(n, 3) to (3, N), zero where pinned."""
        vectors = torch.zeros_like(self._predicted)
        vectors[:, self.pattern.vertices] = unknowns.T
        return vectors

    def _own_stiffness(self) -> Tensor:
        """(2, S) horizontal and vertical, of the vertices that may touch the ground, in N/m."""
        barrier, blocks = self.system.ground_barrier, self._own_blocks
        assert barrier is not None
        x, y, z = blocks[:, 0], blocks[:, 4], blocks[:, 8]
        if self.contact is not None:
            # What touches goes with what it touches, not each vertex on its own.
            own = self._stiffness_of_contact[:, barrier.vertices]
            x, y, z = x + own[0], y + own[1], z + own[2]
        stiffness = torch.stack([0.5 * (x + y), z])
        # A Hessian that is not projected may hold less than inertia alone.
        return torch.maximum(stiffness, self._weight[barrier.vertices])


def _straight(positions: Tensor, direction: Tensor, share: float) -> Tensor:
    return positions + share * direction


def _beginning_inside_out(system: System) -> Tensor:
    """(N,) vertices of the bodies that do."""
    found = torch.zeros(system.vertex_count, dtype=torch.bool, device=system.device)
    for body, mesh, where in zip(system.bodies, system.meshes, system.body_slices(), strict=True):
        start = body.initial_positions
        if start is not None and float(signed_volumes(start, mesh.tets).min()) <= 0.0:
            found[where] = True
    return found


def _needs_explicit_steps(system: System) -> str:
    names = ", ".join(collider.name for collider in system.obstacles.colliders)
    what, cure = "A bouncy ground needs", "choose smooth contact, or"
    if names:
        what, cure = f"Colliders ({names}) need", "remove them, or choose"
    return (
        f"{what} explicit steps: {cure} the integrator Automatic or an explicit one such as "
        "Symplectic Euler."
    )
