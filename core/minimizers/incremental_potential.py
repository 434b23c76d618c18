# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy whose minimum is the end of an implicit time step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix, BlockPattern
from ..errors import SceneError
from ..linear_solvers.linear_solver import LinearSolver
from ..linear_solvers.rigid_modes import bisect, group_size
from ..potentials import GroundFriction, Inertia, Potential, TimeStep
from ..potentials.attachments import Attachments
from ..potentials.contact.mesh_contact import MeshContact
from ..potentials.height_floor import HeightFloor
from ..system import System
from .search_path import SearchPaths

# The rounding of forces on its vertices, in units of the sum of their magnitudes.
DRIFT_ROUND_OFF_FACTOR = 16.0


# The energy decrease of a body's Newton step that counts as little, relative to its kinetic
# energy. The poles of three balls that land crumple: frames of 330 and 658 Newton steps take 103
# and 204.
LITTLE_GAIN_RATIO = 1e-3


class RigidDrift:
    """The rigid motion that unpinned bodies still lack; where nothing touches them, inertia alone
    holds them.

    A Newton step may be short because surfaces that nearly touch are stiff in all directions,
    while the body still has far to go; the net force shows this.

    Args:
        system: of those bodies.
    """

    def __init__(self, system: System) -> None:
        slices = system.body_slices()
        # Pinned bodies have the number after the last free one.
        self._count = 0
        numbers = torch.empty(len(system.free), dtype=torch.long)
        free = [bool(system.free[where].all()) for where in slices]
        for where, is_free in zip(slices, free, strict=True):
            numbers[where] = self._count if is_free else sum(free)
            self._count += is_free
        self._numbers = numbers.to(system.device)
        self._masses = system.mass.new_zeros(len(slices) + 1)
        self._masses.index_add_(0, self._numbers, system.mass)
        self._round_off = DRIFT_ROUND_OFF_FACTOR * torch.finfo(system.dtype).eps

    def __call__(self, gradient: Tensor, step: float) -> float:
        """The largest, h² |Σ ∂E/∂x| / m, in metres.

        Args:
            gradient: (3, N) of an incremental potential, in newtons.
            step: h, in seconds.
        """
        if self._count == 0:
            return 0.0
        # The sums of the forces along each axis, and of their sizes.
        sums = gradient.new_zeros(6, len(self._masses))
        sums.index_add_(1, self._numbers, torch.cat([gradient, gradient.abs()]))
        net = (sums[:3].abs() - self._round_off * sums[3:]).clamp(min=0.0)
        accelerations = torch.linalg.vector_norm(net, dim=0) / self._masses
        return step * step * float(accelerations[: self._count].max())


class IncrementalPotential:
    """Σ potentials(x), inertia among them, over the vertices that are not pinned.

    Args:
        system: a scene as tensors.
        with_contact: whether its contact counts, where it has one.
    """

    def __init__(self, system: System, with_contact: bool = True) -> None:
        if system.obstacles.need_explicit_steps:
            raise SceneError(_needs_explicit_steps(system))
        self.system = system
        #: The contact of surfaces; None without contact.
        self.contact: MeshContact | None = None
        if with_contact and system.scene.contact is not None:
            self.contact = MeshContact(system.scene, system.meshes, float(system.mass.mean()))
        self.inertia = Inertia(system.free_mass)
        ground, friction = system.ground_barrier, self._ground_friction()
        attachments = Attachments.from_scene(system.scene, system.vertex_offsets, system.mass)
        ground_parts: Sequence[Potential | None] = (ground, friction)
        # The ground comes last: paths that are projected on it go by the Hessian of all others.
        self.potentials = _present(
            self.inertia,
            *system.solved_elasticities,
            system.gravity,
            *system.forces,
            *system.viscosities,
            HeightFloor(
                system.solved_elasticities, system.initial_positions, system.initially_inverted
            ),
            attachments,
            self.contact,
            *ground_parts,
        )
        self._without_contact = [part for part in self.potentials if part is not self.contact]
        self._smooth = [part for part in self.potentials if not part.is_stiff]
        self._ground_parts = _present(*ground_parts)
        self._stiff = [p for p in self.potentials if p.is_stiff and p not in self._ground_parts]
        self.paths = SearchPaths(
            self.potentials, self.inertia, ground, friction, self.contact, system.free
        )
        self._drift_of_steps = None if self.contact is None else RigidDrift(system)
        #: The displacement of whole bodies by net forces; None without contact and in static
        #: steps.
        self.rigid_drift: RigidDrift | None = None
        #: In kg, by whose velocity errors of linear solves are measured.
        self.reference_mass = 0.0

    def _ground_friction(self) -> GroundFriction | None:
        system, barrier = self.system, self.system.ground_barrier
        if barrier is None:
            return None
        coefficients = system.obstacles.ground_friction
        if not coefficients.act:
            return None
        return GroundFriction(barrier, coefficients, barrier.points.from_bodies(system.diagonals))

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
    def group_offsets(self) -> NDArray[np.int32]:
        """(G + 1,) the first unknown of each group."""
        return np.cumsum([0, *(len(group) for group in self._groups)]).astype(np.int32)

    @cached_property
    def _free_masses(self) -> list[float]:
        """Return the free (unpinned) mass of each body, in kg; zero for a fully pinned body."""
        return [float(self.system.free_mass[body].sum()) for body in self.system.body_slices()]

    def begin(self, step: TimeStep) -> None:
        """Begins a step, or a stage of one."""
        # A decrease that is little for a heavy body may be much for a light one.
        self.reference_mass = len(self._free_masses) * min(self._free_masses)
        self.rigid_drift = self._drift_of_steps
        self._begin(step)

    @property
    def has_friction(self) -> bool:
        """Whether anything may rub, whose normal forces lag behind a search."""
        return any(part.has_friction for part in self.potentials)

    def begin_static_step(self, start: Tensor, step: float, friction_step: float) -> None:
        """Begins a step of a static solve, without velocity, at (3, N) ``start``.

        Args:
            step: in seconds.
            friction_step: the step for the stick threshold of friction, in seconds.
        """
        self.reference_mass = sum(self._free_masses)
        self.rigid_drift = None
        self._begin(TimeStep(start, start, step, step, is_static=True, stick_seconds=friction_step))

    def _begin(self, step: TimeStep) -> None:
        self._start = step.start
        for part in self._without_contact:
            part.begin_time_step(step)
        if self.contact is not None:
            if self.contact.adapts:
                gradient = self.gradient_without_contact(step.start)
                self.contact.adapt_at_start(step.start, step.seconds, gradient)
            self.contact.begin_time_step(step)

    @cached_property
    def _body_of_vertex(self) -> Tensor:
        """(N,) the number of the body of each vertex."""
        counts = [where.stop - where.start for where in self.system.body_slices()]
        numbers = np.repeat(np.arange(len(counts)), counts)
        return torch.from_numpy(numbers).to(self.system.device)

    def gains_little(
        self, positions: Tensor, gradient: Tensor, direction: Tensor, speed: float
    ) -> bool:
        """Whether no body gains much by a Newton step: at most a thousandth of its kinetic energy,
        or its kinetic energy at the speed of the tolerance.

        Args:
            positions, direction: (3, N) from which it goes, and the step, in metres.
            gradient: (3, N) there, in newtons.
            speed: of the tolerance, in m/s.
        """
        gain = -0.5 * (gradient * direction).sum(0)
        displacement = positions - self._start
        kinetic = 0.5 * self.inertia.weight * (displacement * displacement).sum(0)
        terms = torch.stack([gain, kinetic, 0.5 * speed * speed * self.system.mass])
        sums = terms.new_zeros(3, len(self.system.meshes))
        sums.index_add_(1, self._body_of_vertex, terms)
        return bool((sums[0] <= torch.maximum(LITTLE_GAIN_RATIO * sums[1], sums[2])).all())

    def after_iteration(self, positions: Tensor) -> bool:
        """Lets energies adapt to (3, N) positions of a search; whether one did."""
        adapted = [part.after_iteration(positions) for part in self.potentials]
        return any(adapted)

    def check_volumes(self, positions: Tensor) -> None:
        """Refuse tets without volume where their model is undefined there.

        Raises:
            SceneError: when tets have no volume left at (3, N) ``positions`` although their model
                is undefined there.
        """
        count = sum(part.inverted(positions) for part in self.system.solved_elasticities)
        if count:
            which = "1 tet is" if count == 1 else f"{count} tets are"
            raise SceneError(
                f"{self.system.names}: {which} flat or inside out, where the Neo-Hookean model has "
                "no energy. Use Stable Neo-Hookean, explicit steps, or a start shape that is not "
                "inverted."
            )

    def residual_acceleration(self, positions: Tensor, gradient: Tensor) -> float:
        """The largest force on a vertex that moves at the end of a static step, over its mass, in
        m/s², inertia left out, and fields as they are there.

        Args:
            gradient: (3, N) at these (3, N) positions, in newtons.
        """
        force = gradient - self.inertia.gradient(positions)
        for part in self.potentials:
            force -= part.rest_force_error(positions)
        return float(torch.linalg.vector_norm(force * self.system.inverse_mass, dim=0).max())

    def acceleration_rounding(self, hessian: BlockMatrix) -> float:
        """Return the residual acceleration that rounding of positions alone causes, in m/s²."""
        blocks = hessian.values[self.pattern.diagonal]
        stiffness = (blocks[:, 0] + blocks[:, 4] + blocks[:, 8]) / 3.0
        rate = float((stiffness / self.system.mass[self.pattern.vertices]).max())
        return rate * self.system.size * torch.finfo(self.system.dtype).eps

    def bodies_at_rest(self, start: Tensor, inertial: Tensor) -> list[slice]:
        """Vertices of the bodies in contact with others at (3, N) ``start`` that would stay within
        the stick threshold of friction without forces."""
        if self.contact is None:
            return []
        distances = torch.linalg.vector_norm((inertial - start) * self.system.free, dim=0)
        touching = self.contact.objects_in_contact(start)
        return [
            where
            for body, where in enumerate(self.system.body_slices())
            if body in touching
            and float(distances[where].max()) < self.contact.stick_thresholds[body, body]
        ]

    def update_lagged(
        self, positions: Tensor, fraction: float = 1.0, settled: bool = True
    ) -> float:
        """Updates lagged quantities, the normal forces of friction, from ``positions``.

        Args:
            fraction: the part of their change to make.
            settled: whether the search has come so near that surfaces are where they will be.

        Returns:
            The change, as a share of the whole; 0 where nothing lags.
        """
        changes = [part.update_lagged(positions, fraction, settled) for part in self.potentials]
        changed, whole = (math.fsum(values) for values in zip(*changes, strict=True))
        return changed / whole if whole > 0.0 else float(changed > 0.0)

    def stick_drift(self, before: Tensor, after: Tensor) -> float:
        """Return the largest drift of sticking contacts, as a multiple of the stick threshold."""
        return max(part.stick_drift(before, after) for part in self.potentials)

    def min_distance(self, positions: Tensor) -> float:
        """The least distance between surfaces that are close, in metres; else infinite."""
        return math.inf if self.contact is None else self.contact.min_distance(positions)

    def energy(self, positions: Tensor) -> tuple[float, float]:
        """Return the energy in joules, and the sum of the magnitudes of its terms, to which
        rounding is proportional."""
        values = _energies(self.potentials, positions)
        cancelled = math.fsum(part.cancellation for part in self.potentials)
        return math.fsum(values), cancelled + math.fsum(map(abs, values))

    def energy_without_contact(self, positions: Tensor) -> float:
        """In joules, the potential of contact left out."""
        return math.fsum(_energies(self._without_contact, positions))

    def gradient(self, positions: Tensor) -> Tensor:
        """Return the (3, N) gradient in newtons, zero where pinned."""
        return _gradient(self.potentials, positions) * self.system.free

    def gradient_without_contact(self, positions: Tensor) -> Tensor:
        """Return the (3, N) gradient in newtons without the potential of contact, also where
        pinned.
        """
        return _gradient(self._without_contact, positions)

    def smooth_hessian(self, positions: Tensor, projected: bool = True) -> BlockMatrix:
        """Return the Hessian of the energies that are not stiff, in N/m.

        Args:
            projected: whether it has to be positive semi-definite.
        """
        matrix = BlockMatrix(self.pattern, self.system.dtype)
        for part in self._smooth:
            part.add_hessian(positions, matrix, projected)
        return matrix

    def hessian(
        self, positions: Tensor, projected: bool = True, smooth: BlockMatrix | None = None
    ) -> BlockMatrix:
        """In N/m.

        Args:
            projected: whether it has to be positive semi-definite.
            smooth: of the energies that are not stiff, as evaluated nearby; None is here.
        """
        matrix = self.smooth_hessian(positions, projected) if smooth is None else smooth.copy()
        for part in self._stiff:
            part.add_hessian(positions, matrix, projected)
        self.paths.set_model(matrix, projected)
        for part in self._ground_parts:
            part.add_hessian(positions, matrix, projected)
        return matrix

    def linear_solver(self) -> LinearSolver:
        """Return a solver for matrices with the pattern of the Hessian."""
        points = self.unknowns(self.system.rest_positions()).cpu().double().numpy()
        return LinearSolver(self.pattern, self.group_offsets, points, self.system.dtype)

    def unknowns(self, vectors: Tensor) -> Tensor:
        """Return the (n, 3) rows of the vertices that are not pinned, from (3, N) vectors."""
        return vectors[:, self.pattern.vertices].T.contiguous()

    def vectors(self, unknowns: Tensor) -> Tensor:
        """Return (3, N) vectors from (n, 3) rows, zero where pinned."""
        vectors = torch.zeros_like(self.system.mass).repeat(3, 1)
        vectors[:, self.pattern.vertices] = unknowns.T
        return vectors


def _present(*potentials: Potential | None) -> list[Potential]:
    return [part for part in potentials if part is not None]


def _energies(potentials: Sequence[Potential], positions: Tensor) -> list[float]:
    """In joules, one by one, read at once."""
    values = torch.stack([part.energy(positions).reshape(()) for part in potentials])
    return [float(value) for value in values.tolist()]


def _gradient(potentials: Sequence[Potential], positions: Tensor) -> Tensor:
    out = torch.zeros_like(positions)
    for part in potentials:
        part.add_gradient(positions, out)
    return out


def _needs_explicit_steps(system: System) -> str:
    what, cure = "A bouncy ground needs", "choose a smooth one"
    if names := ", ".join(collider.name for collider in system.obstacles.colliders):
        what, cure = f"Colliders ({names}) need", "put meshes in their place"
    if system.scene.couples_bodies:
        return (
            f"{what} explicit steps, which cannot let bodies meet or hold each other there: {cure} "
            "or do without contact, attachments and stitches."
        )
    return (
        f"{what} explicit steps: {cure}, or choose the integrator Automatic or an explicit one "
        "such as Symplectic Euler."
    )
