# SPDX-License-Identifier: GPL-3.0-or-later
"""Springs and dashpots that draw points of a body to goals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..compiled import runs_loops
from ..geometry.embedding import nearest_weights
from ..kernels.obstacles import add_spring_forces
from ..scene.channel import Channel, FrameTimes
from ..scene.goals import Goals
from ..scene.soft_body import skin_embedding_of
from .ground import EmbeddedPoints
from .nodes import Nodes
from .potential import PrescribedPotential, TimeStep

FloatArray = NDArray[np.float64]

# The diagonal of a 3 × 3 block, row by row.
_IDENTITY = np.eye(3).ravel()


@dataclass(frozen=True)
class _GoalPoints:
    """The points that goals draw, with their springs and dashpots.

    Args:
        points: P of them, among all vertices of a system.
        stiffness: (P,) in N/m.
        damping: (P,) in N s/m.
        targets: channel of (3, P) in metres.
        masses: (P,) in kg.
    """

    points: EmbeddedPoints
    stiffness: Tensor
    damping: Tensor
    targets: TensorChannel
    masses: FloatArray

    @staticmethod
    def of(system: Nodes, body: int, goals: Goals) -> _GoalPoints:
        corners, shares, masses = _carriers(system, body, goals)
        corners = (corners + system.vertex_offsets[body]).T
        points = EmbeddedPoints(
            torch.as_tensor(np.ascontiguousarray(corners), device=system.device),
            torch.as_tensor(np.ascontiguousarray(shares.T)).to(system.mass),
            system.free,
        )
        angular = 2.0 * math.pi * goals.frequency
        stiffness = goals.weights * masses * angular**2
        damping = 2.0 * goals.damping_ratio * np.sqrt(stiffness * masses)
        targets = goals.targets.mapped(lambda samples: samples.swapaxes(1, 2))
        return _GoalPoints(
            points,
            torch.as_tensor(stiffness).to(system.mass),
            torch.as_tensor(damping).to(system.mass),
            system.tensor_channel(targets),
            masses,
        )

    @staticmethod
    def throughout(system: Nodes, body: int, pose: Channel, goals: Goals) -> _GoalPoints:
        """Dashpots of all tet vertices of a body with a pose, by the goals of its skin.

        Per mass, each vertex has the dashpots of the nearest skin points, so that vibrations
        between points and deep inside decay as fast as those of the points.
        """
        owner, mesh = system.bodies[body], system.meshes[body]
        embedding = skin_embedding_of(owner)
        rates = np.zeros(len(embedding.indices))
        angular = 2.0 * math.pi * goals.frequency
        rates[goals.vertices] = 2.0 * goals.damping_ratio * angular * np.sqrt(goals.weights)
        nearest, shares = nearest_weights(embedding.interpolate(mesh.vertices), mesh.vertices)
        masses = mesh.lumped_mass(owner.density)
        vertices = np.arange(len(masses)) + system.vertex_offsets[body]
        corners = torch.as_tensor(np.tile(vertices, (4, 1)), device=system.device)
        first = torch.tensor([[1.0], [0.0], [0.0], [0.0]]).to(system.mass)
        damping = torch.as_tensor(masses * (shares * rates[nearest]).sum(1)).to(system.mass)
        return _GoalPoints(
            EmbeddedPoints(corners, first.repeat(1, len(masses)), system.free),
            torch.zeros_like(damping),
            damping,
            system.tensor_channel(pose.mapped(lambda samples: samples.swapaxes(1, 2))),
            masses,
        )

    def add_hessian(self, stiffness: Tensor, matrix: BlockMatrix) -> None:
        """Adds that of Σ ½ k |x|² of the points with (P,) k."""
        identity = torch.as_tensor(_IDENTITY).to(stiffness)
        self.points.add_blocks(stiffness[:, None] * identity, matrix)


class GoalSprings(PrescribedPotential):
    """Σ ½ k |W x − t|²: points W x of a body are pulled to targets t.

    The source of k is ``Goals``.
    """

    is_sampled = True

    def __init__(self, goals: _GoalPoints) -> None:
        # The time of the present targets, if only their forces have been interpolated so far.
        self._time: tuple[int, float] | None = None
        super().__init__(goals.targets)
        #: The points and their targets.
        self.goals = goals
        self._forces = _VertexForces.of(goals, goals.stiffness, self._targets)

    @staticmethod
    def of(system: Nodes, body: int, goals: Goals) -> GoalSprings:
        return GoalSprings(_GoalPoints.of(system, body, goals))

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> GoalSprings:
        taped, targets = copy(self), self.goals.targets.with_samples(quantities[f"targets {index}"])
        taped.goals = replace(self.goals, stiffness=quantities[f"stiffness {index}"])
        taped.parameters, taped._time = targets.at(frame, fraction), None
        taped._forces = None
        return taped

    @property
    def parameters(self) -> Tensor:
        """Return the present targets, (3, P) in metres."""
        if self._time is not None:
            self.channel.write(*self._time, self._targets)
            self._time = None
        return self._targets

    @parameters.setter
    def parameters(self, targets: Tensor) -> None:
        self._targets = targets

    def go_to(self, frame: int, fraction: float) -> None:
        self._time = frame, fraction
        if self._forces is not None:
            self._forces.go_to(self.channel, frame, fraction)

    def act(self, parameters: Tensor) -> None:
        super().act(parameters)
        if self._forces is not None:
            self._forces.act(parameters)

    def energy(self, positions: Tensor) -> Tensor:
        return self.energy_with(self.parameters, positions)

    def energy_with(self, parameters: Tensor, positions: Tensor) -> Tensor:
        extension = self.goals.points.gather(positions).sub_(parameters)
        return 0.5 * (self.goals.stiffness * extension.square()).sum()

    def energy_change(self, before: Tensor, after: Tensor, positions: Tensor) -> Tensor:
        points, stiffness = self.goals.points, self.goals.stiffness
        return points.pull_energy_change(positions, before, after, stiffness)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        if self._forces is None:
            self.goals.points.add_pulls(positions, self.parameters, self.goals.stiffness, out)
        else:
            self._forces.add(positions, out)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        self.goals.add_hessian(self.goals.stiffness, matrix)


class _VertexForces:
    """The gradient K x − b of springs by vertices: K = Wᵀ k W and b = Wᵀ k t.

    Several points are in one tet, so that vertices take half the time that points do.

    Args:
        goals: the points W x.
        factors: (P,) k.
        targets: (3, P) t.
    """

    def __init__(self, goals: _GoalPoints, factors: Tensor, targets: Tensor) -> None:
        # It loads scipy, which takes a moment that other scenes need not wait.
        from scipy.sparse import csr_array

        corners, shares = goals.points.corners.numpy(), goals.points.shares.numpy()
        points = np.repeat(np.arange(len(goals.points)), len(corners))
        # Vertices without a point keep no row.
        vertices, columns = np.unique(corners.T.ravel(), return_inverse=True)
        weights = csr_array((shares.T.ravel(), (points, columns)))
        weights.eliminate_zeros()
        weighted = weights.multiply(factors.numpy()[:, None]).T.tocsr()
        matrix = csr_array(weighted @ weights)
        matrix.sort_indices()
        # Unsigned, since a loop would ask of each signed index whether it counts from the end.
        rows = vertices, matrix.indptr, vertices[matrix.indices]
        self._rows = [part.astype(np.uint32) for part in rows]
        self._values, self._weighted = matrix.data, weighted
        # Of explicit steps, many lie between the same two samples.
        self._pulls: dict[int, Tensor] = {}
        self._present = self._pull(targets)

    @staticmethod
    def of(goals: _GoalPoints, factors: Tensor, targets: Tensor) -> _VertexForces | None:
        """Return those on the CPU, and None elsewhere."""
        return _VertexForces(goals, factors, targets) if runs_loops(factors) else None

    def _pull(self, targets: Tensor) -> Tensor:
        """Return b, (3, A)."""
        return torch.as_tensor(np.ascontiguousarray((self._weighted @ targets.numpy().T).T))

    def go_to(self, targets: TensorChannel, frame: int, fraction: float) -> None:
        """Interpolate b at a time."""
        first, second, part = targets.interval(frame, fraction)
        if first not in self._pulls or second not in self._pulls:
            known, samples = self._pulls, targets.samples
            self._pulls = {
                index: known[index] if index in known else self._pull(samples[index])
                for index in (first, second)
            }
        torch.lerp(self._pulls[first], self._pulls[second], part, out=self._present)

    def act(self, targets: Tensor) -> None:
        """Set b to that of (3, P) targets."""
        self._present.copy_(self._pull(targets))

    def add(self, values: Tensor, out: Tensor) -> None:
        """Adds the gradient at (3, N) values of x to ``out``."""
        arrays = values.contiguous().numpy(), self._present.numpy()
        add_spring_forces(*(*self._rows, self._values, *arrays, out.numpy()))


class GoalDamping(PrescribedPotential):
    """The force −c (W v − ṫ) on points W x of a body whose targets t move.

    Over an implicit step of s seconds it is the gradient of c/(2s) |W (x − x̂) − (t − t̂)|², where
    x̂ and t̂ are the positions from which points and targets with the final velocities (x − x̂)/s
    and (t − t̂)/s would have come.

    Args:
        goals: the points.
        times: of the frames.
    """

    is_dissipative = True

    def __init__(self, goals: _GoalPoints, times: FrameTimes) -> None:
        super().__init__(goals.targets)
        #: The points and their targets.
        self.goals = goals
        self._times = times
        #: ṫ, (3, P) in m/s.
        self.parameters = self.at(0, 0.0).clone()
        # The rate of the channel, valid while the channel is the same.
        self._rate: Tensor | None = None
        self._time = 0, 0.0
        self._seconds = math.inf
        self._before = torch.zeros_like(self.parameters)
        self._forces = _VertexForces.of(goals, goals.damping, self.parameters)

    @staticmethod
    def of(system: Nodes, body: int, goals: Goals) -> GoalDamping:
        owner = system.bodies[body]
        if owner.pose is None or owner.goals is goals:
            points = _GoalPoints.of(system, body, goals)
        else:
            points = _GoalPoints.throughout(system, body, owner.pose, goals)
        return GoalDamping(points, system.frame_times)

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> GoalDamping:
        taped, targets = copy(self), self.goals.targets.with_samples(quantities[f"targets {index}"])
        dashpots = quantities[f"dashpots {index}"]
        taped.goals = replace(self.goals, damping=dashpots, targets=targets)
        taped.parameters, taped._time = taped.at(frame, fraction), (frame, fraction)
        taped._forces = None
        return taped

    def at(self, frame: int, fraction: float) -> Tensor:
        return self.goals.targets.rate(frame, fraction, self._times.of(frame))

    def go_to(self, frame: int, fraction: float) -> None:
        self._time = frame, fraction
        rate = self.at(frame, fraction)
        if rate is not self._rate:
            self.act(rate)
            self._rate = rate

    def act(self, parameters: Tensor) -> None:
        super().act(parameters)
        self._rate = None
        if self._forces is not None:
            self._forces.act(parameters)

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        if self._forces is None:
            self.goals.points.add_pulls(velocities, self.parameters, self.goals.damping, out)
        else:
            self._forces.add(velocities, out)

    def begin_time_step(self, step: TimeStep) -> None:
        self._seconds = math.inf if step.is_static else step.seconds
        if step.is_static:
            return
        displacement = self._target(0.0)
        for weight, _, seconds in step.history:
            displacement = displacement - weight * self._target(seconds)
        #: W x without relative motion.
        self._before = self.goals.points.gather(step.coasting_origin) + displacement

    def energy(self, positions: Tensor) -> Tensor:
        if self._seconds == math.inf:
            return positions.new_zeros(())
        displacement = self.goals.points.gather(positions).sub_(self._before)
        return 0.5 * (self.goals.damping * displacement.square()).sum() / self._seconds

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        if self._seconds == math.inf:
            return
        displacement = self.goals.points.gather(positions).sub_(self._before)
        self.goals.points.add(displacement.mul_(self.goals.damping / self._seconds), out)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        if self._seconds < math.inf:
            self.goals.add_hessian(self.goals.damping / self._seconds, matrix)

    def _target(self, seconds_before: float) -> Tensor:
        """Return the (3, P) targets a time before the end of the latest step, at the start at
        the earliest.
        """
        frame, fraction = self._time
        time = max(0.0, frame + fraction - seconds_before / self._times.of(frame))
        whole = min(frame, int(time))
        return self.goals.targets.at(whole, time - whole)


def carried_masses(system: Nodes, body: int, goals: Goals) -> FloatArray:
    """Return the (P,) masses of the points of goals, in kg."""
    return _carriers(system, body, goals)[2]


def _carriers(
    system: Nodes, body: int, goals: Goals
) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """(P, 4) tet vertices that carry points with goals, their (P, 4) shares, and the (P,) masses of
    the points in kg."""
    owner, mesh = system.bodies[body], system.meshes[body]
    masses = mesh.lumped_mass(owner.density)
    if owner.goals is goals:
        vertices = goals.vertices.astype(np.int64)
        shares = np.tile([1.0, 0.0, 0.0, 0.0], (len(vertices), 1))
        return np.tile(vertices[:, None], 4), shares, masses[vertices]
    embedding = skin_embedding_of(owner)
    point_masses = _point_masses(embedding.indices, embedding.weights, masses)
    corners = embedding.indices[goals.vertices].astype(np.int64)
    return corners, embedding.weights[goals.vertices], point_masses[goals.vertices]


def _point_masses(corners: NDArray[np.int32], shares: FloatArray, masses: FloatArray) -> FloatArray:
    """Return the (V,) masses of all points of a skin. The mass of each tet vertex is distributed
    to the points that it carries, and the mass deep inside to all points."""
    carried = np.maximum(shares, 0.0)
    total = np.bincount(corners.ravel(), carried.ravel(), len(masses))
    point_masses: FloatArray = (
        carried * (masses / np.where(total > 0.0, total, 1.0))[corners]
    ).sum(1)
    return point_masses * (masses.sum() / point_masses.sum())
