# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages of implicit steps: the positions at their ends without forces, and the velocities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from ..potentials.contact.surface import Points
from ..potentials.potential import Past
from ..system import System
from .rigid_frames import RigidFrames, RigidMotion


class Moment(NamedTuple):
    """The places and velocities of vertices at a time.

    Args:
        seconds: after the start of the step; below zero before it.
        positions, velocities: (3, N) in metres and m/s.
    """

    seconds: float
    positions: Tensor
    velocities: Tensor


@dataclass(frozen=True)
class Stage:
    """A stage of a step of h seconds that solves x' = Σ wₖ xₖ + τ v', and
    v' = r (Σ bₖ vₖ − τ α u + Σ gₖ aₖ) + σ F/m, k over the moments before it.

    In the frames of the bodies, v are the velocities relative to them, a the accelerations of these
    frames and u their velocities.

    Args:
        end: seconds after the start of the step where it ends.
        span: τ in seconds.
        positions, velocities: wₖ and bₖ.
        frame_seconds: −gₖ in seconds.
        impulse_time: σ in seconds, a number or (N,).
        retention: r, a number or (N,).
        damping: α in 1/s, a number or (N,); 0 where the velocities of moments have decayed.
        slides_from_start: whether friction depends on the displacement since the start of the
            step, instead of the velocity at its end.
    """

    end: float
    span: float
    positions: tuple[float, ...]
    velocities: tuple[float, ...]
    frame_seconds: tuple[float, ...]
    impulse_time: Tensor | float
    retention: Tensor | float = 1.0
    damping: Tensor | float = 0.0
    slides_from_start: bool = False

    def collider_origin(self, start: Points | None, end: Points | None) -> Points | None:
        """Return the (C, 3) positions from which friction measures displacements of colliders; None
        without colliders.

        Args:
            start, end: (C, 3) where they are at the start of the step and at the end of the stage.
        """
        if start is None or end is None:
            return None
        share = 1.0 if self.slides_from_start else self.span / self.end
        return end - share * (end - start)


@dataclass(frozen=True)
class Coasting:
    """The end of a stage without forces.

    Args:
        stage: the stage.
        positions: (3, N) x̃ in metres.
        base: (3, N) Σ wₖ xₖ, moved along by the frames.
        origin: (3, N) x̂ such that a vertex that ends the stage at x has the velocity (x − x̂)/τ.
        slip_origin: (3, N) start positions of tangential displacements.
        carried: (3, N) end positions of rigid bodies.
        past: the earlier moments of the stage.
    """

    stage: Stage
    positions: Tensor
    base: Tensor
    origin: Tensor
    slip_origin: Tensor
    carried: Tensor
    past: tuple[Past, ...]


@dataclass
class Step:
    """A time step in progress.

    Args:
        system: the system of the step.
        frames: the rigid frames of its bodies.
        seconds: the step h.
        stages: the stages of the step.
        moments: the moments that stages refer to, the start of the step first.
        frame_velocities: (3, N) initial velocities for the frames, in m/s.
        is_first_order: whether the method is of first order.
    """

    system: System
    frames: RigidFrames
    seconds: float
    stages: tuple[Stage, ...]
    moments: list[Moment]
    frame_velocities: Tensor
    is_first_order: bool = False
    motion: RigidMotion = field(init=False)

    def __post_init__(self) -> None:
        self.motion = self.frames.begin(
            self.moments[0].positions, self.frame_velocities, self.seconds
        )

    def coasting(self, stage: Stage) -> Coasting:
        """The end of a stage as it would be without forces, after those before it."""
        motion, end, tau = self.motion, stage.end, stage.span
        zero = torch.zeros_like(self.frame_velocities)
        base, free_velocities = zero, zero
        past = []
        for k, (seconds, positions, velocities) in enumerate(self.moments):
            weight, retention, turned = (
                stage.positions[k],
                stage.velocities[k],
                stage.frame_seconds[k],
            )
            deviation = velocities - motion.velocities(positions, seconds)
            kept_velocity = retention * deviation
            if turned != 0.0:
                kept_velocity = kept_velocity - turned * motion.accelerations(
                    positions, deviation, seconds, self.seconds, self.is_first_order
                )
            free_velocities = free_velocities + motion.turned(kept_velocity, seconds, end)
            if weight != 0.0:
                base = base + weight * motion.carried(positions, seconds, end)
                past.append(Past(weight, positions, end - seconds))
        framed = motion.velocities(base, end)
        free_velocities = stage.retention * (free_velocities - tau * stage.damping * framed)
        free = self.system.free
        origin = base - tau * framed
        start = self.moments[0].positions
        slip_origin = origin
        if stage.slides_from_start:
            slip_origin = motion.carried(start, 0.0, end) - end * framed
        positions = torch.where(free, base + tau * free_velocities, start)
        mean = self.frames.spread(self.frames.mean_velocities(free_velocities))
        carried = torch.where(free, base + tau * mean, start)
        return Coasting(stage, positions, base, origin, slip_origin, carried, tuple(past))

    def velocities(self, coasting: Coasting, positions: Tensor) -> Tensor:
        """Return the (3, N) velocities in m/s at the end of a stage that led to positions;
        prescribed ones as they went from the start of the step."""
        stage, start = coasting.stage, self.moments[0]
        relative = (positions - coasting.base) / stage.span
        velocities = self.motion.velocities(positions, stage.end) + relative
        velocities = velocities + self._missing_turn(coasting, positions, velocities)
        prescribed = (positions - start.positions) / stage.end
        return torch.where(self.system.free, velocities, prescribed)

    def _missing_turn(self, coasting: Coasting, positions: Tensor, velocities: Tensor) -> Tensor:
        """(3, N) the rotation that velocities lack of the angular momentum that the moments before
        and the impulses of forces give each piece."""
        stage, frames = coasting.stage, self.frames
        arms = positions - frames.spread(frames.centres(positions))
        impulses = (positions - coasting.positions) / stage.span
        missing = frames.momentum(arms, impulses - velocities)
        for weight, moment in zip(stage.velocities, self.moments, strict=False):
            before = moment.positions - frames.spread(frames.centres(moment.positions))
            missing = missing + weight * frames.momentum(
                before, stage.retention * moment.velocities
            )
        turn = frames.spread(frames.angular_velocities(arms, missing))
        return torch.linalg.cross(turn.expand_as(arms), arms, dim=0)

    def ended(self, coasting: Coasting, positions: Tensor) -> Tensor:
        """Takes the (3, N) end of a stage for those that follow; (3, N) velocities then."""
        velocities = self.velocities(coasting, positions)
        self.moments.append(Moment(coasting.stage.end, positions, velocities))
        return velocities
