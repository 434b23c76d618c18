# SPDX-License-Identifier: GPL-3.0-or-later
"""A minimization by Newton's method in progress: its steps and its line search."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..linear_solvers.linear_solver import LinearSolver
from .incremental_potential import IncrementalPotential
from .lagged_update import LaggedUpdate
from .minimize_result import CONVERGED, OBSTRUCTED, MinimizeResult
from .search_path import SearchPath

# A step has to bring this share of the decrease that the gradient promises (Armijo).
ARMIJO_C1 = 1e-4
# A step with more than this ratio of the predicted decrease is expanded: the curvature is lower
# than the model's.
EXPANSION_RATIO = 0.75
MAX_BACKTRACKS = 40
# A line search fails below this ratio of its path: the path, projected on the ground or straight,
# does not fit the energy, and the next search takes the other kind.
MIN_PATH_RATIO = 1.0 / 16.0
# The error of the energy, in units of rounding of the sum of its parts.
ROUND_OFF_FACTOR = 4.0
# Within the first factor times the rounding of energy, the slope decides: at the end of a step it
# may be positive up to the second ratio of its initial descent. With all of it, steps go to and
# fro.
SAME_ENERGY_FACTOR, WOLFE_SLOPE_RATIO = 16.0, 0.5
# An unprojected Hessian whose step a line search cuts below this ratio leads astray.
POOR_STEP_RATIO = 0.25
# Where surfaces touch, the first such Hessian is followed by this many projected ones. Ten monkeys
# in a bowl take 30 Newton steps a time step; after one, 34, and with projected ones alone, 29.
FIRST_CONTACT_WAIT = 3
# While accumulated steps are no longer than this, the Hessian of elasticity serves again.
MAX_REUSE_STEP_SIZE = 1.0
# The tolerance of the linear solver, relative to that of a step.
LINEAR_TOLERANCE_RATIO = 0.1
# Below this many tolerances the next step is one of verification: the last Hessian serves again.
REUSE_TOLERANCE_FACTOR = 30.0
# It does so only while steps shrink at least this much.
REUSE_CONTRACTION_RATIO = 0.2
# Between surfaces that nearly touch, a step is no longer than their distance, even under a strong
# push: while it opens the closest pair by more than this ratio, the search has not converged.
OPENING_RATIO = 1.5
# The number of successive obstructed steps that make a search obstructed.
OBSTRUCTED_STEPS = 2


class NewtonSearch:
    """One minimization in progress.

    Args: as of ``Newton`` and its ``minimize``; ``projects`` whether it begins with the projected
        Hessian.
    """

    def __init__(
        self,
        objective: IncrementalPotential,
        solver: LinearSolver,
        positions: Tensor,
        tolerance: float,
        step: float,
        forcing: float,
        lagged: LaggedUpdate,
        max_stick_drift: float,
        projects: bool,
        is_exact: bool,
    ) -> None:
        self._objective, self._solver = objective, solver
        #: (3, N) where it is, and the Newton steps that led there.
        self.positions, self.iterations = positions, 0
        self._drift, self._seconds = objective.rigid_drift, step
        objective.paths.follows_ground = True
        self._tolerance, self._forcing = tolerance, forcing
        self._lagged, self._max_stick_drift = lagged, max_stick_drift
        # The error's energy bounds ½ m v² of the error in velocity.
        speed = LINEAR_TOLERANCE_RATIO * tolerance / step
        self._absolute_tolerance = speed * math.sqrt(objective.reference_mass)
        self._linear_iterations = 0
        self._factorized_before = solver.factorizations
        self._step_norm = math.inf
        #: Whether the next Hessian is the projected one.
        self.projects = projects
        self._reuses_hessian = False
        # Hessians that are indefinite or lead astray come in a row: wait for longer each time
        # before trying again.
        self._wait = 0
        self._max_wait = 1 if objective.contact is None else FIRST_CONTACT_WAIT
        self._has_no_descent, self._allows_expansion = False, False
        # The number of last steps that surfaces have shortened.
        self._is_exact, self._obstructed_steps = is_exact, 0
        # The Hessian of smooth energies, whether it is projected, and the steps taken since.
        self._smooth_hessian: BlockMatrix | None = None
        self._is_projected, self._accumulated_step = True, math.inf
        # Known where a line search evaluated them: at the present point and at the last trial.
        self._gradient: Tensor | None = None
        self._trial_gradient: Tensor | None = None
        self._reevaluate()
        self._min_distance = objective.min_distance(positions)
        #: Whether the last step opened the closest pair far: the search has not converged.
        self.is_opening = False

    def result(self, reason: str) -> MinimizeResult:
        return MinimizeResult(
            self.positions,
            self.iterations,
            self._linear_iterations,
            self._solver.factorizations - self._factorized_before,
            self._step_norm,
            reason,
        )

    @property
    def gradient(self) -> Tensor:
        """Return the (3, N) gradient at the present positions, in newtons."""
        if self._gradient is None:
            self._gradient = self._objective.gradient(self.positions)
        return self._gradient

    def step(self) -> str:
        """Takes a Newton step; returns why it was the last, or nothing."""
        objective, before, gradient = self._objective, self.positions, self.gradient
        direction = self._direction(gradient, self._forcing)
        previous, self._step_norm = self._step_norm, _max_norm(direction)
        if self._step_norm <= self._tolerance and self._is_too_inexact(direction, gradient):
            direction = self._direction(gradient, 0.0)
            self._step_norm = _max_norm(direction)
        if not (math.isfinite(self._step_norm) and bool(torch.isfinite(gradient).all())):
            self._step_norm = math.inf
            return "the energy has no finite derivative"
        if self._step_norm == 0.0 and self._solver_failed:
            self._step_norm = math.inf
            return self._try_another_hessian()
        path = objective.paths.find(before, direction, gradient)
        within = self._step_norm <= self._tolerance
        step_size = self._search_line(path)
        if step_size < MIN_PATH_RATIO * path.max_step_size:
            objective.paths.follows_ground = not objective.paths.follows_ground
        if step_size == 0.0 and not within:
            return self._try_another_hessian()
        self.iterations += 1
        self._has_no_descent, self._allows_expansion = False, step_size >= 1.0
        if objective.after_iteration(self.positions):
            self._reevaluate()
        if not self.projects and step_size < POOR_STEP_RATIO * path.max_step_size:
            self._wait_longer()
        self._choose_hessian(step_size, self._step_norm <= REUSE_CONTRACTION_RATIO * previous)
        self._update_min_distance()
        self._obstructed_steps = self._obstructed_steps + 1 if path.is_obstructed else 0
        if self._is_obstructed(gradient, direction):
            return OBSTRUCTED
        if not (within or step_size >= 1.0) or not self._is_converged():
            return ""
        drifts = not objective.stick_drift(before, self.positions) <= self._max_stick_drift
        if drifts or self.is_opening or self._is_adrift():
            self._reuses_hessian = False
            return ""
        return CONVERGED

    def _is_adrift(self) -> bool:
        """Whether surfaces touch, and a whole body has farther to go than the tolerance."""
        if self._drift is None:
            return False
        return self._drift(self.gradient, self._seconds) > self._tolerance

    def _try_another_hessian(self) -> str:
        """For a step without descent; why the search ends, where there is no other Hessian."""
        if not self._reuses_hessian:
            if self._has_no_descent:
                return "rounding hides the descent"
            self._has_no_descent, self.projects = True, not self.projects
        self._reuses_hessian = False
        return ""

    def _is_obstructed(self, gradient: Tensor, direction: Tensor) -> bool:
        """Whether surfaces obstruct the search, and a (3, N) Newton step gains little: surfaces
        crumple at their contact, long after the rest has reached its end."""
        if self._is_exact or self._drift is None or self._obstructed_steps < OBSTRUCTED_STEPS:
            return False
        speed = self._tolerance / self._seconds
        return self._objective.gains_little(self.positions, gradient, direction, speed)

    def _is_converged(self) -> bool:
        """Whether the last step is within tolerance, and the normal forces are those of here."""
        if self._lagged.is_due:
            change = self._lagged.apply(self.positions, self._step_norm)
            if change > 0.0:
                self._reevaluate()
            if self._lagged.is_too_large(change):
                self._reuses_hessian = False
                return False
        return self._step_norm <= self._tolerance

    def _is_too_inexact(self, direction: Tensor, gradient: Tensor) -> bool:
        """Whether a (3, N) Newton step is so inexact that a light body's part may be missing."""
        error = self._forcing * math.sqrt(max(0.0, -float((gradient * direction).sum())))
        return LINEAR_TOLERANCE_RATIO * error > self._absolute_tolerance

    def _direction(self, gradient: Tensor, forcing: float) -> Tensor:
        """(3, N) Newton step; zero at a minimum, or where the solver failed at its start.

        Args:
            gradient: (3, N) in newtons.
            forcing: on the linear solve, as that of ``Newton``.
        """
        objective, solver = self._objective, self._solver
        rhs = objective.unknowns(-gradient)
        if not self._reuses_hessian:
            self._assemble_hessian()
        solution = solver.solve(rhs, forcing, self._absolute_tolerance)
        self._linear_iterations += solution.iterations
        if solution.end == "indefinite" and not self.projects:
            self.projects = True
            self._wait_longer()
            self._assemble_hessian()
            solution = solver.solve(rhs, forcing, self._absolute_tolerance)
            self._linear_iterations += solution.iterations
        self._solver_failed = solution.end == "indefinite"
        return objective.vectors(solution.x)

    def _assemble_hessian(self) -> None:
        objective, positions = self._objective, self.positions
        # Without contact nothing is so costly that a Hessian from elsewhere would do.
        smooth = None if objective.contact is None else self._recent_smooth_hessian()
        hessian = objective.hessian(positions, self.projects, smooth)
        self._solver.prepare(hessian, objective.unknowns(positions))

    def _recent_smooth_hessian(self) -> BlockMatrix:
        is_stale = self._accumulated_step > MAX_REUSE_STEP_SIZE
        if self._smooth_hessian is None or is_stale or self.projects != self._is_projected:
            self._smooth_hessian = self._objective.smooth_hessian(self.positions, self.projects)
            self._accumulated_step, self._is_projected = 0.0, self.projects
        return self._smooth_hessian

    def _wait_longer(self) -> None:
        """Takes projected Hessians for twice as many steps as the last time."""
        self._wait, self._max_wait = self._max_wait, 2 * self._max_wait

    def _choose_hessian(self, step_size: float, contracts: bool) -> None:
        """Chooses which Hessian the next step takes."""
        self._wait -= 1
        self.projects = step_size < 1.0 or self._wait >= 0
        self._accumulated_step += step_size
        is_near = self._step_norm <= REUSE_TOLERANCE_FACTOR * self._tolerance
        self._reuses_hessian = contracts and is_near

    @property
    def whole_step_norm(self) -> float:
        """The length of the last Newton step in metres; infinite where the step was cut."""
        return self._step_norm if self._allows_expansion else math.inf

    def _update_min_distance(self) -> None:
        """Finds how close surfaces are, and whether the last step opened the closest pair far."""
        before = self._min_distance
        self._min_distance = self._objective.min_distance(self.positions)
        self.is_opening = OPENING_RATIO * before < self._min_distance < math.inf

    @property
    def _energy_round_off(self) -> float:
        """Return a bound on the change of the energy by rounding, in joules."""
        return ROUND_OFF_FACTOR * torch.finfo(self.positions.dtype).eps * self._energy_size

    def _search_line(self, path: SearchPath) -> float:
        """Moves along a path to a sufficient decrease; returns the step size, 0 where none is."""
        start, slope, step_size = self._energy, path.directional_derivative, path.max_step_size
        for _ in range(MAX_BACKTRACKS):
            self._evaluate_trial(path, step_size)
            if self._has_sufficient_decrease(step_size * slope):
                break
            step_size *= 0.5
        else:
            return 0.0
        self._accept()
        while (
            (self._allows_expansion or self._objective.contact is None)
            and step_size >= 1.0
            and start - self._energy
            > max(-EXPANSION_RATIO * step_size * slope, self._energy_round_off)
            and path.reaches(2.0 * step_size)
        ):
            self._evaluate_trial(path, 2.0 * step_size)
            if not self._trial_energy < self._energy:
                break
            step_size *= 2.0
            self._accept()
        return step_size

    def _has_sufficient_decrease(self, promised: float) -> bool:
        """Whether a trial brings enough of a (negative) promised change of energy.

        Changes below the rounding of the energy, such as those of a small body beside a large one,
        show in the slope at the trial (the approximate Wolfe condition of Hager and Zhang, "A new
        conjugate gradient method with guaranteed descent and an efficient line search", 2005).
        """
        round_off = self._energy_round_off
        change = self._trial_energy - self._energy - ARMIJO_C1 * promised
        if change <= -round_off:
            return True
        if not change <= SAME_ENERGY_FACTOR * round_off:
            return False
        self._trial_gradient = self._objective.gradient(self._trial)
        change_at_end = float((self._trial_gradient * (self._trial - self.positions)).sum())
        return change_at_end <= -WOLFE_SLOPE_RATIO * promised

    def _evaluate_trial(self, path: SearchPath, step_size: float) -> None:
        self._trial, self._trial_gradient = path.at(step_size), None
        self._trial_energy, self._trial_size = self._objective.energy(self._trial)

    def _accept(self) -> None:
        contact = self._objective.contact
        if contact is not None:
            contact.report_move(self.positions, self._trial)
        self.positions, self._gradient = self._trial, self._trial_gradient
        self._energy, self._energy_size = self._trial_energy, self._trial_size

    def _reevaluate(self) -> None:
        """Evaluates the energy where the search is, since it is another one now."""
        self._energy, self._energy_size = self._objective.energy(self.positions)
        self._gradient = None


def _max_norm(vectors: Tensor) -> float:
    """The length of the longest of (3, N) vectors."""
    return math.sqrt(float((vectors * vectors).sum(0).max()))
