# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how explicit steps meet the ground."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..kernels.barrier import barrier_derivatives
from ..obstacles.barrier_step import barrier_proximal
from ..potentials import GroundBarrier
from ..system import System
from .quantities import Quantities


@dataclass(frozen=True)
class Meeting:
    """The vertices that the ground corrects at the end of a step.

    Args:
        rows: (K,) of them among the ground's points.
        vertices: (K,) of them among all.
        positions, velocities: (3, K) before it does.
    """

    rows: Tensor
    vertices: Tensor
    positions: Tensor
    velocities: Tensor


class GroundAdjoint:
    """Of ``BarrierStep``.

    Args:
        system: with a barrier under vertices.
        given: quantities.
        found: the gradients by those that require grad, which grow.
    """

    def __init__(self, system: System, given: Quantities, found: dict[str, Tensor]) -> None:
        barrier = system.ground_barrier
        assert barrier is not None
        self.barrier: GroundBarrier = barrier
        self.given = {name: own.detach() for name, own in given.items()}
        self.found = found
        self._tops = barrier.height + barrier.distances

    def meeting(self, positions: Tensor, velocities: Tensor) -> Meeting | None:
        """Of (3, N) positions and velocities at the end of a step; None where nothing touches."""
        rows = torch.nonzero(positions[2, self.barrier.vertices] < self._tops).flatten()
        if len(rows) == 0:
            return None
        vertices = self.barrier.vertices[rows]
        return Meeting(rows, vertices, positions[:, vertices], velocities[:, vertices])

    def response(self, meeting: Meeting, step: float, impulse_times: Tensor) -> Response:
        """What the ground does then, over (N,) impulse times in seconds."""
        return Response(self, meeting, step, impulse_times)

    def begin(self) -> None:
        """Goes to the end of a frame: no step hangs on the ground's forces in the one before."""


class Response:
    """What the ground does to vertices that meet it.

    A vertex is lifted to the root u of u − s + κ β'(u) = 0, s its height before and κ the stiffness
    over mass times the squared time, so that du = (ds − β'(u) dκ) / (1 + κ β''(u)). By what its
    speed changes, friction stops it or slows it down.

    Args:
        ground: that it meets.
        meeting: of the vertices.
        step: in seconds.
        impulse_times: (N,) over which forces change velocities, in seconds.
    """

    def __init__(
        self, ground: GroundAdjoint, meeting: Meeting, step: float, impulse_times: Tensor
    ) -> None:
        self._ground, self.meeting, self._step = ground, meeting, step
        given, rows, at = ground.given, meeting.rows, meeting.vertices
        self._times, self._mass = impulse_times[at], given["mass"][at]
        self._weights, self._distances = given["weights"][rows], ground.barrier.distances[rows]
        self._static, self._kinetic = given["static"][rows], given["kinetic"][rows]
        self._stiffness = step * self._times * self._weights / (self._mass * self._distances)
        height, before = ground.barrier.height, meeting.positions[2]
        ratio = barrier_proximal((before - height) / self._distances, self._stiffness)
        self._slope, self._curvature = barrier_derivatives(ratio)
        self._change = (height + ratio * self._distances - before) / step
        sliding = meeting.velocities[:2]
        speed = torch.linalg.vector_norm(sliding, dim=0)
        self._stops = speed <= self._static * self._change
        self._speed = speed.clamp(min=torch.finfo(speed.dtype).tiny)
        self._way = sliding / self._speed

    @property
    def velocities(self) -> Tensor:
        """(3, K) after it."""
        slowed = 1.0 - self._kinetic * self._change / self._speed
        kept = torch.where(self._stops, 0.0, slowed)
        sliding = kept * self.meeting.velocities[:2]
        return torch.cat([sliding, (self.meeting.velocities[2] + self._change)[None]])

    def back(self, by_positions: Tensor, by_velocities: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(3, K) gradients by positions and velocities before it, and the (K,) one by impulse
        times, from the (3, K) ones by those after it."""
        step, slides = self._step, ~self._stops
        # Where a vertex is stopped, its way in the step is taken back too.
        reached = by_velocities[:2] + step * by_positions[:2]
        along = (reached * self._way).sum(0)
        turned = self._kinetic * self._change / self._speed * (reached - along * self._way)
        sliding = torch.where(slides, by_velocities[:2] - turned, -step * by_positions[:2])
        by_change = by_velocities[2] - slides * self._kinetic * along
        by_height = by_positions[2] + by_change / step
        by_start = by_height * self._distances / (1.0 + self._stiffness * self._curvature)
        by_stiffness = -self._slope * by_start
        before = by_start / self._distances - by_change / step
        self._add("height", (by_height - by_start / self._distances).sum())
        own = by_stiffness * self._stiffness
        self._add("weights", own / self._weights, self.meeting.rows)
        self._add("mass", -own / self._mass, self.meeting.vertices)
        self._add("kinetic", -(slides * self._change * along), self.meeting.rows)
        positions = torch.cat([by_positions[:2], before[None]])
        velocities = torch.cat([sliding, by_velocities[2:]])
        return positions, velocities, own / self._times

    def _add(self, name: str, values: Tensor, at: Tensor | None = None) -> None:
        found = self._ground.found.get(name)
        if found is None:
            return
        if at is None:
            found += values
        else:
            found.index_add_(0, at, values)
