# SPDX-License-Identifier: GPL-3.0-or-later
"""Implicit time steps: each ends where its incremental potential is least."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ..errors import InstabilityError, SceneError
from ..minimizers.incremental_potential import IncrementalPotential
from ..minimizers.minimize_result import MinimizeResult
from ..minimizers.momentum_balance import MomentumBalance
from ..minimizers.newton import Newton
from ..minimizers.prescribed_motion import PrescribedMotion
from ..potentials import TimeStep
from ..potentials.contact.approach_limit import Approach
from ..potentials.contact.surface import Points
from ..scene import checks
from ..scene.soft_body import burst_warning
from ..state import SolverStatistics, State
from ..system import System
from .energy_watch import EnergyWatch
from .impacts import LEAST_STEP_RATIO, MAX_IMPACT_STEPS, ONSET_RATIO, Impact, Impacts
from .integrator import TimeStepper
from .rigid_frames import RigidFrames
from .spin_limit import MAX_STEPS as MAX_SPIN_STEPS
from .spin_limit import SpinLimit
from .stability import decay, impulse_time
from .stages import Coasting, Moment, Stage, Step
from .unhindered_motion import UnhinderedMotion

MAX_ITERATIONS = 60
TOLERANCE_M_PER_S = 1e-3
# With contact, many surfaces may collide one after the other.
MAX_CONTACT_ITERATIONS = 200
# The most parts of a step in which surfaces approach each other, repeated ones included; the
# Newton iterations of all of them together, relative to those of one; and the least limit of a
# part.
MAX_PARTS, PART_ITERATIONS_FACTOR, MIN_ITERATIONS = 64, 4, 10
# A part that went too far is repeated with at least the first ratio of its length. A part that may
# be at least the second ratio of its length is accepted. With 0.9, every second part of a pile was
# taken twice. With 0.6, the first of a row of bodies got 0.29 of the momentum in place of 0.3.
MIN_RETAKEN_RATIO, FAR_ENOUGH_RATIO = 0.25, 0.7
# Steps whose lengths differ by no more than this ratio are equal.
LENGTH_ROUNDING = 1e-9
# The tolerance of a step in which surfaces hit each other, relative to the largest displacement.
DISPLACEMENT_TOLERANCE_RATIO = 5e-3
# A body that a landing would flatten by more than this ratio of its diagonal starts its search at
# its present positions.
SQUASH_DIAGONAL_RATIO = 0.5


class ImplicitStepper(TimeStepper):
    """The base of implicit integrators: the search, pins, parts of steps, statistics.

    Args:
        system: the system to simulate.
        substeps: time steps a frame; None is one.
        tolerance: in m/s; None is the default of ``ImplicitEuler``.
        with_contact: whether the contact of the scene acts.
    """

    #: Whether steps become short where bodies hit each other, so that they spring back, unless
    #: their number is given.
    resolves_impacts: ClassVar[bool] = False
    #: Stages of a step, each with a search of its own.
    stage_count: ClassVar[int] = 1

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
        #: (3, N) end positions of the stages of each step of the last frame, and of the last step.
        self.stage_ends: list[list[Tensor]] = []
        self._stage_ends: list[Tensor] = []
        self._objective = IncrementalPotential(system, with_contact)
        self._newton = Newton(self._objective)
        contact = self._objective.contact
        self.frames = RigidFrames(system)
        self._unhindered = UnhinderedMotion(system, self.frames)
        self._impacts: Impacts | None = None
        if self.resolves_impacts and self.adapts:
            self._impacts = Impacts(system, self.frames, contact)
        self._spin_limit = SpinLimit(system, self.frames) if self.adapts else None
        self._balance = MomentumBalance(self._objective)
        #: Limits the energy of steps to that of the bodies; None without such a limit.
        self.energy_watch: EnergyWatch | None = EnergyWatch(
            system, self.frames, contact is not None
        )
        self._prescribed_motion = (
            None if contact is None else PrescribedMotion(self._objective, self._newton, contact)
        )

    def advance(self, state: State) -> State:
        self._objective.check_volumes(state.positions)
        start = replace(state, substeps=self.substeps, solver_statistics=SolverStatistics())
        after = self._frame(start)
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
        with_contact = self._objective.contact is not None
        has_parts = with_contact or self._impacts is not None
        return most_iterations(with_contact, substeps, has_parts, self.stage_count)

    def _frame(self, state: State) -> State:
        """Return the state a frame later."""
        step = self._system.frame_times.of(state.frame) / state.substeps
        frame, substeps = state.frame, state.substeps
        self.sampled_positions, self.sample_fractions = [state.positions], [0.0]
        self.stage_ends = []
        self._system.plastic_flow.plastic = state.plastic
        for substep in range(substeps):
            fractions = substep / substeps, (substep + 1) / substeps
            state = self._step_in_parts(state, step, frame, fractions)
        return replace(state, frame=frame + 1)

    def _step_in_parts(
        self,
        state: State,
        step: float,
        frame: int,
        fractions: tuple[float, float],
    ) -> State:
        """Return the state after a step between two fractions of a frame. Surfaces that approach
        each other divide the step into parts."""
        remaining, tries_left, (since, until), step_count = 1.0, MAX_PARTS, fractions, 0
        limit = _iteration_limit(self._objective.contact is not None)
        iterations_left = PART_ITERATIONS_FACTOR * limit
        while remaining > 0.0:
            prediction = self._predict(state, remaining * step, frame, until, step_count)
            points, approach, state, impact_step_size, is_damped = prediction
            step_size, is_accepted = min(approach.step_size, impact_step_size), False
            if self._spin_limit is not None and step_count < MAX_SPIN_STEPS:
                step_size = min(step_size, self._spin_limit.step_size(state, remaining * step))
            while not is_accepted:
                # Once no Newton iterations are left, one part finishes the step.
                min_step_size = _min_step_size(tries_left) if iterations_left > 0 else 1.0
                is_too_long, step_size, tries_left = (
                    step_size < min_step_size,
                    max(step_size, min_step_size),
                    tries_left - 1,
                )
                fraction = step_size * remaining
                end = (
                    until
                    if step_size == 1.0
                    else since + (until - since) * (1.0 - remaining + fraction)
                )
                max_iterations = min(limit, max(MIN_ITERATIONS, iterations_left))
                is_damped = is_damped or is_too_long
                after = self._step(
                    state, fraction * step, frame, (since, end), max_iterations, is_damped
                )
                statistics = after.solver_statistics
                iterations_left -= statistics.iterations - state.solver_statistics.iterations
                if is_too_long:
                    after = self._with_fast_pair(after, approach)
                if fraction < 1.0 and not statistics.converged:
                    retry_ratio, is_damped = 0.5, True
                else:
                    approach = self._approach(points, after)
                    retry_ratio = max(approach.step_size, MIN_RETAKEN_RATIO)
                    retry_ratio = 1.0 if retry_ratio > FAR_ENOUGH_RATIO else retry_ratio
                is_last = tries_left == 0 or iterations_left <= 0
                is_accepted = (
                    retry_ratio == 1.0 or is_last or _min_step_size(tries_left) >= step_size
                )
                if not is_accepted:
                    step_size, state = retry_ratio * step_size, _with_statistics_of(state, after)
                elif retry_ratio < 1.0:
                    after = self._with_fast_pair(after, approach)
            state, remaining = after, remaining - fraction if step_size < 1.0 else 0.0
            step_count += 1
            impact_left = max(0.0, state.impact_seconds - fraction * step)
            state = replace(state, impact_seconds=impact_left)
            self.sampled_positions.append(state.positions)
            self.stage_ends.append(self._stage_ends)
            self.sample_fractions.append(end)
        return state

    def _predict(
        self, state: State, seconds: float, frame: int, fraction: float, step_count: int
    ) -> tuple[Points, Approach, State, float, bool]:
        """Predict motion without contact until a fraction of a frame. Return the (V, 3) surface
        points, the part of their motion that may be one step, and the result of
        ``_impact_step_size``.

        Args:
            step_count: steps of the frame so far.
        """
        contact, impacts = self._objective.contact, self._impacts
        looks_for_impacts = (
            impacts is not None and state.impact_seconds == 0.0 and step_count < MAX_IMPACT_STEPS
        )
        if contact is None and not looks_for_impacts:
            step = self._impact_step_size(state, seconds, None, step_count)
            return np.empty((0, 3)), Approach(1.0), *step
        unhindered = self._unhindered.of(state, seconds, frame, fraction)
        points, approach, collider_moves = np.empty((0, 3)), Approach(1.0), None
        if contact is not None:
            surface = contact.surface
            colliders = surface.colliders_in(state)
            points = surface.points(state.positions.cpu().numpy(), colliders)
            collider_moves = surface.colliders_at(frame, fraction) - colliders
            moves = surface.points(unhindered.displacement.cpu().numpy(), collider_moves)
            approach = contact.approach_limit.approach(points, moves)
        impact = None
        if impacts is not None and looks_for_impacts:
            impact = impacts.first(state, seconds, unhindered, collider_moves)
        return points, approach, *self._impact_step_size(state, seconds, impact, step_count)

    def coming_impact(self, state: State) -> Impact | None:
        """Return the first visible impact of the next frame; None without one, and for steps that
        do not become short at impacts."""
        if self._impacts is None:
            return None
        contact, frame = self._objective.contact, state.frame
        seconds, collider_moves = self._system.frame_times.of(frame), None
        if contact is not None:
            surface = contact.surface
            collider_moves = surface.colliders_at(frame, 1.0) - surface.colliders_in(state)
        unhindered = self._unhindered.of(state, seconds, frame, 1.0)
        return self._impacts.first(state, seconds, unhindered, collider_moves)

    @staticmethod
    def _impact_step_size(
        state: State, seconds: float, impact: Impact | None, step_count: int
    ) -> tuple[State, float, bool]:
        """Return the state with the remaining time of short steps for impacts, the step size
        relative to ``seconds``, and whether the step is damped. A step in which surfaces collide
        is damped, because its end cannot undo the energy that an earlier stage has given."""
        if step_count >= MAX_IMPACT_STEPS:
            return state, 1.0, False
        if state.impact_seconds == 0.0:
            step = math.inf if impact is None else impact.step_seconds
            if impact is None or not 0.0 < step < seconds:
                return state, 1.0, False
            if step < LEAST_STEP_RATIO * seconds:
                return state, 1.0, True
            # Surfaces collide in the middle of an even shorter step.
            onset = ONSET_RATIO * step
            if impact.seconds > 2.0 * onset:
                return state, (impact.seconds - onset) / seconds, False
            state = replace(state, impact_seconds=impact.window, impact_step=step)
            return state, min(1.0, (impact.seconds + onset) / seconds), True
        return state, min(1.0, state.impact_step / seconds), False

    def _approach(self, before: Points, after: State) -> Approach:
        """Return the part of a motion of surfaces that may be one step."""
        contact = self._objective.contact
        if contact is None:
            return Approach(1.0)
        surface = contact.surface
        points = surface.points(after.positions.cpu().numpy(), surface.colliders_in(after))
        return contact.approach_limit.approach(before, points - before, within_pieces=True)

    def _with_fast_pair(self, state: State, approach: Approach) -> State:
        """Return the state with the names of the two objects that approached each other too
        far."""
        contact = self._objective.contact
        if approach.objects is None or contact is None:
            return state
        first, second = (contact.surface.names[k] for k in approach.objects)
        pair = f"{first} and {second}" if first != second else f"{first} and itself"
        statistics = state.solver_statistics
        too_fast = tuple(dict.fromkeys((*statistics.too_fast, pair)))
        return replace(state, solver_statistics=replace(statistics, too_fast=too_fast))

    @staticmethod
    def with_usable_history(state: State, step: float) -> State:
        """Return the state without its previous positions and velocities if the step before had
        another length. Across an impact, differences over unequal steps would keep pushing."""
        is_even = math.isclose(state.step_seconds, step, rel_tol=LENGTH_ROUNDING)
        return state if is_even else replace(state, previous=None)

    def _step(
        self,
        state: State,
        seconds: float,
        frame: int,
        fractions: tuple[float, float],
        limit: int,
        is_damped: bool,
    ) -> State:
        """Return the state after a step of ``seconds`` between two fractions of a frame. Each
        stage may take ``limit`` Newton iterations. A damped step is one of implicit Euler."""
        state = self.with_usable_history(state, seconds)
        step = self.damped_step(state, seconds) if is_damped else self.begin_step(state, seconds)
        since, until = fractions
        contact, colliders = self._objective.contact, None
        if contact is not None:
            contact.begin(state.colliders)
            colliders = contact.colliders
        after = replace(state, previous=self.history(state), step_seconds=seconds)
        self._stage_ends, touched = [], False
        for stage in step.stages:
            # The last stage ends exactly at the end of the step.
            share = 1.0 if stage is step.stages[-1] else stage.end / seconds
            coasting = step.coasting(stage)
            end_time = frame, until if share == 1.0 else since + share * (until - since)
            after = self._solve(after, coasting, end_time, colliders, limit)
            after = replace(after, velocities=step.ended(coasting, after.positions))
            self._stage_ends.append(after.positions)
            touched = touched or after.solver_statistics.contacts > 0
        self._system.plastic_flow.flow(after.positions, seconds)
        after = replace(
            after,
            plastic=self._system.plastic_flow.plastic,
            solver_statistics=replace(
                after.solver_statistics, steps=state.solver_statistics.steps + 1
            ),
        )
        if self.energy_watch is None:
            return after
        return self.energy_watch.after_step(state, after, seconds, touched)

    def _solve(
        self,
        state: State,
        coasting: Coasting,
        end_time: tuple[int, float],
        colliders: Points | None,
        limit: int,
    ) -> State:
        """Return the state at the end of a stage, with the velocities before the stage.

        Args:
            state: the state at which the search begins.
            coasting: the motion of the stage without forces.
            end_time: the frame and the fraction of the way to the next frame at the end.
            colliders: (C, 3) positions at the start of the step; None without contact.
            limit: the most Newton iterations.
        """
        system, objective, stage = self._system, self._objective, coasting.stage
        start, span, impulse = state.positions, stage.span, stage.impulse_time
        system.go_to(*end_time)
        # Pinned vertices stay or follow their prescribed motion.
        inertial, carried = coasting.positions, coasting.carried
        if system.moving_pins is not None:
            inertial, carried = inertial.clone(), carried.clone()
            pins = system.moving_pins
            at_end = pins.positions(*end_time)
            for places in (inertial, carried):
                places[:, pins.vertices] = at_end
        contact, collider_ends = objective.contact, None
        if contact is not None:
            collider_ends = contact.surface.colliders_at(*end_time)
        origin = stage.collider_origin(colliders, collider_ends)
        objective.begin(
            TimeStep(
                start,
                inertial,
                span,
                impulse,
                coasting.past,
                coasting.origin,
                coasting.slip_origin,
                origin,
            )
        )
        relaxation = self._relaxation(carried - start, span)
        tolerance = relaxation * self._tolerance * span
        falling = span * impulse * system.free_acceleration
        guess = self._initial_guess(start, inertial, carried, falling)
        blocked = state.solver_statistics.blocked
        if contact is not None and self._prescribed_motion is not None:
            assert collider_ends is not None
            advanced = self._prescribed_motion.advance(start, guess, collider_ends, tolerance, span)
            guess, blocked = advanced.positions, (*blocked, *advanced.blocked)
        self._newton.begin()
        result = self._newton.minimize(
            guess, tolerance, span, limit, relaxation=relaxation, is_exact=not self._relaxes
        )
        result = replace(result, positions=self._balance(result.positions))
        statistics = self._statistics(result, state.solver_statistics, span, blocked)
        if blocked:
            lag = self._lag(result.positions, inertial, collider_ends)
            statistics = replace(statistics, lag=lag)
        return replace(
            state,
            positions=result.positions,
            solver_statistics=statistics,
            colliders=None if contact is None else contact.colliders,
        )

    def _lag(self, positions: Tensor, targets: Tensor, colliders: Points | None) -> float:
        """Return the largest distance between animated vertices and their targets, in metres.

        Args:
            positions: (3, N) of vertices.
            targets: (3, N) target positions of pinned vertices.
            colliders: (C, 3) target positions of colliders; None without contact.
        """
        distances = torch.linalg.vector_norm(positions - targets, dim=0)
        max_distance = float(torch.where(self._system.free, 0.0, distances).max())
        contact = self._objective.contact
        if contact is not None and colliders is not None:
            behind = np.linalg.norm(colliders - contact.colliders, axis=1)
            max_distance = max(max_distance, float(behind.max(initial=0.0)))
        return max_distance

    def _relaxation(self, displacement: Tensor, span: float) -> float:
        """Return the factor on the tolerances of a step with this (3, N) displacement without
        forces."""
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
        """Return the statistics of a frame so far, with a step that ended in ``result``."""
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
    def begin_step(self, state: State, seconds: float) -> Step:
        """Return a step of ``seconds`` from a state on."""

    def damped_step(self, state: State, seconds: float) -> Step:
        """Return a step of implicit Euler from a state on, to which impacts add no energy."""
        rate, positions = self._system.damping, state.positions
        velocities = state.velocities * decay(rate, seconds)
        impulse = impulse_time(rate, seconds)
        stage = Stage(seconds, seconds, (1.0,), (1.0,), (seconds,), impulse)
        start = Moment(0.0, positions, velocities)
        return Step(self._system, self.frames, seconds, (stage,), [start], velocities, True)

    def step_of(self, state: State, seconds: float, stages: int) -> Step:
        """Return a step with the given number of stages from a state on."""
        step = self.begin_step(state, seconds)
        return step if len(step.stages) == stages else self.damped_step(state, seconds)

    def history(self, state: State) -> tuple[Tensor, Tensor] | None:
        """Return the positions and velocities that the next step needs from the start of this
        one.
        """
        return None

    def _initial_guess(
        self, start: Tensor, inertial: Tensor, carried: Tensor, falling: Tensor
    ) -> Tensor:
        """Return the best initial guess of these: coasting, falling, staying, and falling with a
        rigid rotation for bodies that turn.

        Args:
            start, inertial, carried: (3, N) start positions, and end positions without forces and
                as rigid bodies.
            falling: (3, N) additional displacement by free fall.
        """
        objective, system = self._objective, self._system
        staying = torch.where(system.free, start, inertial)
        ends = [inertial, inertial + falling]
        if bool((carried != inertial).any()):
            ends.append(carried + falling)
        guesses = [objective.paths.initial_guess(start, end) for end in ends] + [staying]
        # The path to the guess already avoids collisions.
        energies = [objective.energy_without_contact(guess) for guess in guesses]
        finite = [math.inf if math.isnan(energy) else energy for energy in energies]
        # A guess may be the prediction itself, which inertia still reads.
        best = guesses[finite.index(min(finite))].clone()
        # Bodies at rest start where they are, so that friction can hold them.
        for where in objective.bodies_at_rest(start, inertial):
            best[:, where] = staying[:, where]
        for where in self._squashed(inertial, best):
            best[:, where] = staying[:, where]
        return best

    def _squashed(self, inertial: Tensor, guess: Tensor) -> list[slice]:
        """Return the vertices of bodies that the ground would flatten between coasting and a (3,
        N) guess. The total energy does not show this for a small body."""
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


def most_iterations(
    with_contact: bool, substeps: int | None, has_parts: bool = True, stages: int = 2
) -> str:
    """Describe the largest work of a frame, such as ``420 iterations``.

    Args:
        with_contact: whether surfaces may touch.
        substeps: steps a frame; None is one.
        has_parts: whether steps may be taken in parts.
        stages: the number of stages of a step.
    """
    limit = _iteration_limit(with_contact)
    if has_parts:
        limit = PART_ITERATIONS_FACTOR * limit + MAX_PARTS * MIN_ITERATIONS
    return f"{(substeps or 1) * stages * limit} iterations"


def _min_step_size(tries: int) -> float:
    """Return the least size of a part relative to the remaining step. The first half of all tries
    may be arbitrarily short; the others divide the remaining step evenly."""
    return 0.0 if 2 * tries > MAX_PARTS else 1.0 / tries


def _with_statistics_of(state: State, dropped: State) -> State:
    """Return a state with the statistics of a dropped step that started from it."""
    work = dropped.solver_statistics
    statistics = replace(
        state.solver_statistics,
        iterations=work.iterations,
        linear_iterations=work.linear_iterations,
        factorizations=work.factorizations,
        limited_steps=work.limited_steps,
        steps=work.steps,
    )
    return replace(state, solver_statistics=statistics)


def _iteration_limit(with_contact: bool) -> int:
    return MAX_CONTACT_ITERATIONS if with_contact else MAX_ITERATIONS


def _diverged_message(system: System, state: State) -> str:
    reason = state.solver_statistics.termination_reason
    return (
        f"{system.names}: frame {state.frame} has no finite positions ({reason}). Use more "
        "substeps, a lower stiffness (Young's modulus), or a slower motion of the pins."
        + burst_warning(system.bodies)
    )
