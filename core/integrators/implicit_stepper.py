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
from ..potentials.contact.topology import Points
from ..scene import checks
from ..scene.soft_body import burst_warning
from ..state import SolverStatistics, State
from ..system import System
from .energy_watch import EnergyWatch
from .impacts import (
    CONTACT_STEPS,
    LEAST_STEP_RATIO,
    MAX_IMPACT_STEPS,
    ONSET_RATIO,
    WINDOW_RATIO,
    Impact,
    Impacts,
)
from .integrator import TimeStepper
from .rigid_frames import RigidFrames
from .spin_limit import MAX_STEPS as MAX_SPIN_STEPS
from .spin_limit import SpinLimit
from .stability import decay, impulse_time
from .stages import Coasting, Moment, Stage, Step
from .unhindered_motion import UnhinderedMotion

MAX_ITERATIONS = 60
TOLERANCE_M_PER_S = 1e-3
# With contact, where many surfaces meet one after the other.
MAX_CONTACT_ITERATIONS = 200
# A step is taken in so many parts at most, with those that are taken again, where surfaces go
# against each other; and all of them may take so many times the Newton steps of one, and each as
# many as are left for it, or as the least.
MAX_PARTS, PART_ITERATIONS_FACTOR, MIN_ITERATIONS = 64, 4, 10
# A part that went too far is taken again, this share of it at least. It went far enough at less
# than the second: shares are known no better, and parts of nearly the same length gain nothing.
MIN_RETAKEN_RATIO, FAR_ENOUGH_RATIO = 0.25, 0.9
# Steps whose lengths differ by no more than this ratio are equal.
LENGTH_ROUNDING = 1e-9
# Where surfaces hit each other, a step need not be exacter than this share of the largest
# displacement.
DISPLACEMENT_TOLERANCE_RATIO = 5e-3
# Of a body's diagonal: one that a landing would make so much flatter begins a search where it is.
SQUASH_DIAGONAL_RATIO = 0.5


class ImplicitStepper(TimeStepper):
    """The base of implicit integrators: the search, pins, parts of steps, statistics.

    Args:
        system: to be carried on.
        substeps: time steps a frame; one where that is None.
        tolerance: in m/s; None as ``ImplicitEuler`` says.
        with_contact: whether contact counts, where the scene has one.
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
        #: (3, N) where the stages of each step of the last frame ended, and of the last step.
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
        #: Holds steps to the energy that bodies have; None where they take what comes.
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
        """The state a frame later."""
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
        """The state after a step between two fractions of a frame, in as many parts as surfaces
        that go against each other demand."""
        left, tries, (since, until), taken = 1.0, MAX_PARTS, fractions, 0
        limit = _iteration_limit(self._objective.contact is not None)
        iterations_left = PART_ITERATIONS_FACTOR * limit
        while left > 0.0:
            ahead = self._ahead(state, left * step, frame, until, taken)
            points, approach, state, impact, is_calm = ahead
            share, is_enough = min(approach.step_size, impact), False
            if self._spin_limit is not None and taken < MAX_SPIN_STEPS:
                share = min(share, self._spin_limit.share(state, left * step))
            while not is_enough:
                # Without Newton steps left, one part takes what is left.
                least = _least_share(tries) if iterations_left > 0 else 1.0
                is_forced, share, tries = share < least, max(share, least), tries - 1
                part = share * left
                end = until if share == 1.0 else since + (until - since) * (1.0 - left + part)
                most = min(limit, max(MIN_ITERATIONS, iterations_left))
                is_calm = is_calm or is_forced
                after = self._step(state, part * step, frame, (since, end), most, is_calm)
                statistics = after.solver_statistics
                iterations_left -= statistics.iterations - state.solver_statistics.iterations
                if is_forced:
                    after = self._marked_too_fast(after, approach)
                if part < 1.0 and not statistics.converged:
                    retaken, is_calm = 0.5, True
                else:
                    approach = self._approach(points, after)
                    retaken = max(approach.step_size, MIN_RETAKEN_RATIO)
                    retaken = 1.0 if retaken > FAR_ENOUGH_RATIO else retaken
                is_last = tries == 0 or iterations_left <= 0
                is_enough = retaken == 1.0 or is_last or _least_share(tries) >= share
                if not is_enough:
                    share, state = retaken * share, _with_work_of(state, after)
                elif approach.step_size < 1.0:
                    after = self._marked_too_fast(after, approach)
            state, left = after, left - part if share < 1.0 else 0.0
            taken += 1
            impact_left = max(0.0, state.impact_seconds - part * step)
            state = replace(state, impact_seconds=impact_left)
            self.sampled_positions.append(state.positions)
            self.stage_ends.append(self._stage_ends)
            self.sample_fractions.append(end)
        return state

    def _ahead(
        self, state: State, seconds: float, frame: int, fraction: float, taken: int
    ) -> tuple[Points, Approach, State, float, bool]:
        """Predict motion without contact until a fraction of a frame: (V, 3) surface points, the
        share of their motion that may be one step, and the result of ``_impact_share``.

        Args:
            taken: steps of the frame so far.
        """
        contact, impacts = self._objective.contact, self._impacts
        finds = impacts is not None and state.impact_seconds == 0.0 and taken < MAX_IMPACT_STEPS
        if contact is None and not finds:
            share = self._impact_share(state, seconds, None, taken)
            return np.empty((0, 3)), Approach(1.0), *share
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
        if impacts is not None and finds:
            impact = impacts.first(state, seconds, unhindered, collider_moves)
        return points, approach, *self._impact_share(state, seconds, impact, taken)

    @staticmethod
    def _impact_share(
        state: State, seconds: float, impact: Impact | None, taken: int
    ) -> tuple[State, float, bool]:
        """The state that knows for how long short steps go on for the sake of impacts, how much of
        so many seconds the next step may take, and whether it is a calm one, because surfaces meet
        in it: what a stage before its end gives, the end cannot take back."""
        if taken >= MAX_IMPACT_STEPS:
            return state, 1.0, False
        if state.impact_seconds == 0.0:
            short = math.inf if impact is None else impact.contact_seconds / CONTACT_STEPS
            if impact is None or not 0.0 < short < seconds:
                return state, 1.0, False
            if short < LEAST_STEP_RATIO * seconds:
                return state, 1.0, True
            # Surfaces meet in the middle of a step that is shorter still.
            onset = ONSET_RATIO * short
            if impact.seconds > 2.0 * onset:
                return state, (impact.seconds - onset) / seconds, False
            window = impact.seconds + WINDOW_RATIO * impact.contact_seconds
            state = replace(state, impact_seconds=window, impact_step=short)
            return state, min(1.0, (impact.seconds + onset) / seconds), True
        return state, min(1.0, state.impact_step / seconds), False

    def _approach(self, before: Points, after: State) -> Approach:
        """Return the share of a part that may be one step, from the motion of surfaces."""
        contact = self._objective.contact
        if contact is None:
            return Approach(1.0)
        surface = contact.surface
        points = surface.points(after.positions.cpu().numpy(), surface.colliders_in(after))
        return contact.approach_limit.approach(before, points - before, within_pieces=True)

    def _marked_too_fast(self, state: State, approach: Approach) -> State:
        """A state that says which two objects went too far against each other."""
        contact = self._objective.contact
        if approach.objects is None or contact is None:
            return state
        first, second = (contact.surface.names[k] for k in approach.objects)
        what = f"{first} and {second}" if first != second else f"{first} and itself"
        statistics = state.solver_statistics
        too_fast = tuple(dict.fromkeys((*statistics.too_fast, what)))
        return replace(state, solver_statistics=replace(statistics, too_fast=too_fast))

    @staticmethod
    def with_usable_history(state: State, step: float) -> State:
        """A state that begins a step of so many seconds, without what lies before where that is a
        step of another length away: over a hit, differences of unequal steps go on pushing."""
        is_even = math.isclose(state.step_seconds, step, rel_tol=LENGTH_ROUNDING)
        return state if is_even else replace(state, previous=None)

    def _step(
        self,
        state: State,
        seconds: float,
        frame: int,
        fractions: tuple[float, float],
        limit: int,
        is_calm: bool,
    ) -> State:
        """The state after a step of ``seconds`` between two fractions of a frame; each stage may
        take so many Newton steps. A calm step is one of implicit Euler."""
        state = self.with_usable_history(state, seconds)
        step = self.calm_step(state, seconds) if is_calm else self.begin_step(state, seconds)
        since, until = fractions
        contact, colliders = self._objective.contact, None
        if contact is not None:
            contact.begin(state.colliders)
            colliders = contact.colliders
        after = replace(state, previous=self.history(state), step_seconds=seconds)
        self._stage_ends, touched = [], False
        for stage in step.stages:
            # The last one ends where the step does, to the bit.
            share = 1.0 if stage is step.stages[-1] else stage.end / seconds
            coasting = step.coasting(stage)
            when = frame, until if share == 1.0 else since + share * (until - since)
            after = self._solve(after, coasting, when, colliders, limit)
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
        when: tuple[int, float],
        colliders: Points | None,
        limit: int,
    ) -> State:
        """The state where a stage ends, its velocities those before it.

        Args:
            state: where the search begins.
            coasting: of the stage.
            when: the frame, and the fraction of the way to the next, where it ends.
            colliders: (C, 3) where the step began; None without contact.
            limit: Newton steps that it may take.
        """
        system, objective, stage = self._system, self._objective, coasting.stage
        start, span, impulse = state.positions, stage.span, stage.impulse_time
        system.go_to(*when)
        # Pinned vertices stay, or are where their motion is prescribed.
        inertial, carried = coasting.positions, coasting.carried
        if system.moving_pins is not None:
            inertial, carried = inertial.clone(), carried.clone()
            pins = system.moving_pins
            at_end = pins.positions(*when)
            for places in (inertial, carried):
                places[:, pins.vertices] = at_end
        contact, collider_ends = objective.contact, None
        if contact is not None:
            collider_ends = contact.surface.colliders_at(*when)
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
        """The largest distance of anything animated to its place, in metres.

        Args:
            positions: (3, N) where vertices are.
            targets: (3, N) where pinned ones should be.
            colliders: (C, 3) where colliders should be; None without contact.
        """
        ways = torch.linalg.vector_norm(positions - targets, dim=0)
        farthest = float(torch.where(self._system.free, 0.0, ways).max())
        contact = self._objective.contact
        if contact is not None and colliders is not None:
            behind = np.linalg.norm(colliders - contact.colliders, axis=1)
            farthest = max(farthest, float(behind.max(initial=0.0)))
        return farthest

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
        """A step of so many seconds from a state on."""

    def calm_step(self, state: State, seconds: float) -> Step:
        """A step of implicit Euler from a state on: no impact within it gives it energy."""
        rate, positions = self._system.damping, state.positions
        velocities = state.velocities * decay(rate, seconds)
        impulse = impulse_time(rate, seconds)
        stage = Stage(seconds, seconds, (1.0,), (1.0,), (seconds,), impulse)
        start = Moment(0.0, positions, velocities)
        return Step(self._system, self.frames, seconds, (stage,), [start], velocities, True)

    def step_of(self, state: State, seconds: float, stages: int) -> Step:
        """The step from a state on that has so many stages."""
        step = self.begin_step(state, seconds)
        return step if len(step.stages) == stages else self.calm_step(state, seconds)

    def history(self, state: State) -> tuple[Tensor, Tensor] | None:
        """Return the positions and velocities that the next step needs from the start of this
        one.
        """
        return None

    def _initial_guess(
        self, start: Tensor, inertial: Tensor, carried: Tensor, falling: Tensor
    ) -> Tensor:
        """The best of these: coasting, falling, staying, and where bodies turn falling as rigid
        ones.

        Args:
            start, inertial, carried: (3, N) where it begins, and would end without forces and as
                rigid bodies.
            falling: (3, N) how far free fall takes it beside these.
        """
        objective, system = self._objective, self._system
        staying = torch.where(system.free, start, inertial)
        ends = [inertial, inertial + falling]
        if bool((carried != inertial).any()):
            ends.append(carried + falling)
        guesses = [objective.paths.initial_guess(start, end) for end in ends] + [staying]
        # Whatever touches makes itself felt on the way to the guess.
        energies = [objective.energy_without_contact(guess) for guess in guesses]
        finite = [math.inf if math.isnan(energy) else energy for energy in energies]
        # A guess may be the prediction itself, by which inertia goes.
        best = guesses[finite.index(min(finite))].clone()
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


def most_iterations(
    with_contact: bool, substeps: int | None, has_parts: bool = True, stages: int = 2
) -> str:
    """The most that a frame takes, such as ``420 iterations``.

    Args:
        with_contact: whether surfaces may touch.
        substeps: steps a frame; None is one.
        has_parts: whether steps may be taken in parts.
        stages: of a step.
    """
    limit = _iteration_limit(with_contact)
    if has_parts:
        limit = PART_ITERATIONS_FACTOR * limit + MAX_PARTS * MIN_ITERATIONS
    return f"{(substeps or 1) * stages * limit} iterations"


def _least_share(tries: int) -> float:
    """The share of what is left of a step that a part has to take, with so many tries left: half of
    all are as short as they need to be, the others share what is left then."""
    return 0.0 if 2 * tries > MAX_PARTS else 1.0 / tries


def _with_work_of(state: State, dropped: State) -> State:
    """A state with the work of a step from it that is taken again."""
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
