# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of explicit steps, which are taken again from checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..integrators.explicit_integrator import ExplicitIntegrator
from ..integrators.explicit_step import ExplicitStep
from ..state import State
from ..system import System
from .explicit_schemes import ExplicitScheme, stages_of
from .gradients import Gradients
from .quantities import Quantities

# States that the tape of a step holds, about, for each force that it takes.
_STATES_PER_FORCE = 2


@dataclass(frozen=True)
class _Frame:
    """
    Args:
        before: the state that it began at.
        steps: how many it took.
    """

    before: State
    steps: int


class ExplicitRun:
    """Records the frames of a run, and goes back through them.

    While it goes back through a frame of n steps, some √n of them are checkpoints, and from one to
    the next steps are taken again on autograd's tape (Griewank, "Achieving logarithmic growth of
    temporal and spatial complexity in reverse automatic differentiation", Optimization Methods and
    Software 1, 1992, has the schemes of more levels).

    Args:
        system: that is carried on.
        integrator: whose steps they are.
        frame_time: in seconds.
    """

    def __init__(self, system: System, integrator: ExplicitIntegrator, frame_time: float) -> None:
        self._system, self._integrator, self._frame_time = system, integrator, frame_time
        self._gradients = Gradients(system, solved=False)
        self._frames: list[_Frame] = []

    def record(self, before: State, after: State) -> None:
        """Takes the frame that the stepper has just ended."""
        self._frames.append(_Frame(before, after.substeps))

    def pull_back(
        self, wanted: list[tuple[Tensor, Tensor]], given: Quantities
    ) -> dict[str, Tensor]:
        """The gradient by the quantities that require grad.

        Args:
            wanted: of each frame the (3, N) gradients by its positions and velocities.
            given: leaves of autograd's tape.
        """
        found = {name: torch.zeros_like(own) for name, own in given.items() if own.requires_grad}
        adjoint = [torch.zeros_like(self._system.rest_positions()) for _ in range(2)]
        for frame, own in zip(reversed(self._frames), reversed(wanted), strict=True):
            adjoint = [carried + more for carried, more in zip(adjoint, own, strict=True)]
            if any(bool(part.any()) for part in adjoint):
                adjoint = self._frame_back(frame, adjoint, given, found)
        for name, carried in zip(("positions", "velocities"), adjoint, strict=True):
            if name in found:
                found[name] += carried
        return found

    def _frame_back(
        self, frame: _Frame, adjoint: list[Tensor], given: Quantities, found: dict[str, Tensor]
    ) -> list[Tensor]:
        """The adjoint of the state that the frame began at; adds to what is found."""
        seconds, count = self._frame_time / frame.steps, frame.steps
        forces = len(stages_of(self._integrator)[0])
        length = max(1, round(math.sqrt(count / (_STATES_PER_FORCE * forces))))
        checkpoints = self._checkpoints(frame, seconds, length)
        names = list(found)
        for start in reversed(range(0, count, length)):
            state = [part.requires_grad_() for part in checkpoints.pop()]
            with torch.enable_grad():
                scheme = ExplicitScheme(
                    self._system, self._gradients, self._integrator, seconds, given
                )
                end = state
                for number in range(start, min(start + length, count)):
                    times = number / count, (number + 1) / count
                    end = [*scheme.advance(end[0], end[1], frame.before.frame, *times)]
                inputs = [*state, *(given[name] for name in names)]
                parts = torch.autograd.grad(end, inputs, adjoint, allow_unused=True)
            for name, part in zip(names, parts[2:], strict=True):
                if part is not None:
                    found[name] += part
            adjoint = [
                torch.zeros_like(at) if part is None else part
                for part, at in zip(parts[:2], state, strict=True)
            ]
        return adjoint

    def _checkpoints(self, frame: _Frame, seconds: float, length: int) -> list[list[Tensor]]:
        """Positions and velocities before every ``length``-th step."""
        step: ExplicitStep = self._integrator.make_step(self._system, seconds)
        step.begin(frame.before.positions, frame.before.velocities)
        kept, last = [], (frame.steps - 1) // length * length
        for number in range(last + 1):
            if number % length == 0:
                kept.append([step.positions.clone(), step.velocities.clone()])
            if number < last:
                times = number / frame.steps, (number + 1) / frame.steps
                step.prescribe(frame.before.frame, *times)
                step.advance()
        return kept
