# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of explicit steps, which are taken again from checkpoints."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import InstabilityError
from ..integrators.explicit_integrator import ExplicitIntegrator
from ..integrators.explicit_step import ExplicitStep
from ..integrators.explicit_stepper import ExplicitStepper
from ..potentials.tet_flow import ROWS
from ..simulator import begin_frame
from ..state import State
from ..system import System
from .compiled_plastic_adjoint import CompiledPlasticAdjoint, plastic_adjoint
from .contact_meeting import SurfaceRecord
from .ground_adjoint import GroundAdjoint
from .plastic_adjoint import PlasticAdjoint
from .point_ground_adjoint import PointGroundAdjoint, embedded_step
from .quantities import Quantities
from .runge_kutta_adjoint import RungeKuttaAdjoint
from .step_adjoint import Course, StepAdjoint, SymplecticAdjoint, stages_of


class StoppedStepError(InstabilityError):
    """Surfaces were in each other's way within an explicit step."""


@dataclass(frozen=True)
class _Frame:
    """
    Args:
        before: the state that it began at.
        steps: how many it took.
        checkpoints: positions, velocities and plastic strains after every so many of them.
    """

    before: State
    steps: int
    checkpoints: list[tuple[Tensor, Tensor, Tensor | None]]


class ExplicitRun:
    """Records the frames of a run, and goes back through them.

    The run leaves some √n of its n steps as checkpoints. From one to the next steps are taken again
    and leave velocities and accelerations, from which each is taken back (Griewank, "Achieving
    logarithmic growth of temporal and spatial complexity in reverse automatic differentiation",
    Optimization Methods and Software 1, 1992, has the schemes of more levels).

    Args:
        system: that is carried on.
        stepper: carries it on.
        integrator: whose steps they are.
        frames: how many there will be.
    """

    def __init__(
        self,
        system: System,
        stepper: ExplicitStepper,
        integrator: ExplicitIntegrator,
        frames: int,
    ) -> None:
        self._system, self._integrator = system, integrator
        self._stepper, self._frames = stepper, list[_Frame]()
        # Least together: checkpoints, and of each step velocities, accelerations and strains.
        strains = ROWS * system.plastic_flow.count
        checkpoint = 6 * len(system.mass) + strains
        kept = 3 * len(system.mass) * len(stages_of(integrator)[0]) + strains
        self._length = max(1, round(math.sqrt(frames * stepper.substeps * checkpoint / kept)))
        self._surfaces: SurfaceRecord | None = None
        if stepper.contact is not None:
            self._surfaces = SurfaceRecord(system)
        if stepper.contact is not None or embedded_step(system) is not None:
            # Which contacts come first, and what points are pushed by, hangs on the steps before,
            # back to where a frame begins.
            self._length = sys.maxsize
        stepper.checkpoint_steps = self._length

    def record(self, before: State, after: State) -> None:
        """Takes the frame that the stepper has just ended.

        Raises:
            StoppedStepError: where surfaces were in each other's way.
        """
        statistics = after.solver_statistics
        if self._surfaces is not None and statistics is not None and statistics.limited_steps:
            raise StoppedStepError(
                f"{self._system.names}: there are no gradients through frame {after.frame}, where "
                "surfaces come together so fast that they stop each other within a step; choose "
                "more substeps, or ImplicitEuler or BDF2."
            )
        self._frames.append(_Frame(before, after.substeps, self._stepper.checkpoints))

    def pull_back(
        self, wanted: list[tuple[Tensor, Tensor]], given: Quantities
    ) -> dict[str, Tensor]:
        """The gradient by the quantities that require grad.

        Args:
            wanted: of each frame the (3, N) gradients by its positions and velocities.
            given: leaves of autograd's tape.
        """
        found = {name: torch.zeros_like(own) for name, own in given.items() if own.requires_grad}
        gradients = [torch.zeros_like(self._system.rest_positions()) for _ in range(2)]
        back, step, flow = None, None, plastic_adjoint(self._system, given, found)
        for frame, own in zip(reversed(self._frames), reversed(wanted), strict=True):
            gradients = [carried + more for carried, more in zip(gradients, own, strict=True)]
            if not any(bool(part.any()) for part in (*gradients, flow.by_plastic)):
                continue
            seconds = self._system.frame_times.of(frame.before.frame) / frame.steps
            if back is None or step is None or step.step != seconds:
                if back is not None:
                    back.finish()
                step = self._integrator.make_step(self._system, seconds)
                step.contact = self._stepper.contact
                back = self._adjoint(seconds, flow)
            gradients = self._frame_back(frame, gradients, step, back, flow)
        if back is not None:
            back.finish()
        flow.finish()
        for name, carried in zip(("positions", "velocities"), gradients, strict=True):
            if name in found:
                found[name] += carried
        return found

    def _adjoint(
        self, seconds: float, flow: PlasticAdjoint | CompiledPlasticAdjoint
    ) -> StepAdjoint:
        is_single = len(stages_of(self._integrator)[0]) == 1
        kind = SymplecticAdjoint if is_single else RungeKuttaAdjoint
        contact = self._stepper.contact
        given, found, own = flow.given, flow.found, flow.products
        return kind(self._system, self._integrator, seconds, given, found, contact, own)

    def _frame_back(
        self,
        frame: _Frame,
        gradients: list[Tensor],
        step: ExplicitStep,
        back: StepAdjoint,
        flow: PlasticAdjoint | CompiledPlasticAdjoint,
    ) -> list[Tensor]:
        """The gradients by the state that the frame began at."""
        before, count = frame.before, frame.steps
        starts = [(before.positions, before.velocities, before.plastic), *frame.checkpoints]
        tets = self._system.plastic_flow
        begin_frame(self._system, before)
        for index in reversed(range(len(starts))):
            numbers = range(count)[index * self._length :][: self._length]
            positions, velocities, plastic = starts[index]
            step.begin(positions, velocities)
            tets.plastic = plastic
            strains: list[Tensor | None] = []
            surfaces = self._surfaces
            record = _Record(back.ground, surfaces, len(stages_of(self._integrator)[0]) - 1)
            step.record = record
            if step.contact is not None:
                step.contact.begin(before)
                step.contact.record = surfaces
            for number in numbers:
                record.courses.append(Course(step.velocities.clone()))
                step.prescribe(before.frame, number / count, (number + 1) / count)
                strains.append(tets.plastic)
                step.advance()
                record.ends()
                tets.flow(step.positions, step.step)
            back.begin((step.positions, step.velocities), (gradients[0], gradients[1]))
            for number in reversed(numbers):
                times, strain = (number / count, (number + 1) / count), strains.pop()
                if flow:
                    back.by_positions += flow.enter(back.positions, strain, step.step)
                back.back(record.courses.pop(), before.frame, *times)
                if flow:
                    flow.leave()
            flow.settle()
            gradients = [back.by_positions, back.by_velocities]
        return gradients


class _Record:
    """Takes down the courses of steps.

    Args:
        ground: that they meet; None where there is none, or surfaces meet with it.
        surfaces: takes down how these do; None where none do.
        stages: of how many accelerations are kept.
    """

    def __init__(
        self,
        ground: GroundAdjoint[Any] | None,
        surfaces: SurfaceRecord | None,
        stages: int,
    ) -> None:
        self._ground, self._surfaces, self._stages = ground, surfaces, stages
        self._met: tuple[Tensor, Tensor] | None = None
        self.courses: list[Course] = []

    def accelerates(self, acceleration: Tensor) -> None:
        if len(self.courses[-1].accelerations) < self._stages:
            self.courses[-1].accelerations.append(acceleration.clone())

    def meets(self, positions: Tensor, velocities: Tensor) -> bool:
        if self._ground is not None:
            self.courses[-1].meetings.append(self._ground.meeting(positions, velocities))
        if self._surfaces is not None:
            self._met = positions.clone(), velocities.clone()
        return isinstance(self._ground, PointGroundAdjoint)

    def ends(self) -> None:
        if self._surfaces is not None and self._met is not None:
            self.courses[-1].surfaces = self._surfaces.taken(*self._met)
