# SPDX-License-Identifier: GPL-3.0-or-later
"""One explicit time step, on tensors that stay in place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from ..system import System
from .captured_step import CapturedStep
from .damping import impulse_times, velocity_retention
from .mesh_contact_step import MeshContactStep


class ExplicitStep(ABC):
    """What explicit integrators share: the state they change, moving pins, obstacles.

    Args:
        system: to be carried on.
        step: in seconds.
        nodes: of each of its stages, the time in the step.
        weights: what the stages count for at its end.
    """

    def __init__(
        self,
        system: System,
        step: float,
        nodes: tuple[float, ...] = (0.0,),
        weights: tuple[float, ...] = (1.0,),
    ) -> None:
        self._nodes, self._weights = nodes, weights
        # When in the step gravity is, in the mean, what acts in it.
        self._centre = sum(w * node for w, node in zip(weights, nodes, strict=True))
        self._system = system
        #: (3, N) in metres and m/s.
        self.positions = system.rest_positions()
        self.velocities = torch.zeros_like(self.positions)
        #: (3, N) of the energy where the step began, in newtons.
        self._gradient = torch.zeros_like(self.positions)
        #: Done by moving pins since the frame began, in joules.
        self.work = system.mass.new_zeros(())
        #: Added by changes of gravity since the frame began, in joules.
        self.raised = system.mass.new_zeros(())
        #: (S, 3) gravity in each stage, and (3,) its change in the step, in m/s².
        self._gravity = system.mass.new_zeros((len(nodes), 3))
        self._gravity_change = system.mass.new_zeros(3)
        #: (3, N) of obstacles in the last step, over mass, in m/s; None while nobody asks.
        self.contact_impulse: Tensor | None = None
        #: Of surfaces, and the ground with them, where they are to meet.
        self.contact: MeshContactStep | None = None
        self._began = torch.zeros_like(self.positions)
        pins = system.moving_pins
        self._target = None if pins is None else pins.positions(0, 0.0)
        self.set_step(step)

    def recorded(self) -> Callable[[], None]:
        """``advance`` at the step that is set now, on CUDA as one launch."""
        return CapturedStep(self.advance) if self.positions.is_cuda else self.advance

    def set_step(self, step: float) -> None:
        """Chooses the length of the steps that follow, in seconds."""
        self.step = step
        #: (N,) what is left of velocities after the step, and the seconds from forces over mass to
        #: what they add to them.
        self._retention = velocity_retention(self._system, step)
        self._impulse_times = impulse_times(self._system, step)

    def begin(self, positions: Tensor, velocities: Tensor) -> None:
        """Goes to where a frame starts."""
        self.positions.copy_(positions)
        self.velocities.copy_(velocities)
        self.work.zero_()
        self.raised.zero_()
        self._system.obstacles.begin()

    def prescribe(self, frame: int, since: float, until: float) -> None:
        """Prescribes where moving pins are after the next step, and what gravity is in it.

        Args:
            frame: the one before it.
            since, until: when it begins and ends, as fractions of a frame.
        """
        if self._system.moving_pins is not None and self._target is not None:
            self._target.copy_(self._system.moving_pins.positions(frame, until))
        if self.contact is not None:
            self.contact.prescribe(frame, until)
        gravity = self._system.gravity
        if not gravity.is_constant:
            for stage, node in zip(self._gravity, self._nodes, strict=True):
                stage.copy_(gravity.at(frame, since + node * (until - since)))
            change = gravity.at(frame, until) - gravity.at(frame, since)
            self._gravity_change.copy_(change)

    def advance(self) -> None:
        """Takes the step. On CUDA this is recorded: nothing in it may look at values."""
        positions, velocities = self.positions, self.velocities
        if self.contact is not None:
            self._began.copy_(positions)
        pins = self._system.moving_pins
        self._use_gravity(0)
        self._add_gravity_work(self._centre)
        if pins is None or self._target is None:
            self._move()
        else:
            moved = self._target - positions[:, pins.vertices]
            # No force moves them: the scheme lets them coast to where they are to be.
            velocities[:, pins.vertices] = moved / self.step
            self._move()
            positions[:, pins.vertices] = self._target
            self.work += (self._gradient[:, pins.vertices] * moved).sum()
        if self.contact_impulse is not None:
            self.contact_impulse.copy_(velocities)
        self._collide_with_obstacles(positions, velocities)
        if self.contact_impulse is not None:
            torch.sub(velocities, self.contact_impulse, out=self.contact_impulse)
        self._add_gravity_work(1.0 - self._centre)

    def _use_gravity(self, stage: int) -> None:
        if not self._system.gravity.is_constant:
            self._system.gravity.act(self._gravity[stage])

    def _add_gravity_work(self, fraction: float) -> None:
        """Adds what a fraction of the change of gravity does to the energy of the vertices."""
        if not self._system.gravity.is_constant:
            moments = (self._system.mass * self.positions).sum(1)
            self.raised -= fraction * (self._gravity_change * moments).sum()

    def _collide_with_obstacles(self, positions: Tensor, velocities: Tensor) -> None:
        if self.contact is not None:
            times = self._impulse_times
            self.work += self.contact.apply(self._began, positions, velocities, self.step, times)
            return
        self._system.collide_with_obstacles(positions, velocities, self.step, self._impulse_times)

    @abstractmethod
    def _move(self) -> None:
        """Carries positions and velocities on, contact left out; leaves the gradient where it
        began."""
