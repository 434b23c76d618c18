# SPDX-License-Identifier: GPL-3.0-or-later
"""Implicit time steps: each ends where its incremental potential is least."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..errors import InstabilityError, SceneError
from ..minimizers.incremental_potential import IncrementalPotential
from ..minimizers.minimize_result import MinimizeResult
from ..minimizers.newton import Newton
from ..minimizers.prescribed_motion import PrescribedMotion
from ..scene import checks
from ..scene.pressure import burst_warning
from ..state import SolverStatistics, State
from ..system import System
from .contact_failures import CostlyFrameError
from .integrator import TimeStepper

# A frame that does not converge is taken again with twice the steps, at most this often.
MAX_RETRIES = 3
MAX_ITERATIONS = 60
TOLERANCE_M_PER_S = 1e-3
# With contact, where many surfaces meet one after the other.
MAX_CONTACT_ITERATIONS = 200
# All steps of a frame that is taken again may take so many times the Newton steps of one, and each
# as many as this at least.
RETRY_ITERATIONS_FACTOR, MIN_ITERATIONS = 2, 10
# Where surfaces hit each other, a step need not be exacter than this share of the largest
# displacement.
DISPLACEMENT_TOLERANCE_RATIO = 5e-3
# Of a body's diagonal: one that a landing would make so much flatter begins a search where it is.
SQUASH_DIAGONAL_RATIO = 0.5


@dataclass(frozen=True)
class Prediction:
    """How vertices would go on without forces.

    Args:
        positions: (3, N) where the step would end, in metres.
        span: the seconds from velocities to positions.
        impulse_time: the seconds from forces over mass to velocities, a number or (N,): the span,
            or less with damping.
    """

    positions: Tensor
    span: float
    impulse_time: Tensor | float


class ImplicitStepper(TimeStepper):
    """What implicit integrators share: the search, pins, retries, statistics.

    Args:
        system: to be carried on.
        substeps: time steps a frame; one where that is None, and more where one does not converge.
        tolerance: in m/s; None as ``ImplicitEuler`` says.
        with_contact: whether contact counts, where the scene has one.
    """

    def __init__(
        self,
        system: System,
        substeps: int | None,
        tolerance: float | None,
        with_contact: bool = True,
    ) -> None:
        super().__init__(substeps or 1, adapts=substeps is None)
        if tolerance is not None:
            checks.above_zero(tolerance, f"{self.label}: the tolerance in m/s")
        self._system = system
        self._tolerance = tolerance or TOLERANCE_M_PER_S
        self._relaxes = tolerance is None
        # Newton steps that the present frame may take, and has taken.
        self._budget: int | None = None
        self._spent = 0
        self._objective = IncrementalPotential(system, with_contact)
        self._newton = Newton(self._objective)
        contact = self._objective.contact
        self._prescribed_motion = (
            None if contact is None else PrescribedMotion(self._objective, self._newton, contact)
        )

    def advance(self, state: State, budget: int | None = None) -> State:
        """See ``TimeStepper.advance``.

        Args:
            budget: Newton steps that the frame may take; None for as many as it takes.

        Raises:
            CostlyFrameError: where more would be needed.
        """
        self._objective.check_volumes(state.positions)
        substeps, spent = self.substeps, 0
        self._budget, self._spent = budget, 0
        most = _iteration_limit(self._objective.contact is not None)
        most = most if budget is None else min(most, budget)
        is_new_length = self._system.frame_times.changes_at(state.frame)
        for retry in range(MAX_RETRIES + 1 if self.adapts else 1):
            # What lies before is a step of this length away, or of no use.
            is_even = state.substeps == substeps and not is_new_length
            previous = state.previous if is_even else None
            start = replace(
                state, substeps=substeps, previous=previous, solver_statistics=SolverStatistics()
            )
            is_last = not self.adapts or retry == MAX_RETRIES
            after = self._frame(start, retry, is_last, most)
            spent += after.solver_statistics.iterations
            if after.solver_statistics.converged:
                break
            self._check_budget()
            substeps *= 2
        after = replace(after, solver_statistics=replace(after.solver_statistics, iterations=spent))
        if not bool(torch.isfinite(after.positions).all()):
            raise InstabilityError(_diverged_message(self._system, after))
        try:
            self._objective.check_volumes(after.positions)
        except SceneError as error:
            raise InstabilityError(
                f"{error} At frame {after.frame} moving pins brought them there; slower ones "
                "may not."
            ) from error
        return after

    @property
    def most_work(self) -> str:
        substeps = None if self.adapts else self.substeps
        return most_iterations(self._objective.contact is not None, substeps)

    def _check_budget(self) -> None:
        if self._budget is not None and self._spent >= self._budget:
            raise CostlyFrameError(f"{self._system.names}: an implicit frame takes too long.")

    def _frame(self, state: State, retry: int, is_last: bool, most: int) -> State:
        """The state a frame later; unless this try is the last, it ends with the first step that
        does not converge. Each may take ``most`` Newton steps."""
        step, limit = self._system.frame_times.of(state.frame) / state.substeps, most
        frame, substeps = state.frame, state.substeps
        self.sampled_positions, self.sample_fractions = [state.positions], [0.0]
        self._system.plastic_flow.plastic = state.plastic
        for substep in range(substeps):
            if retry > 0:
                left = RETRY_ITERATIONS_FACTOR * most - state.solver_statistics.iterations
                kept = MIN_ITERATIONS * (substeps - substep - 1)
                limit = min(most, max(MIN_ITERATIONS, left - kept))
            state = self._step(state, step, frame, (substep + 1) / substeps, limit)
            self.sampled_positions.append(state.positions)
            self.sample_fractions.append((substep + 1) / substeps)
            if not (state.solver_statistics.converged or is_last):
                break
        return replace(state, frame=frame + 1)

    def _step(self, state: State, step: float, frame: int, fraction: float, limit: int) -> State:
        start = state.positions
        self._system.go_to(frame, fraction)
        prediction = self.prediction(state, step)
        span, impulse = prediction.span, prediction.impulse_time
        # Pinned vertices stay, or are where their motion is prescribed.
        inertial = torch.where(self._system.free, prediction.positions, start)
        if self._system.moving_pins is not None:
            pins = self._system.moving_pins
            inertial[:, pins.vertices] = pins.positions(frame, fraction)
        objective = self._objective
        previous = None if state.previous is None else state.previous[0]
        contact = objective.contact
        if contact is not None:
            contact.begin(state.colliders)
        objective.begin(start, inertial, span, previous, impulse)
        relaxation = self._relaxation(inertial - start, span)
        tolerance = relaxation * self._tolerance * span
        falling = inertial + span * impulse * self._system.free_acceleration
        guess = self._initial_guess(start, inertial, falling)
        blocked = state.solver_statistics.blocked
        if contact is not None and self._prescribed_motion is not None:
            colliders = contact.surface.colliders_at(frame, fraction)
            left = None if self._budget is None else self._budget - self._spent
            advanced = self._prescribed_motion.advance(
                start, guess, colliders, tolerance, span, left
            )
            self._spent += advanced.iterations
            self._check_budget()
            guess, blocked = advanced.positions, (*blocked, *advanced.blocked)
        self._newton.begin()
        result = self._newton.minimize(guess, tolerance, span, limit, relaxation=relaxation)
        positions, self._spent = result.positions, self._spent + result.iterations
        self._system.plastic_flow.flow(positions, step)
        velocities = self.velocities(state, positions, step)
        prescribed = (positions - start) / step
        return replace(
            state,
            positions=positions,
            velocities=torch.where(self._system.free, velocities, prescribed),
            previous=self.history(state),
            solver_statistics=self._statistics(result, state.solver_statistics, span, blocked),
            colliders=None if contact is None else contact.colliders,
            plastic=self._system.plastic_flow.plastic,
        )

    def _relaxation(self, displacement: Tensor, span: float) -> float:
        """The factor on the tolerances of a step with the (3, N) ``displacement`` that vertices
        would have without forces."""
        if self._objective.contact is None or not self._relaxes:
            return 1.0
        fastest = float(torch.linalg.vector_norm(displacement, dim=0).max())
        return max(1.0, DISPLACEMENT_TOLERANCE_RATIO * fastest / (self._tolerance * span))

    def _statistics(
        self,
        result: MinimizeResult,
        before: SolverStatistics,
        span: float,
        blocked: tuple[str, ...],
    ) -> SolverStatistics:
        """Those of a frame so far, with a step that ended in ``result``."""
        statistics, contact = result.added_to(before, span), self._objective.contact
        if contact is None:
            return statistics
        min_distance = contact.min_distance(result.positions)
        return replace(
            statistics,
            contacts=contact.count(result.positions),
            minimum_distance=min_distance if math.isfinite(min_distance) else None,
            limited_steps=before.limited_steps + contact.limited_steps,
            blocked=tuple(dict.fromkeys(blocked)),
        )

    @abstractmethod
    def prediction(self, state: State, step: float) -> Prediction:
        """How a step of ``step`` seconds would go without forces."""

    @abstractmethod
    def velocities(self, state: State, positions: Tensor, step: float) -> Tensor:
        """(3, N) at the end of a step that led to ``positions``."""

    def history(self, state: State) -> tuple[Tensor, Tensor] | None:
        """What the next step has to know of this one's start."""
        return None

    def _initial_guess(self, start: Tensor, inertial: Tensor, falling: Tensor) -> Tensor:
        """The best of three: coasting, falling, staying."""
        objective, system = self._objective, self._system
        staying = torch.where(system.free, start, inertial)
        coasting, fallen = (objective.paths.initial_guess(start, to) for to in (inertial, falling))
        guesses = [coasting, fallen, staying]
        # Whatever touches makes itself felt on the way to the guess.
        energies = [objective.energy_without_contact(guess) for guess in guesses]
        finite = [math.inf if math.isnan(energy) else energy for energy in energies]
        best = guesses[finite.index(min(finite))]
        # Friction has to be given the chance to hold what rests.
        for where in objective.bodies_at_rest(start, inertial):
            best[:, where] = staying[:, where]
        for where in self._squashed(inertial, best):
            best[:, where] = staying[:, where]
        return best

    def _squashed(self, inertial: Tensor, guess: Tensor) -> list[slice]:
        """Vertices of the bodies that the ground would press flat, each vertex on its own, between
        coasting and a (3, N) guess. The energy of all does not tell of a small one."""
        system = self._system
        if system.ground_barrier is None:
            return []
        lifted = guess[2] - inertial[2]
        return [
            where
            for mesh, where in zip(system.meshes, system.body_slices(), strict=True)
            if float(lifted[where].max() - lifted[where].min())
            > SQUASH_DIAGONAL_RATIO * mesh.diagonal
        ]


def most_iterations(with_contact: bool, substeps: int | None) -> str:
    """The most that a frame takes, with contact or without, such as ``420 iterations``."""
    limit = _iteration_limit(with_contact)
    tries = 1 + RETRY_ITERATIONS_FACTOR * MAX_RETRIES if substeps is None else substeps
    return f"{tries * limit} iterations"


def _iteration_limit(with_contact: bool) -> int:
    return MAX_CONTACT_ITERATIONS if with_contact else MAX_ITERATIONS


def _diverged_message(system: System, state: State) -> str:
    reason = state.solver_statistics.termination_reason
    return (
        f"{system.names}: frame {state.frame} has no finite positions ({reason}). Use more "
        "substeps, a lower stiffness (Young's modulus), or a slower motion of the pins."
        + burst_warning(system.bodies)
    )
