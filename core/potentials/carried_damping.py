# SPDX-License-Identifier: GPL-3.0-or-later
"""Damping in proportion to mass, relative to the motion of the pins and goals that carry a body."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..compiled import runs_loops
from ..geometry.groups import components
from ..geometry.rigid_motion import MIN_INERTIA_RATIO, angular_velocity, rigid_velocity, skew
from ..kernels import carried_damping as loops
from ..math3.torch_matrices import segment_sums
from ..scene.channel import ROUNDING
from .attachments import attached_vertices
from .goals import GoalSprings
from .nodes import Nodes
from .potential import PrescribedPotential, TimeStep

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class RigidMotion(NamedTuple):
    """The rigid motion that displaces points the most alike.

    Args:
        centre: (G, 3) the mean of the points of each of G groups at the start, in metres.
        shift: (G, 3) displacement of the mean, in metres.
        rotation: (G, 3) axis times angle in radians.
        remainder: (P, 3) displacement of each point without the rigid motion, in metres.
    """

    centre: Tensor
    shift: Tensor
    rotation: Tensor
    remainder: Tensor


@dataclass(frozen=True, eq=False)
class _Interval:
    """The motion of carrying points, which go straight from a sample to the next.

    Args:
        centre, shift: (G, 3) the mean of each group at the first sample, and how far it goes.
        moments: (3, G, 3, 3) inertia of the places about the mean, a + s b, by the powers of the
            part s of the way.
        momentum: (G, 3) mean of a × b, which stays.
        forces: (3, N) of a and of b as if they were velocities in m/s, in newtons.
    """

    centre: Tensor
    shift: Tensor
    moments: Tensor
    momentum: Tensor
    forces: tuple[Tensor, ...]

    @cached_property
    def arrays(self) -> list[NDArray[Any]]:
        """As compiled loops read it."""
        tensors = self.centre, self.shift, self.moments, self.momentum, *self.forces
        return [tensor.numpy() for tensor in tensors]


class Quantities(NamedTuple):
    """The numbers that the force depends on.

    Args:
        momentum_rates: (N,) damping times free mass, in kg/s.
        point_rates: (P,) damping times the mass that a point carries, in kg/s.
        channels: of the (3, P_k) positions of points, one after the other.
    """

    momentum_rates: Tensor
    point_rates: Tensor
    channels: list[TensorChannel]


@dataclass(frozen=True)
class _Path:
    """Points that carry.

    Args:
        channel: of their (3, P) positions.
        corners, shares: (P, 4) vertices of the system that carry the points, and by how much.
        masses: (P,) in kg that follow each point where points move otherwise than rigidly; zero for
            pins.
        name, columns: the quantity of the adjoint that has their samples, and which of its points
            they are; None where nothing is differentiated by them.
    """

    channel: TensorChannel
    corners: IntArray
    shares: FloatArray
    masses: FloatArray
    name: str | None = None
    columns: slice | IntArray | None = None


class CarriedDamping(PrescribedPotential):
    """The force α m u: with the decay of velocities v' = −α v it makes v' = −α (v − u).

    u is the velocity that carries a vertex: the rigid motion of all pins and goals of its piece of
    material, by least squares, at the position of the vertex. Attached bodies are one piece. If
    goals or a pose also deform, the rest of their velocity acts on the mass that they hold. A
    piece without pins and goals slows down against the world.

    In an implicit step u is the method's velocity of a vertex that moves along, and the force is
    constant during the step.

    Args:
        system: a scene as tensors, with the goals among its forces.
    """

    is_dissipative = True

    def __init__(self, system: Nodes, paths: list[_Path]) -> None:
        self._system, self._paths = system, paths
        corners = np.concatenate([path.corners for path in paths])
        shares = np.concatenate([path.shares for path in paths])
        pieces = pieces_of(system)
        point_pieces = pieces[corners[:, 0]]
        order = np.argsort(point_pieces, kind="stable")
        carrying, counts = np.unique(point_pieces, return_counts=True)
        group_of_piece = np.full(pieces.max() + 1, -1)
        group_of_piece[carrying] = np.arange(len(carrying))
        groups = group_of_piece[pieces]
        vertices = np.flatnonzero((groups >= 0) & ~system.is_pinned)
        self._vertices, self._groups = self._index(vertices), self._index(groups[vertices])
        self._vertex_groups = self._index(np.maximum(groups, 0))
        self._carried = torch.zeros_like(system.mass).index_fill_(0, self._vertices, 1.0)
        self._order = self._index(order)
        self._offsets = self._index(np.append(0, np.cumsum(counts)))
        self._sizes: list[int] = counts.tolist()
        self._counts = torch.as_tensor(counts).to(system.mass)[:, None]
        self._point_groups = self._index(group_of_piece[point_pieces[order]])
        self._corners = self._index(corners[order])
        self._shares = torch.as_tensor(shares[order]).to(system.mass)
        # Most points are vertices, and have one of four shares: points, vertices and shares.
        points, places = torch.nonzero(self._shares, as_tuple=True)
        self._carriers = points, self._corners[points, places], self._shares[points, places]
        self._masses = np.concatenate([path.masses for path in paths])
        self._intervals = math.lcm(*(path.channel.per_frame for path in paths))
        self.quantities = self._present_quantities()
        self._carried_rates = self._carried * self.quantities.momentum_rates
        self._has_loops = runs_loops(system)
        self._group_array = self._vertex_groups.cpu().numpy()
        self._present = (0, 0), self._interval_in((0, 0), self.quantities)
        self._time = 0, 0.0
        # The last frame in which bodies are set down, and the vertices of those.
        self._set_down: tuple[int, list[slice]] = -1, []
        self._force: Tensor | None = None
        #: (3, 3 G + N) centre, velocity and angular velocity of each group, then the force by
        #: non-rigid motion, in newtons.
        self._start = torch.zeros_like(system.rest_positions())
        self.parameters = self.at(0, 0.0)

    @staticmethod
    def of(system: Nodes) -> CarriedDamping | None:
        """Build the damping relative to the pins and goals of a system; None where none of them
        moves."""
        paths = [*_pin_paths(system), *_goal_paths(system), *_pose_paths(system)]
        if all(path.channel.is_constant for path in paths):
            return None
        return CarriedDamping(system, paths)

    @property
    def is_constant(self) -> bool:
        return False

    def quantities_on(self, tensors: Mapping[str, Tensor]) -> Quantities:
        """The numbers that the force depends on, by the names that the adjoint has for them."""
        damping, mass = tensors["damping"], tensors["mass"]
        ratio = mass / self._system.mass
        channels = [
            path.channel.with_samples(tensors[path.name][:, :, path.columns])
            if path.name
            else path.channel
            for path in self._paths
        ]
        return self._quantities(damping, mass * self._system.free, ratio, channels)

    def at(self, frame: int, fraction: float) -> Tensor:
        out = self._start.new_empty(3, 3 * len(self._counts) + self._system.vertex_count)
        self._write(frame, fraction, out)
        return out

    def _write(self, frame: int, fraction: float, out: Tensor) -> None:
        """Write the parameters at that time into a tensor."""
        number = self._number_of(fraction)
        if (frame, number) != self._present[0]:
            self._present = (frame, number), self._interval_in((frame, number), self.quantities)
        interval, part = self._present[1], fraction * self._intervals - number
        if self._has_loops:
            per_second = self._intervals / self._system.frame_times.of(frame)
            arguments: list[Any] = [*interval.arrays, self._group_array, MIN_INERTIA_RATIO]
            arguments.append(out.numpy())
            loops.write_parameters(part, per_second, *arguments)
        else:
            out.copy_(self._parameters_at(interval, frame, part))
        self._set_down_in(out, frame)

    def set_down(self, frame: int, where: slice) -> None:
        before, slices = self._set_down
        self._set_down = frame, [*(slices if before == frame else []), where]

    def _set_down_in(self, parameters: Tensor, frame: int) -> None:
        """Let nothing carry bodies that are set down in a frame, by its parameters."""
        at, slices = self._set_down
        for where in slices if at == frame else []:
            is_own = (self._vertices >= where.start) & (self._vertices < where.stop)
            groups, count = torch.unique(self._groups[is_own]), len(self._counts)
            parameters[:, count + groups] = 0.0
            parameters[:, 2 * count + groups] = 0.0
            parameters[:, 3 * count :][:, where] = 0.0

    def go_to(self, frame: int, fraction: float) -> None:
        self._write(frame, fraction, self.parameters)
        self._time = frame, fraction

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        if not self._has_loops:
            out.sub_(self._rate_forces(positions, self.parameters, self.quantities))
            return
        tensors = positions, self.parameters, self._vertex_groups, self._carried_rates, out
        loops.add_rate_forces(*(tensor.numpy() for tensor in tensors))

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> CarriedDamping:
        taped, number = copy(self), self._number_of(fraction)
        taped.quantities = self.quantities_on(quantities)
        interval = taped._interval_in((frame, number), taped.quantities)
        part = fraction * self._intervals - number
        taped.parameters = taped._parameters_at(interval, frame, part)
        taped._time, taped._has_loops = (frame, fraction), False
        return taped

    def begin_time_step(self, step: TimeStep) -> None:
        self._force = None
        if not step.is_static:
            self._start = step.start
            self._force = self._step_force(step, self.quantities, *self._time)

    def energy(self, positions: Tensor) -> Tensor:
        if self._force is None:
            return positions.new_zeros(())
        return -(self._force * (positions - self._start)).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        if self._force is not None:
            out.sub_(self._force)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Add nothing: the energy is linear."""

    def _index(self, indices: NDArray[Any]) -> Tensor:
        return torch.as_tensor(indices.astype(np.int64), device=self._system.device)

    def _present_quantities(self) -> Quantities:
        system = self._system
        damping = system.damping + torch.zeros_like(system.mass)
        channels = [path.channel for path in self._paths]
        return self._quantities(damping, system.free_mass, torch.ones_like(damping), channels)

    def _quantities(
        self, damping: Tensor, free_mass: Tensor, ratio: Tensor, channels: list[TensorChannel]
    ) -> Quantities:
        masses = torch.as_tensor(self._masses).to(damping)[self._order] * ratio[self._corners[:, 0]]
        return Quantities(
            damping * free_mass, (damping[self._corners] * self._shares).sum(1) * masses, channels
        )

    def _number_of(self, fraction: float) -> int:
        return min(int(fraction * self._intervals + ROUNDING), self._intervals - 1)

    def _points(self, quantities: Quantities, frame: int, fraction: float) -> Tensor:
        """Return the (P, 3) points at a time, group by group."""
        places = [channel.at(frame, fraction) for channel in quantities.channels]
        return torch.cat(places, dim=1).index_select(1, self._order).T

    def _motion(self, start: Tensor, end: Tensor) -> RigidMotion:
        """Between two (P, 3) places of the points."""
        return rigid_motion(start, end, self._point_groups, self._offsets)

    def _means(self, values: Tensor) -> Tensor:
        """Return the (G, …) means of (P, …) values."""
        sums = segment_sums(values.contiguous(), self._offsets)
        return sums / self._counts.view(-1, *(1 for _ in values.shape[1:]))

    def _interval_in(self, interval: tuple[int, int], quantities: Quantities) -> _Interval:
        frame, number = interval
        fractions = number / self._intervals, (number + 1) / self._intervals
        start, end = (self._points(quantities, frame, fraction) for fraction in fractions)
        centre, change = self._means(start), end - start
        shift = self._means(change)
        groups = self._point_groups
        arms, bends = start - centre.index_select(0, groups), change - shift.index_select(0, groups)
        both = torch.cat([arms, bends], dim=1)
        sums = [group.T @ group for group in torch.split(both, self._sizes)]
        products = torch.stack(sums) / self._counts[:, :, None]
        mixed = products[:, :3, 3:]
        squares = torch.stack([products[:, :3, :3], mixed + mixed.mT, products[:, 3:, 3:]])
        traces = squares.diagonal(dim1=2, dim2=3).sum(2)[:, :, None, None]
        moments = traces * torch.eye(3).to(squares) - squares
        # a × b by the differences of a bᵀ and its transpose.
        places = ((1, 2), (2, 0), (0, 1))
        momentum = torch.stack([mixed[:, i, j] - mixed[:, j, i] for i, j in places], dim=1)
        forces = self._remainder(both, quantities).contiguous()
        return _Interval(centre, shift, moments, momentum, (forces[:3], forces[3:]))

    def _parameters_at(self, interval: _Interval, frame: int, part: float) -> Tensor:
        """As ``parameters`` has them, a part of the way through an interval."""
        per_second = self._intervals / self._system.frame_times.of(frame)
        inertia = (
            interval.moments[0] + part * interval.moments[1] + part * part * interval.moments[2]
        )
        turn = angular_velocity(inertia, interval.momentum)
        arms, bends = interval.forces
        which = self._vertex_groups
        turned = torch.linalg.cross(turn.T[:, which], arms + part * bends, dim=0)
        rigid = [
            interval.centre + part * interval.shift,
            interval.shift * per_second,
            turn * per_second,
        ]
        return torch.cat([torch.cat(rigid).T, (bends - turned) * per_second], dim=1)

    def _remainder(self, velocities: Tensor, quantities: Quantities) -> Tensor:
        """(K, N) newtons by the (P, K) velocities of points that are left of rigid motions."""
        points, vertices, shares = self._carriers
        rates = shares * quantities.point_rates.index_select(0, points)
        parts = rates[:, None] * velocities.index_select(0, points)
        sums = parts.new_zeros(self._system.vertex_count, parts.shape[1])
        return sums.index_add_(0, vertices, parts).T * self._system.free

    def _rate_forces(self, positions: Tensor, parameters: Tensor, quantities: Quantities) -> Tensor:
        groups = len(self._counts)
        centre, shift, turn = parameters[:, : 3 * groups].reshape(3, 3, groups).unbind(1)
        if groups == 1:
            velocities = torch.linalg.cross(turn, positions - centre, dim=0) + shift
            return torch.addcmul(
                parameters[:, 3:], self._carried * quantities.momentum_rates, velocities
            )
        which = self._groups
        arms = positions[:, self._vertices] - centre[:, which]
        velocities = shift[:, which] + torch.linalg.cross(turn[:, which], arms, dim=0)
        rigid = quantities.momentum_rates[self._vertices] * velocities
        return parameters[:, 3 * groups :].index_add(1, self._vertices, rigid)

    def _step_force(
        self, step: TimeStep, quantities: Quantities, frame: int, fraction: float
    ) -> Tensor:
        """Return the (3, N) forces through an implicit step that ends at a time, in newtons."""
        # From each place of the past to the next later one, and at last to the end.
        past = sorted(step.history, key=lambda place: -place.seconds)
        ends = [*(place.seconds for place in past[1:]), 0.0]
        whole, total = None, 0.0
        for (weight, _, since), until in zip(past, ends, strict=True):
            total += weight
            motion = self._displacement(step, quantities, (frame, fraction), since, until)
            motion = tuple(total * part for part in motion)
            whole = motion if whole is None else tuple(map(torch.add, whole, motion))
        assert whole is not None
        rigid, remainder = (part / step.seconds for part in whole)
        force = self._remainder(remainder, quantities)
        carried = quantities.momentum_rates[self._vertices] * rigid
        force = force.index_add(1, self._vertices, carried)
        at, slices = self._set_down
        # A step that looks back to before the frame would find the jump in its past.
        is_late = frame == at + 1 and len(past) > 1
        for where in slices if frame == at or is_late else []:
            force[:, where] = 0.0
        return force

    def _displacement(
        self,
        step: TimeStep,
        quantities: Quantities,
        end: tuple[int, float],
        since: float,
        until: float,
    ) -> tuple[Tensor, ...]:
        """Return the (3, n) displacement between two times, in seconds before the step's end, of
        vertices that start the step at their present positions, and the remaining displacement
        of (P, 3) points."""
        start_points, end_points = (
            self._points(quantities, *self._before(*end, seconds)) for seconds in (since, until)
        )
        motion = self._motion(start_points, end_points)
        turned = torch.linalg.matrix_exp(skew(motion.rotation)) - torch.eye(3).to(start_points)

        def displaced(places: Tensor, groups: Tensor) -> Tensor:
            arms = places - motion.centre[groups]
            return motion.shift[groups] + (turned[groups] @ arms[:, :, None])[:, :, 0]

        rigid = displaced(step.start[:, self._vertices].T, self._groups).T
        carried = displaced(start_points, self._point_groups)
        return rigid, end_points - start_points - carried

    def _before(self, frame: int, fraction: float, seconds: float) -> tuple[int, float]:
        """A time so long before another, at the start at the latest."""
        time = max(0.0, frame + fraction - seconds / self._system.frame_times.of(frame))
        whole = min(frame, int(time))
        return whole, time - whole


def rigid_motion(
    start: Tensor, end: Tensor, groups: Tensor, offsets: Tensor | None = None
) -> RigidMotion:
    """The rigid motion of each group of points that leaves the least of their displacements.

    The displacement of a point by a rotation of the angle θ about an axis a is the cross product of
    2 tan(θ/2) a and its place half the way, seen from the axis: least squares for that vector are
    linear (Cayley's transform). Points on a line are not turned about it.

    Args:
        start, end: (P, 3) in metres, group by group.
        groups: (P,) the group of each point.
        offsets: (G + 1,) index of the first point of each group, and P; None for one group.
    """
    middle, change = (0.5 * (start + end)).T, (end - start).T
    motion = rigid_velocity(torch.ones_like(middle[0]), middle, change, offsets)
    centre, shift, tangent = motion
    length = tangent.square().sum(1, keepdim=True)
    length = length.clamp(min=torch.finfo(tangent.dtype).tiny).sqrt()
    rotation = tangent * (2.0 * torch.atan(0.5 * length) / length)
    remainder = (change - motion.at(middle, groups)).T
    return RigidMotion(centre - 0.5 * shift, shift, rotation, remainder)


def _pin_paths(system: Nodes) -> Iterator[_Path]:
    column = 0
    for body, first in zip(system.bodies, system.vertex_offsets, strict=False):
        if body.pinned is None or len(body.pinned) == 0:
            continue
        vertices, moving = first + np.asarray(body.pinned, dtype=np.int64), system.moving_pins
        columns = slice(column, column + len(vertices))
        if body.pin_path is None or moving is None:
            channel, name = TensorChannel(system.initial_positions[None, :, vertices]), None
        else:
            channel, name, column = moving.path, "pins", columns.stop
            channel = channel.with_samples(channel.samples[:, :, columns])
        if body.pose is None:
            yield _Path(channel, *_vertex_places(vertices), np.zeros(len(vertices)), name, columns)


def _goal_paths(system: Nodes) -> Iterator[_Path]:
    for index, force in enumerate(system.forces):
        if not isinstance(force, GoalSprings):
            continue
        goals = force.goals
        corners = goals.points.corners.T.cpu().numpy()
        body = system.bodies[system.bodies_of(corners[:1, 0])[0]]
        acting = np.flatnonzero((goals.stiffness > 0.0).cpu().numpy())
        if body.pose is not None or len(acting) == 0:
            continue
        targets = goals.targets.with_samples(goals.targets.samples[:, :, acting])
        shares = goals.points.shares.T.cpu().double().numpy()
        name = f"targets {index}"
        yield _Path(targets, corners[acting], shares[acting], goals.masses[acting], name, acting)


def _pose_paths(system: Nodes) -> Iterator[_Path]:
    for body, where in zip(system.bodies, system.body_slices(), strict=True):
        if body.pose is not None:
            pose = system.tensor_channel(body.pose.mapped(lambda samples: samples.swapaxes(1, 2)))
            masses = system.mass[where].cpu().double().numpy()
            yield _Path(pose, *_vertex_places(np.arange(where.start, where.stop)), masses)


def _vertex_places(vertices: IntArray) -> tuple[IntArray, FloatArray]:
    """(P, 4) corners and shares of points that are vertices."""
    return np.tile(vertices[:, None], 4), np.tile([1.0, 0.0, 0.0, 0.0], (len(vertices), 1))


def pieces_of(system: Nodes) -> IntArray:
    """(N,) the number of the piece of material that each vertex belongs to."""
    placed = zip(system.meshes, system.vertex_offsets, strict=False)
    tets = [mesh.tets + first for mesh, first in placed]
    links = [np.concatenate([tet[:, [0, k]] for tet in tets]) for k in (1, 2, 3)]
    if system.scene.attaches_bodies:
        attached = attached_vertices(system.scene, system.vertex_offsets)
        links.append(np.column_stack([attached.vertices, attached.corners[:, 0]]))
    return components(system.vertex_count, np.concatenate(links)).astype(np.int64)
