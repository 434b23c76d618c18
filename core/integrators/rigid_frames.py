# SPDX-License-Identifier: GPL-3.0-or-later
"""The torque-free rigid motion of each piece of material, and the motion relative to it.

An implicit step along straight lines loses spin: a vertex of a body that turns by one radian in a
step would end 40 % too far out, and the force back would be damped as a vibration. Steps are
therefore taken in frames that move as the bodies would without forces, and solve for the motion
relative to these.
"""

from __future__ import annotations

import math
from copy import copy
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..math3.torch_matrices import segment_sums
from ..potentials.carried_damping import pieces_of
from ..potentials.nodes import Nodes

# Euler's equations are solved in parts of at most this angle in radians, each with an error of
# 1e-7, and in at most this many parts. A faster rotation is not visible anyway, and its frame
# turns by this limit.
MAX_PART_RAD, MAX_PARTS = 0.1, 64
# The least moments of inertia of a body, relative to those at rest: a body that a field has pulled
# together to a point does not spin faster for it.
LEAST_INERTIA_RATIO = 1e-8
# Pins no farther apart than this share of their body's diagonal are one point, or lie on one line.
HINGE_RATIO = 1e-6


class Pose(NamedTuple):
    """The places of frames at a time.

    Args:
        centre: (P, 3) of each piece, in metres.
        rotation: (P, 3, 3) since the start.
        angular: (P, 3) angular velocity in rad/s.
        acceleration: (P, 3) angular acceleration in rad/s².
    """

    centre: Tensor
    rotation: Tensor
    angular: Tensor
    acceleration: Tensor


class RigidFrames:
    """The pieces of a system that can move as rigid bodies.

    Pieces without pins are free. Pieces with resting pins at one point or along a line turn about
    it. All others stay where they are. Bodies that are attached to each other are one piece.

    Args:
        system: the system of the vertices.
    """

    def __init__(self, system: Nodes) -> None:
        pieces = pieces_of(system)
        self.count = int(pieces.max()) + 1
        self._piece = torch.as_tensor(pieces, device=system.device)
        order = np.argsort(pieces, kind="stable")
        counts = np.bincount(pieces, minlength=self.count)
        self._is_sorted = bool((np.diff(pieces) >= 0).all())
        self._order = torch.as_tensor(order, device=system.device)
        self._offsets = torch.as_tensor(np.cumsum([0, *counts]), device=system.device)
        centres, axes, freedom = _hinges(system, pieces, self.count)
        template = system.mass
        self._hinge = torch.as_tensor(centres).to(template)
        self._axis = torch.as_tensor(axes).to(template)
        #: (P, 1) whether a piece is free, turns in all directions, turns about a line.
        self._is_free, self._turns, self._hinged = (
            torch.as_tensor((freedom == kind)[:, None], device=system.device)
            for kind in (_FREE, _POINT, _LINE)
        )
        self._turns = self._turns | self._is_free
        #: (N,) whether the piece of a vertex is free.
        self.are_free = self._is_free[:, 0][self._piece]
        #: Whether no piece moves as a rigid body.
        self.are_still = bool((freedom == _STILL).all())
        #: Whether all are free.
        self._all_free = bool((freedom == _FREE).all())
        self._masses, self._whole = system.mass, self._sums(system.mass[None])
        at = system.rest_positions()
        #: (P, 3, 3) added to moments of inertia.
        self._least = LEAST_INERTIA_RATIO * self.inertia(at - self.spread(self.means(at)))

    def with_masses(self, masses: Tensor) -> RigidFrames:
        """The same frames by other (N,) masses of vertices, in kg."""
        other = copy(self)
        other._masses, other._whole = masses, other._sums(masses[None])
        return other

    def begin(self, positions: Tensor, velocities: Tensor, seconds: float) -> RigidMotion:
        """The motion of frames from a start.

        Args:
            positions, velocities: (3, N) in metres and m/s.
            seconds: for how long; frames turn no farther than 6.4 radians in them.
        """
        return RigidMotion(self, positions, velocities, seconds)

    def means(self, values: Tensor) -> Tensor:
        """Return the (P, 3) means of (3, N) values, by mass."""
        return self._sums(self._masses * values) / self._whole

    def inertia(self, arms: Tensor) -> Tensor:
        """Return the (P, 3, 3) inertia of pieces in kg m², from (3, N) arms."""
        products = self._sums(self._masses * (arms[:, None] * arms[None]).reshape(9, -1)).view(
            -1, 3, 3
        )
        trace = products.diagonal(dim1=1, dim2=2).sum(1)
        return trace[:, None, None] * torch.eye(3).to(arms) - products

    def momentum(self, arms: Tensor, velocities: Tensor) -> Tensor:
        """(P, 3) angular momentum in kg m²/s, of (3, N) arms and velocities."""
        return self._sums(self._masses * torch.linalg.cross(arms, velocities, dim=0))

    def inverse_inertia(self, inertia: Tensor) -> Tensor:
        """Return the (P, 3, 3) maps from angular momentum to angular velocity, as far as pieces
        can turn."""
        turns, hinged = self._turns[:, :, None], self._hinged[:, :, None]
        inertia = inertia + self._least
        inverse = torch.linalg.inv(torch.where(turns, inertia, torch.eye(3).to(inertia)))
        axis = self._axis[:, :, None]
        about = (axis.mT @ inertia @ axis).clamp(min=torch.finfo(inertia.dtype).tiny)
        along = axis @ axis.mT / about
        nothing = torch.zeros_like(inertia)
        return torch.where(turns, inverse, torch.where(hinged, along, nothing))

    def angular_velocities(self, arms: Tensor, momentum: Tensor) -> Tensor:
        """Return the (P, 3) angular velocities in rad/s from (3, N) arms and (P, 3) angular
        momentum, as far as pieces turn."""
        return _times(self.inverse_inertia(self.inertia(arms)), momentum)

    def centres(self, positions: Tensor) -> Tensor:
        """Return the (P, 3) centres of mass of free pieces, and the hinges of others, in metres."""
        if self._all_free:
            return self.means(positions)
        return torch.where(self._is_free, self.means(positions), self._hinge)

    def mean_velocities(self, velocities: Tensor) -> Tensor:
        """Return the (P, 3) mean velocities of free pieces; a piece that turns about a hinge has
        none."""
        return torch.where(self._is_free, self.means(velocities), 0.0)

    def spread(self, values: Tensor) -> Tensor:
        """Spread (P, 3) values of pieces to (3, N) values of vertices, or (3, 1) of a single
        piece."""
        return values.T if self.count == 1 else values.T[:, self._piece]

    def rotated(self, rotations: Tensor, vectors: Tensor) -> Tensor:
        """(3, N) vectors, turned by the (P, 3, 3) rotation of their piece."""
        if self.count == 1:
            return rotations[0] @ vectors
        return (rotations[self._piece] @ vectors.T[:, :, None])[:, :, 0].T

    def _sums(self, values: Tensor) -> Tensor:
        """Return the (P, …) sums of (…, N) values."""
        if self.count == 1:
            return values.sum(-1)[None]
        columns = values.T if self._is_sorted else values.T[self._order]
        return segment_sums(columns.contiguous(), self._offsets)


class RigidMotion:
    """The motion of frames without forces. Their centres move on straight lines, and they keep the
    angular momentum of the start, so that bodies with unequal moments of inertia tumble.

    Positions in a piece are relative to its present centre of mass. If forces have moved that away
    from the frame's centre, it keeps its motion and does not turn with the frame.

    Args:
        frames: the rigid frames of a system.
        positions, velocities: (3, N) of vertices at the start, in metres and m/s.
        seconds: the duration of the motion.
    """

    def __init__(
        self, frames: RigidFrames, positions: Tensor, velocities: Tensor, seconds: float
    ) -> None:
        self.frames = frames
        self.centre, self.linear = frames.centres(positions), frames.mean_velocities(velocities)
        arms = positions - frames.spread(self.centre)
        self._momentum = frames.momentum(arms, velocities)
        self._inverse = frames.inverse_inertia(frames.inertia(arms))
        self._poses: dict[float, Pose] = {}
        speeds = torch.linalg.vector_norm(_times(self._inverse, self._momentum), dim=1)
        most = MAX_PARTS * MAX_PART_RAD / max(abs(seconds), torch.finfo(speeds.dtype).tiny)
        if bool((speeds > most).any()):
            self._momentum = self._momentum * (most / speeds).clamp(max=1.0)[:, None]

    def turn(self, seconds: float) -> float:
        """Return the largest rotation of any piece in ``seconds``, in radians."""
        speed = torch.linalg.vector_norm(self._angular_at(_identity(self.centre)), dim=1)
        return float(speed.detach().max()) * abs(seconds)

    def at(self, seconds: float) -> Pose:
        """The pose so long after the start, or before it."""
        if seconds not in self._poses:
            self._poses[seconds] = self._find_pose(seconds)
        return self._poses[seconds]

    def _find_pose(self, seconds: float) -> Pose:
        rotation = _identity(self.centre)
        angle = self.turn(seconds)
        if seconds != 0.0:
            count = MAX_PARTS
            if math.isfinite(angle):
                count = min(MAX_PARTS, max(1, math.ceil(angle / MAX_PART_RAD)))
            rotation = self._turned(rotation, seconds / count, count)
        angular = self._angular_at(rotation)
        torque = torch.linalg.cross(angular, self._momentum, dim=1)
        acceleration = -_times(self._inverse_at(rotation), torque)
        return Pose(self.centre + seconds * self.linear, rotation, angular, acceleration)

    def _turned(self, rotation: Tensor, part: float, count: int) -> Tensor:
        """Return (P, 3, 3) rotations after ``steps`` steps of the classical Runge–Kutta method."""

        def rate(of: Tensor) -> Tensor:
            return torch.linalg.cross(self._angular_at(of)[:, :, None].expand_as(of), of, dim=1)

        for _ in range(count):
            k1 = rate(rotation)
            k2 = rate(rotation + 0.5 * part * k1)
            k3 = rate(rotation + 0.5 * part * k2)
            k4 = rate(rotation + part * k3)
            rotation = rotation + part / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
        return _orthonormal(rotation)

    def _inverse_at(self, rotation: Tensor) -> Tensor:
        return rotation @ self._inverse @ rotation.mT

    def _angular_at(self, rotation: Tensor) -> Tensor:
        return _times(self._inverse_at(rotation), self._momentum)

    def carried(self, positions: Tensor, since: float, until: float) -> Tensor:
        """Carry (3, N) positions with the frames from one time to another."""
        frames, start, end = self.frames, self.at(since), self.at(until)
        centres = frames.centres(positions)
        arms = positions - frames.spread(centres)
        arms = frames.rotated(end.rotation @ start.rotation.mT, arms)
        return frames.spread(centres + end.centre - start.centre) + arms

    def turned(self, vectors: Tensor, since: float, until: float) -> Tensor:
        """(3, N) vectors from one time to another, their means as they are."""
        frames, start, end = self.frames, self.at(since), self.at(until)
        mean = frames.spread(frames.mean_velocities(vectors))
        return mean + frames.rotated(end.rotation @ start.rotation.mT, vectors - mean)

    def velocities(self, positions: Tensor, seconds: float) -> Tensor:
        """Return the (3, N) velocities of the frames at positions, in m/s."""
        frames, pose = self.frames, self.at(seconds)
        arms = positions - frames.spread(frames.centres(positions))
        turning = frames.spread(pose.angular).expand_as(arms)
        return frames.spread(self.linear) + torch.linalg.cross(turning, arms, dim=0)

    def accelerations(
        self,
        positions: Tensor,
        deviations: Tensor,
        seconds: float,
        step: float,
        is_first_order: bool,
    ) -> Tensor:
        """Return the (3, N) accelerations of points at rest in the frames, and of moving ones by
        Coriolis's force, in m/s².

        That force by itself turns a velocity by θ = 2 ω h in a step. It acts by sin θ and, so that
        a step without other forces adds no energy, by sin⁴ θ/8 against the velocity; in steps of
        first order by 1 − cos θ.

        Args:
            positions: (3, N) in metres.
            deviations: (3, N) velocities relative to the frames, in m/s.
            seconds: the time after the start.
            step: h in seconds.
            is_first_order: whether the step is of first order.
        """
        frames, pose = self.frames, self.at(seconds)
        arms = positions - frames.spread(frames.centres(positions))
        inner = deviations - frames.spread(frames.mean_velocities(deviations))
        angular = frames.spread(pose.angular).expand_as(arms)
        turning = frames.spread(pose.acceleration).expand_as(arms)
        square = pose.angular.square().sum(1).clamp(min=torch.finfo(arms.dtype).tiny)
        half = (step / math.pi * square.sqrt()).clamp(max=0.5)
        # sin θ/θ, and the factor against the velocity over ω², in seconds.
        ratio = torch.sinc(2.0 * half)[:, None]
        if is_first_order:
            against = 2.0 * step * torch.sinc(half)[:, None] ** 2
        else:
            against = 2.0 * step**3 * ratio**4 * square[:, None]
        across = torch.linalg.cross(angular, inner, dim=0)
        out = torch.linalg.cross(turning, arms, dim=0)
        out = out + torch.linalg.cross(angular, torch.linalg.cross(angular, arms, dim=0), dim=0)
        out = out + frames.spread((2.0 * ratio).expand(-1, 3)) * across
        damping = frames.spread(against.expand(-1, 3))
        return out - damping * torch.linalg.cross(angular, across, dim=0)


_STILL, _LINE, _POINT, _FREE = range(4)


def _hinges(
    system: Nodes, pieces: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """(P, 3) points and (P, 3) directions about which pieces turn, and (P,) how they can move."""
    centres, axes = np.zeros((count, 3)), np.zeros((count, 3))
    freedom = np.full(count, _FREE)
    pinned = np.flatnonzero(system.is_pinned)
    if len(pinned) == 0:
        return centres, axes, freedom
    places = system.initial_positions.T.cpu().double().numpy()
    moving = np.zeros(system.vertex_count, dtype=bool)
    if system.moving_pins is not None:
        moving[system.moving_pins.vertices.cpu().numpy()] = True
    sizes = system.diagonals.cpu().double().numpy()
    for piece in np.unique(pieces[pinned]):
        pins = pinned[pieces[pinned] == piece]
        if moving[pins].any():
            freedom[piece] = _STILL
            continue
        centres[piece] = places[pins].mean(axis=0)
        _, widths, directions = np.linalg.svd(places[pins] - centres[piece], full_matrices=False)
        limit = HINGE_RATIO * sizes[pins].max()
        if widths[0] <= limit:
            freedom[piece] = _POINT
        elif len(widths) < 2 or widths[1] <= limit:
            freedom[piece], axes[piece] = _LINE, directions[0]
        else:
            freedom[piece] = _STILL
    return centres, axes, freedom


def _identity(centre: Tensor) -> Tensor:
    return torch.eye(3).to(centre).expand(len(centre), 3, 3)


def _times(matrices: Tensor, vectors: Tensor) -> Tensor:
    """Return the (P, 3) products of (P, 3, 3) matrices and (P, 3) vectors."""
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _orthonormal(matrices: Tensor) -> Tensor:
    """Return (P, 3, 3) rotations near matrices that are almost rotations (Gram–Schmidt)."""
    x, y, _ = matrices.unbind(2)
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    y = y - (x * y).sum(1, keepdim=True) * x
    y = y / torch.linalg.vector_norm(y, dim=1, keepdim=True)
    return torch.stack([x, y, torch.linalg.cross(x, y, dim=1)], dim=2)
