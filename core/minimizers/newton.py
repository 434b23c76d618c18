# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method with inexact directions and a line search on the energy."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from ..linear_solvers.linear_solver import LinearSolver
from .incremental_potential import IncrementalPotential
from .levenberg_marquardt import LevenbergMarquardt
from .minimum import CONVERGED, Minimum
from .search_path import SearchPath

# Share of the decrease that the gradient promises which a step has to bring (Armijo).
DECREASE = 1e-4
# A step that brings more than this share has met less curvature than the model holds: go further.
STRAIGHT = 0.75
HALVINGS = 40
# The energy is known to so many units of rounding of the sum of its parts.
ROUNDING = 4.0
# Where the energy is the same but for so many times that, the slope decides: at the end of a step
# it may lead up by this share of what it led down. With all of it, steps go to and fro for ever.
WIDE, UPHILL = 16.0, 0.5
# Of the error's energy norm in the linear solves, in units of the solution's.
FORCING = 0.1
# While steps have gone no further than this share in all, elasticity is taken as it was.
SHORT = 1.0
# Of a step's tolerance: below it, the linear solver need not look.
LINEAR_SHARE = 0.1
# Below this many tolerances the next step is one of verification: the last Hessian serves again.
NEAR = 30.0
# So it does only while steps shrink at least this much.
FAST = 0.2
# Normal forces of friction are taken anew after every step, until a step within so many tolerances
# changes them by no more than this share.
LAG_NEAR, LAG_CHANGE = 200.0, 0.03
# In a step whose tolerances are relaxed, the share may be so large.
MOST_LAG_CHANGE = 0.1
# Those between surfaces are taken from so many tolerances on, since on the way surfaces come as
# close as steps let them, and until a step is within the lesser number.
SETTLING, SETTLED = 50.0, 3.0
# Where surfaces all but touch, a step goes no further than they are apart, however strong the push:
# while it takes the closest apart by more than this ratio, the search has not arrived.
OPENING = 1.5
# Where a change is more than this share of the one before, friction and normal forces turn each
# other over, and the next ones go this share of the way.
CYCLING, DAMPED = 0.7, 0.5
# What friction holds must have come to rest within this share of the way that breaks it loose.
STILL = 0.1


class Newton:
    """Minimises an incremental potential.

    The Hessian itself makes the last steps converge quadratically, but far from the minimum it may
    not be positive definite. Then, and after a step that had to be cut, the one projected tet by
    tet serves (Longva et al., "Pitfalls of Projection", 2023, compare such schemes).

    Args:
        objective: to minimise.
        forcing: on the error of a Newton step in the energy norm, as a share of the step.
    """

    def __init__(self, objective: IncrementalPotential, forcing: float = FORCING) -> None:
        self._objective, self._forcing = objective, forcing
        points = objective.unknowns(objective.system.rest_positions())
        self._solver = LinearSolver(
            objective.pattern,
            objective.group_starts,
            points.cpu().double().numpy(),
            objective.system.dtype,
        )

    def minimize(
        self,
        positions: Tensor,
        tolerance: float,
        step: float,
        max_iterations: int,
        lags: bool = True,
        relaxed: float = 1.0,
        enough: int | None = None,
    ) -> Minimum:
        """
        Args:
            positions: (3, N) to start from, where the energy is finite.
            tolerance: in metres, on the largest move of a vertex in a Newton step.
            step: of the time integration, in seconds.
            max_iterations: Newton steps at most.
            lags: whether what lags behind is taken anew on the way.
            relaxed: by how much tolerances of friction are.
            enough: Newton steps after which it ends once it is in no corner, and nothing opens.
        """
        search = _Search(
            self._objective, self._solver, positions, tolerance, step, self._forcing, lags, relaxed
        )
        count = 0
        while count < max_iterations:
            stopped, count = search.step(), count + 1
            if stopped:
                return search.minimum(stopped)
            if enough is not None and count >= enough and search.is_free:
                break
        return search.minimum(f"not converged after {count} iterations")

    def begin(self) -> None:
        """Forgets earlier searches, so that what follows does not depend on them."""
        self._solver.begin()

    def step_against(self, positions: Tensor, gradient: Tensor) -> Tensor:
        """(3, N) step that takes a gradient away, by the projected Hessian at ``positions``."""
        objective = self._objective
        self._solver.prepare(objective.hessian(positions), objective.unknowns(positions))
        solution = self._solver.solve(objective.unknowns(-gradient), self._forcing, 0.0)
        return objective.vectors(solution.x)


class _Search:
    """One minimisation under way."""

    def __init__(
        self,
        objective: IncrementalPotential,
        solver: LinearSolver,
        positions: Tensor,
        tolerance: float,
        step: float,
        forcing: float,
        lags: bool,
        relaxed: float,
    ) -> None:
        self._objective, self._solver, self._positions = objective, solver, positions
        self._tolerance, self._forcing = tolerance, forcing
        self._still = relaxed * STILL
        self._lag_change = min(relaxed * LAG_CHANGE, MOST_LAG_CHANGE)
        # The error's energy bounds ½ m v² of the error in velocity.
        self._absolute = LINEAR_SHARE * tolerance / step * math.sqrt(objective.reference_mass)
        self._iterations = self._linear_iterations = 0
        self._factorized_before = solver.factorizations
        self._move = math.inf
        self._projects, self._keeps_hessian = True, False
        # Indefinite Hessians come in a row: wait for longer each time before trying again.
        self._wait, self._patience = 0, 1
        self._lags, self._is_stuck, self._is_eager = lags, False, False
        # By how much normal forces changed last.
        self._changed, self._lag_share = math.inf, 1.0
        self._damping = LevenbergMarquardt()
        # Shares of steps since elasticity was evaluated, and whether it was projected.
        self._gone, self._is_projected = math.inf, True
        # Of where the search is and of its last try, where a line search had to look at them.
        self._gradient: Tensor | None = None
        self._tried_gradient: Tensor | None = None
        solver.begin()
        self._evaluate()
        self._gap, self._is_opening = objective.gap(positions), False

    def minimum(self, stopped: str) -> Minimum:
        return Minimum(
            self._positions,
            self._iterations,
            self._linear_iterations,
            self._solver.factorizations - self._factorized_before,
            self._move,
            stopped,
        )

    def step(self) -> str:
        """Takes a Newton step; returns why it was the last, or nothing."""
        objective, before = self._objective, self._positions
        gradient = objective.gradient(before) if self._gradient is None else self._gradient
        direction = self._direction(gradient, self._forcing)
        previous, self._move = self._move, _longest(direction)
        if self._move <= self._tolerance and self._is_rough(direction, gradient):
            direction = self._direction(gradient, 0.0)
            self._move = _longest(direction)
        if not (math.isfinite(self._move) and bool(torch.isfinite(gradient).all())):
            self._move = math.inf
            return "the energy has no finite derivative"
        if self._move == 0.0 and self._is_lost:
            self._move = math.inf
            return self._try_another_hessian()
        path = objective.paths.find(before, direction, gradient, self._is_eager)
        is_whole = self._damping.extra_inertia == 0.0
        within = is_whole and self._move <= self._tolerance
        fraction = self._search_line(path)
        if fraction == 0.0 and not within:
            return self._try_another_hessian()
        self._iterations += 1
        self._is_stuck, self._is_eager = False, fraction >= 1.0
        if objective.after_iteration(self._positions):
            self._evaluate()
        self._plan(fraction, self._move <= FAST * previous)
        relative_gap = partial(objective.relative_gap, self._positions)
        if self._damping.update(path.collision_free_fraction, relative_gap):
            self._gone, self._keeps_hessian = math.inf, False
        self._watch()
        if not is_whole or not (within or fraction >= 1.0) or not self._arrived():
            return ""
        still = objective.stick_drift(before, self._positions) <= self._still
        if not still or self._is_opening:
            self._keeps_hessian = False
            return ""
        return CONVERGED

    def _try_another_hessian(self) -> str:
        """For a step that led nowhere; why the search ends, where there is no other."""
        if not self._keeps_hessian:
            if self._is_stuck:
                return "rounding hides the descent"
            self._is_stuck, self._projects = True, not self._projects
        self._keeps_hessian = False
        return ""

    def _arrived(self) -> bool:
        """Whether the last step is within tolerance, and the normal forces are those of here."""
        if self._lags:
            touches = self._objective.contact is not None
            settled = self._move <= SETTLING * self._tolerance
            change = self._objective.update_lagged(self._positions, settled, self._lag_share)
            self._lag_share = DAMPED if change > CYCLING * self._changed else 1.0
            self._changed = change
            near = self._move <= (SETTLED if touches else LAG_NEAR) * self._tolerance
            self._lags = change > self._lag_change or not near
            if change > 0.0:
                self._evaluate()
            if change > self._lag_change:
                self._keeps_hessian = False
                return False
        return self._move <= self._tolerance

    def _is_rough(self, direction: Tensor, gradient: Tensor) -> bool:
        """Whether a (3, N) Newton step is so inexact that a light body's part may be missing."""
        error = self._forcing * math.sqrt(max(0.0, -float((gradient * direction).sum())))
        return LINEAR_SHARE * error > self._absolute

    def _direction(self, gradient: Tensor, forcing: float) -> Tensor:
        """(3, N) Newton step; zero where it is at its end, or the solver is lost at its start.

        Args:
            gradient: (3, N) in newtons.
            forcing: on the linear solve, as that of ``Newton``.
        """
        objective, solver = self._objective, self._solver
        rhs = objective.unknowns(-gradient)
        if not self._keeps_hessian:
            self._take_hessian()
        solution = solver.solve(rhs, forcing, self._absolute)
        self._linear_iterations += solution.iterations
        if solution.end == "indefinite" and not self._projects:
            self._projects = True
            self._wait, self._patience = self._patience, 2 * self._patience
            self._take_hessian()
            solution = solver.solve(rhs, forcing, self._absolute)
            self._linear_iterations += solution.iterations
        self._is_lost = solution.end == "indefinite"
        return objective.vectors(solution.x)

    def _take_hessian(self) -> None:
        objective = self._objective
        anew = self._gone > SHORT or self._projects != self._is_projected
        matrix = objective.hessian(
            self._positions, self._projects, anew, self._damping.extra_inertia
        )
        if anew:
            self._gone, self._is_projected = 0.0, self._projects
        self._solver.prepare(matrix, objective.unknowns(self._positions))

    def _plan(self, fraction: float, fast: bool) -> None:
        """Which Hessian the next step takes."""
        self._wait -= 1
        self._projects = fraction < 1.0 or self._wait >= 0
        self._gone += math.inf if self._objective.contact is None else fraction
        self._keeps_hessian = fast and self._move <= NEAR * self._tolerance

    @property
    def is_free(self) -> bool:
        """Whether it is in no corner, and its last step took nothing apart that all but touches."""
        return self._damping.extra_inertia == 0.0 and not self._is_opening

    def _watch(self) -> None:
        """Sees how close surfaces are, and whether the last step took the closest far apart."""
        before, self._gap = self._gap, self._objective.gap(self._positions)
        self._is_opening = OPENING * before < self._gap < math.inf

    @property
    def _slack(self) -> float:
        """By how much the energy may be off."""
        return ROUNDING * torch.finfo(self._positions.dtype).eps * self._size

    def _search_line(self, path: SearchPath) -> float:
        """Moves along a path to where the energy is low enough; returns how far, 0 for nowhere."""
        start, fraction = self._energy, path.max_step_size
        for _ in range(HALVINGS):
            self._try(path, fraction)
            if self._is_lower(fraction * path.slope):
                break
            fraction *= 0.5
        else:
            return 0.0
        self._accept()
        while (
            fraction >= 1.0
            and 2.0 * fraction <= path.max_extended_step_size
            and start - self._energy > max(-STRAIGHT * fraction * path.slope, self._slack)
        ):
            self._try(path, 2.0 * fraction)
            if not self._tried_energy < self._energy:
                break
            fraction *= 2.0
            self._accept()
        return fraction

    def _is_lower(self, promised: float) -> bool:
        """Whether a try brings enough of a (negative) promised change of energy.

        What rounding of the energy hides, such as all that a small body does beside a large one,
        shows in the slope at the end of the way (the approximate Wolfe condition of Hager and
        Zhang, "A new conjugate gradient method with guaranteed descent and an efficient line
        search", 2005).
        """
        change, slack = self._tried_energy - self._energy - DECREASE * promised, self._slack
        if change <= -slack:
            return True
        if not change <= WIDE * slack:
            return False
        self._tried_gradient = self._objective.gradient(self._tried)
        change_at_end = float((self._tried_gradient * (self._tried - self._positions)).sum())
        return change_at_end <= -UPHILL * promised

    def _try(self, path: SearchPath, fraction: float) -> None:
        self._tried, self._tried_gradient = path.at(fraction), None
        self._tried_energy, self._tried_size = self._objective.energy(self._tried)

    def _accept(self) -> None:
        self._positions, self._gradient = self._tried, self._tried_gradient
        self._energy, self._size = self._tried_energy, self._tried_size

    def _evaluate(self) -> None:
        """Begins anew where the search is, since the energy is another one."""
        self._energy, self._size = self._objective.energy(self._positions)
        self._gradient = None


def _longest(vectors: Tensor) -> float:
    """The length of the longest of (3, N) vectors."""
    return math.sqrt(float((vectors * vectors).sum(0).max()))
