# SPDX-License-Identifier: GPL-3.0-or-later
"""The integrator that chooses for the user: for a scene, and from frame to frame."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..errors import InstabilityError, SceneError
from ..potentials.contact import accepted_moves
from ..potentials.contact.clearance import Clearance, Trajectory
from ..state import FallbackReason, SolverStatistics, State
from ..system import System
from .contact_failures import unsupported_contact_reason
from .explicit_integrators import SymplecticEuler
from .explicit_stepper import ExplicitStepper
from .impacts import MAX_IMPACT_STEPS
from .implicit_integrators import SDIRK2, ImplicitEuler
from .implicit_stepper import ImplicitStepper, most_iterations
from .integrator import Integrator, TimeStepper
from .stability import slowest_frequency

# Seconds of an explicit step, and of an implicit frame: fixed cost, and cost a tet. Measured on two
# cores by ``python3 dev.py bench implicit_frame time_against_tets``; only their ratio counts.
EXPLICIT_STEP_S = (5e-5, 1.3e-8)
IMPLICIT_FRAME_S = (5e-3, 3e-6)
# The ratio for rest shapes that follow a pose: an explicit step computes them again, and an
# implicit frame takes about twice the Newton iterations. There explicit steps are to take no
# longer.
POSED_STEP_S, POSED_FRAME_S, POSED_COST_RATIO = (3e-4, 5.2e-8), (2.1e-2, 7.5e-6), 1.0
# The most time of a frame that keeps its oscillation, relative to implicit steps.
COST_RATIO = 2.0
# The largest SDIRK2 step, in radians of the slowest vibration: it keeps 0.9999 of the amplitude,
# and the period is 0.6 % too long. And the most such steps a frame; more take too long.
MAX_TURN_RAD, MAX_LIVELY_STEPS = 0.4, 6
# Seconds of a short step of an impact, relative to a frame in free flight: it takes three times
# the Newton iterations.
IMPACT_COST_RATIO = 3.0
# The least J = det F that explicit steps may bring tets to, or would in a frame more of the kind:
# implicit steps that begin when they are flat come too late.
MIN_VOLUME_RATIO = 0.05
# The most repeats of a diverged frame with contact, each with twice the substeps and twice the
# time, before implicit Euler takes it.
CONTACT_RETRIES = 1


@dataclass(frozen=True)
class Automatic(Integrator):
    """Symplectic Euler takes the frames of soft and coarse bodies, if its many steps take no
    longer than ``COST_RATIO`` times implicit ones. Otherwise SDIRK2 takes as many steps as keep
    the slowest vibration, so that it is the same at any frame rate. One step a frame is enough if
    the vibration is too fast for frames to show or surfaces touch. Frames of an impact need short
    steps: of symplectic Euler or of SDIRK2, whichever takes less time.

    A frame is first simulated without contact. If surfaces come close or a tet is flattened, the
    frame is repeated with contact after each step. Once explicit steps diverge, all later frames
    use implicit Euler, which removes the energy that they have added.
    """

    def stepper(self, system: System, substeps: int | None) -> TimeStepper:
        scene, obstacles = system.scene, system.obstacles
        is_stiff = scene.attachments or any(part.is_stiff for part in system.forces)
        if obstacles.need_explicit_steps and not scene.couples_bodies:
            return SymplecticEuler().stepper(system, substeps)
        if obstacles.need_explicit_steps or is_stiff:
            return SDIRK2().stepper(system, substeps)
        explicit: ExplicitStepper | None = None
        with suppress(InstabilityError):
            records_positions = scene.contact is not None
            explicit = SymplecticEuler().contact_free_stepper(system, substeps, records_positions)
        if substeps is not None:
            chosen = explicit or SDIRK2().contact_free_stepper(system, substeps)
            return chosen if scene.contact is None else AutomaticStepper(chosen, system, substeps)
        if explicit is not None and _is_quicker(system, explicit):
            return AutomaticStepper(explicit, system, None)
        steps = _lively_steps(system)
        if steps is not None and explicit is not None and _is_quicker(system, explicit, steps):
            # Steps that pay off in free flight may take too long when surfaces collide.
            return AutomaticStepper(explicit, system, None, takes_contact=False)
        contact_free = SDIRK2().contact_free_stepper(system, None, steps or 1)
        if explicit is None and scene.contact is None:
            return contact_free
        through_impacts = None if explicit is None else AutomaticStepper(explicit, system, None)
        return AutomaticStepper(contact_free, system, None, through_impacts=through_impacts)


class AutomaticStepper(TimeStepper):
    """Frames without contact, ones with it where those are of no use, and implicit ones.

    Args:
        contact_free: which does without contact, and records positions where there is.
        system, substeps: the arguments of ``Integrator.stepper``.
        takes_contact: whether explicit steps take frames with contact, too.
        through_impacts: the stepper of explicit frames in which an impact is seen, where they take
            less time than implicit ones; None for ``contact_free`` alone.
    """

    def __init__(
        self,
        contact_free: TimeStepper,
        system: System,
        substeps: int | None,
        *,
        takes_contact: bool = True,
        through_impacts: AutomaticStepper | None = None,
    ) -> None:
        super().__init__(contact_free.substeps, adapts=contact_free.adapts)
        self._contact_free, self._system = contact_free, system
        self._chosen_substeps, self._takes_contact = substeps, takes_contact
        self._through_impacts = through_impacts
        self._current: TimeStepper = contact_free
        self._clearance: Clearance | None = None
        if system.scene.contact is not None:
            self._clearance = Clearance(system.scene, system.meshes)

    @cached_property
    def implicit(self) -> ImplicitStepper:
        """The stepper of frames that the contact-free one cannot take."""
        # Many scenes never need it.
        return SDIRK2().stepper(self._system, self._chosen_substeps)

    @cached_property
    def damped(self) -> ImplicitStepper:
        """The stepper of frames after explicit steps have diverged; it dissipates energy."""
        return ImplicitEuler().stepper(self._system, self._chosen_substeps)

    @cached_property
    def with_contact(self) -> ExplicitStepper | None:
        """The stepper of explicit steps with contact; None if it does not support the scene."""
        if not _is_explicit(self._contact_free) or not self._takes_contact:
            return None
        if self._clearance is None or unsupported_contact_reason(self._system):
            return None
        stepper = SymplecticEuler().stepper(self._system, self._chosen_substeps)
        stepper.max_retries = CONTACT_RETRIES
        return stepper

    @property
    def label(self) -> str:  # type: ignore[override]
        return self._current.label

    @property
    def current(self) -> TimeStepper:
        return self._current

    @property
    def most_work(self) -> str:
        iterations = most_iterations(self._clearance is not None, self._chosen_substeps)
        return f"{self._contact_free.most_work} and {iterations}"

    def advance(self, state: State) -> State:
        if state.gave_up:
            return self._advance_implicitly(state, FallbackReason.UNSTABLE)
        if not self._is_clear(state):
            return self._advance_with_contact(state, FallbackReason.CONTACT)
        if isinstance(self._contact_free, ImplicitStepper):
            through_impact = self._advance_through_impact(state, self._contact_free, is_clear=True)
            if through_impact is not None:
                return through_impact
        try:
            after = self._contact_free.advance(self._without_contact(state))
        except InstabilityError as error:
            return self._give_up(state, error)
        return self._checked(state, after)

    def _without_contact(self, state: State) -> State:
        # The previous frame may have used another stepper.
        substeps = self._contact_free.substeps
        return replace(
            state,
            substeps=substeps,
            solver_statistics=SolverStatistics(),
            hindrance=FallbackReason.NONE,
        )

    def _checked(self, state: State, after: State) -> State:
        """Return a frame without contact, or the frame that replaces it."""
        clear = self._if_clear(state, after)
        if clear is None:
            return self._advance_with_contact(state, FallbackReason.CONTACT)
        if not self._is_pressed_flat(state, clear):
            self._report_moves(state)
            return clear
        try:
            return self._advance_with_contact(state, FallbackReason.FLAT)
        except (SceneError, InstabilityError):
            self._current = self._contact_free
            self._report_moves(state)
            return clear

    def _report_moves(self, before: State) -> None:
        """Reports the moves of a frame without contact, where a check observes them."""
        stepper, clearance = self._contact_free, self._clearance
        if clearance is None or not accepted_moves.are_observed():
            return
        steps = stepper.sampled_positions
        if isinstance(stepper, ExplicitStepper):
            steps = stepper.step_positions
        points = [
            clearance.surface.points(
                at.cpu().numpy(),
                clearance.colliders(before.colliders, before.frame, number / (len(steps) - 1)),
            )
            for number, at in enumerate(steps)
        ]
        for first, last in pairwise(points):
            accepted_moves.report(clearance.surface, first, last)

    def _advance_with_contact(self, state: State, fallback: FallbackReason) -> State:
        """A frame with contact; implicit where explicit steps cannot take it."""
        with_contact = self.with_contact
        if with_contact is None:
            through_impact = self._advance_through_impact(state, self.implicit, is_clear=False)
            return through_impact or self._advance_implicitly(state, fallback)
        self._current = with_contact
        start = replace(self._without_contact(state), substeps=with_contact.substeps)
        try:
            return replace(with_contact.advance(start), clearance=0.0)
        except InstabilityError:
            return self._advance_implicitly(state, FallbackReason.UNSTABLE)

    def _volume_ratio(self, state: State) -> float:
        # Goals move tets that a pose squeezes, with any integrator.
        parts = self._system.elasticities
        return min(part.least_volume_ratio(state.positions) for part in parts)

    def _advance_implicitly(self, state: State, fallback: FallbackReason) -> State:
        stepper = self.damped if fallback == FallbackReason.UNSTABLE else self.implicit
        self._current = stepper
        why = fallback if _is_explicit(self._contact_free) else FallbackReason.NONE
        # Implicit steps bring animated objects to their targets, or report the obstacle.
        after = stepper.advance(replace(state, clocks=None))
        return replace(after, hindrance=why, clearance=0.0)

    def _advance_through_impact(
        self, state: State, implicit: ImplicitStepper, is_clear: bool
    ) -> State | None:
        """Return an explicit frame in which an impact is seen. None where there is no impact, or
        where the implicit stepper takes less time.

        Args:
            is_clear: whether surfaces may stay apart in it.
        """
        stepper = self._through_impacts
        if stepper is None or not (is_clear or stepper.with_contact):
            return None
        frame_seconds = self._system.frame_times.of(state.frame)
        left, step, starts_in = state.impact_seconds, state.impact_step, 0.0
        if left == 0.0:
            impact = implicit.coming_impact(state)
            if impact is None or impact.contact_seconds == 0.0:
                return None
            starts_in, step, left = impact.seconds, impact.step_seconds, impact.window
        touching = min(left, frame_seconds) - starts_in
        short_steps = min(MAX_IMPACT_STEPS, math.ceil(touching / step))
        if not _is_quicker_at_impact(self._system, stepper.substeps, short_steps):
            return None
        start = replace(state, impact_seconds=0.0)
        if is_clear:
            after = stepper.advance(start)
        else:
            after = stepper._advance_with_contact(start, FallbackReason.CONTACT)
        if after.gave_up or not _is_explicit(stepper.current):
            return None
        self._current = stepper.current
        left = max(0.0, left - frame_seconds)
        return replace(after, impact_seconds=left, impact_step=step if left else 0.0)

    def _give_up(self, state: State, error: InstabilityError) -> State:
        try:
            return self._advance_implicitly(replace(state, gave_up=True), FallbackReason.UNSTABLE)
        except SceneError:
            # The Neo-Hookean model takes inverted tets in explicit steps only.
            raise error from None

    def _is_pressed_flat(self, before: State, after: State) -> bool:
        """Whether explicit steps do that to tets."""
        if not _is_explicit(self._contact_free):
            return False
        least, pressed = self._volume_ratio(before), self._volume_ratio(after)
        return pressed < least and 2.0 * pressed - least < MIN_VOLUME_RATIO

    # Contact

    def _is_clear(self, state: State) -> bool:
        """Whether nothing is close at the start of a frame."""
        self._current = self._contact_free
        clearance = self._clearance
        if state.clocks is not None:
            # Objects behind their animation catch up in steps with contact.
            return False
        if clearance is None or state.clearance > 0.0:
            return True
        vertices = state.positions.cpu().numpy()
        colliders = clearance.colliders(state.colliders, state.frame, 0.0)
        return clearance.is_clear(clearance.surface.body_points(vertices), colliders, vertices.T)

    def _if_clear(self, before: State, after: State) -> State | None:
        """A frame without contact, if nothing came close in it."""
        clearance = self._clearance
        if clearance is None:
            return after
        vertices = [at.cpu().numpy() for at in self._contact_free.sampled_positions]
        positions = np.stack([clearance.surface.body_points(at) for at in vertices], axis=1)
        start, end = (
            clearance.colliders(before.colliders, before.frame, fraction) for fraction in (0.0, 1.0)
        )
        fractions = np.array(self._contact_free.sample_fractions)
        is_linear, ends = after.substeps < len(fractions), (start, end)
        corners = np.stack([at.T for at in vertices], axis=1)
        trajectory = Trajectory(positions, fractions, is_linear, ends, corners)
        left = clearance.clearance_after(trajectory, before.clearance)
        if left is None:
            return None
        return replace(after, colliders=end, clearance=left)


def _is_quicker(system: System, explicit: ExplicitStepper, implicit_steps: int = 1) -> bool:
    """Whether explicit frames are fast enough compared with this many implicit steps."""
    step_s, frame_s, ratio = EXPLICIT_STEP_S, IMPLICIT_FRAME_S, COST_RATIO
    if _follows_pose(system):
        step_s, frame_s, ratio = POSED_STEP_S, POSED_FRAME_S, POSED_COST_RATIO
    implicit_s = implicit_steps * _expected_s(frame_s, system)
    return explicit.substeps * _expected_s(step_s, system) <= ratio * implicit_s


def _is_quicker_at_impact(system: System, explicit_steps: int, short_steps: int) -> bool:
    """Whether an explicit frame takes no longer than the short implicit steps of an impact."""
    implicit_s = IMPACT_COST_RATIO * short_steps * _expected_s(IMPLICIT_FRAME_S, system)
    return explicit_steps * _expected_s(EXPLICIT_STEP_S, system) <= implicit_s


def _lively_steps(system: System) -> int | None:
    """The steps of SDIRK2 a frame that keep the slowest vibration; None where it is too fast for
    frames to show."""
    turn = slowest_frequency(system) * system.frame_times.longest
    if turn > math.pi:
        return None
    if _follows_pose(system):
        return 1
    return min(MAX_LIVELY_STEPS, max(1, math.ceil(turn / MAX_TURN_RAD)))


def _follows_pose(system: System) -> bool:
    return any(body.pose is not None for body in system.bodies)


def _expected_s(cost: tuple[float, float], system: System) -> float:
    """Seconds, by a fixed cost and one a tet."""
    fixed, each = cost
    return fixed + each * sum(len(mesh.tets) for mesh in system.meshes)


def _is_explicit(stepper: TimeStepper) -> bool:
    return isinstance(stepper, ExplicitStepper)
