# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how explicit steps meet the ground with points that vertices share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..kernels.point_ground_adjoint import (
    ByPoints,
    PointContacts,
    PointMotion,
    PointSweeps,
    meet_again,
    meet_back,
)
from ..obstacles.barrier_step import smallest_ratio
from ..obstacles.embedded_barrier_step import EmbeddedBarrierStep
from ..system import System
from .quantities import Quantities

Values = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class PointMeeting:
    """K points that the ground may push at the end of a step, and the n vertices they are of.

    Args:
        rows: (K,) of them among the ground's points.
        vertices: (n,) among all.
        positions, velocities: (3, n) before it does.
        normal, friction: (K,) and (K, 2) forces that the step before has left.
    """

    rows: Tensor
    vertices: Tensor
    positions: Tensor
    velocities: Tensor
    normal: Values
    friction: Values


def embedded_step(system: System) -> EmbeddedBarrierStep | None:
    """How explicit steps of a system meet the ground with points, if they do."""
    steps = (own for own in system.obstacles.steps if isinstance(own, EmbeddedBarrierStep))
    return next(steps, None)


class PointGroundAdjoint:
    """Of ``EmbeddedBarrierStep``, whose forces go on from one step to the next in a frame.

    Args:
        step: of the ground.
        system: with a barrier under points.
        given: quantities.
        found: the gradients by those that require grad, which grow.
    """

    def __init__(
        self,
        step: EmbeddedBarrierStep,
        system: System,
        given: Quantities,
        found: dict[str, Tensor],
    ) -> None:
        assert step.arrays is not None and system.ground_barrier is not None
        self._step, self.arrays, self.barrier = step, step.arrays, system.ground_barrier
        self.given = {name: own.detach() for name, own in given.items()}
        self.found, self.inverse_mass = found, system.inverse_mass
        self.begin()

    def begin(self) -> None:
        """Goes to the end of a frame: what follows begins without forces."""
        #: (S,) and (S, 2) gradients by the forces that the next step goes on from.
        self.by_normal = np.zeros_like(self.arrays.forces)
        self.by_friction = np.zeros_like(self.arrays.friction_forces)

    def meeting(self, positions: Tensor, velocities: Tensor) -> PointMeeting | None:
        """Of (3, N) positions and velocities at the end of a step; None where nothing is near."""
        rows, normal, friction = self._step.near(positions)
        if len(rows) == 0:
            return None
        vertices = torch.as_tensor(np.unique(self.arrays.corners[rows]).astype(np.int64))
        state = positions[:, vertices], velocities[:, vertices]
        return PointMeeting(torch.as_tensor(rows), vertices, *state, normal, friction)

    def response(self, meeting: PointMeeting, step: float, impulse_times: Tensor) -> PointResponse:
        """What the ground does then, over (N,) impulse times in seconds."""
        return PointResponse(self, meeting, step, impulse_times)


class PointResponse:
    """What the ground does to points that meet it: ``Response`` for points that share vertices.

    Args:
        ground: that they meet.
        meeting: of the points.
        step: in seconds.
        impulse_times: (N,) over which forces change velocities, in seconds.
    """

    def __init__(
        self,
        ground: PointGroundAdjoint,
        meeting: PointMeeting,
        step: float,
        impulse_times: Tensor,
    ) -> None:
        self._ground, self.meeting, self._step = ground, meeting, step
        given, rows, at = ground.given, meeting.rows.numpy(), meeting.vertices
        self._times = impulse_times[at]
        compliance = (step * self._times * ground.inverse_mass[at]).numpy()
        corners = np.searchsorted(at.numpy(), ground.arrays.corners[rows])
        shares = ground.arrays.shares[rows]
        self._points = PointContacts(
            corners,
            shares,
            given["weights"].numpy()[rows],
            ground.barrier.distances.numpy()[rows],
            given["static"].numpy()[rows],
            given["kinetic"].numpy()[rows],
            compliance,
            (shares**2 * compliance[corners]).sum(1),
            ground.barrier.height,
            smallest_ratio(self._times.dtype),
            step,
        )
        self._motion = PointMotion(
            meeting.positions[2].numpy().copy(),
            meeting.velocities.numpy().copy(),
            meeting.normal.copy(),
            meeting.friction.copy(),
        )
        self._sweeps = PointSweeps.of(len(rows), shares.dtype)
        meet_again(self._points, self._motion, self._sweeps)
        #: (3, n) after it.
        self.velocities = torch.as_tensor(self._motion.velocities.copy())

    def back(self, by_positions: Tensor, by_velocities: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(3, n) gradients by positions and velocities before it, and the (n,) one by impulse
        times, from the (3, n) ones by those after it."""
        ground, rows, step = self._ground, self.meeting.rows, self._step
        places, points = by_positions.numpy(), self._points
        out = ByPoints(
            np.zeros_like(points.weights),
            np.zeros_like(points.static),
            np.zeros_like(points.kinetic),
            np.zeros_like(points.compliance),
            np.zeros_like(points.own),
            np.zeros_like(points.own[:1]),
            places[2].copy(),
            by_velocities[:2].numpy() + step * places[:2],
            by_velocities[2].numpy().copy(),
            ground.by_normal[rows],
            ground.by_friction[rows],
        )
        meet_back(points, self._motion, self._sweeps, out)
        ground.begin()
        ground.by_normal[rows], ground.by_friction[rows] = out.normal, out.friction
        compliance = torch.as_tensor(out.compliance)
        by_times = step * compliance * ground.inverse_mass[self.meeting.vertices]
        self._add("height", torch.as_tensor(out.height[0]))
        for name in ("weights", "static", "kinetic"):
            self._add(name, torch.as_tensor(getattr(out, name)), rows)
        mass = ground.given["mass"][self.meeting.vertices]
        self._add("mass", -self._times * by_times / mass, self.meeting.vertices)
        positions = torch.cat([by_positions[:2], torch.as_tensor(out.heights)[None]])
        sliding = torch.as_tensor(out.sliding) - step * by_positions[:2]
        return positions, torch.cat([sliding, by_velocities[2:]]), by_times

    def _add(self, name: str, values: Tensor, at: Tensor | None = None) -> None:
        found = self._ground.found.get(name)
        if found is None:
            return
        if at is None:
            found += values
        else:
            found.index_add_(0, at, values)
