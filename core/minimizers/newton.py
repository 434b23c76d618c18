# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method with inexact directions and a backtracking line search on the energy."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from .incremental_potential import IncrementalPotential
from .lagged_update import LaggedUpdate
from .minimize_result import ENOUGH, MinimizeResult
from .newton_search import NewtonSearch

# The error's energy norm in the linear solves, in units of the solution's.
FORCING_TERM = 0.1
# The largest drift of sticking points, relative to the stick threshold.
STICK_DRIFT_RATIO = 0.1


class Newton:
    """Minimizes an incremental potential.

    The Hessian itself makes the last steps converge quadratically, but far from the minimum it may
    not be positive definite. Then, and after a step that had to be cut, the one projected tet by
    tet serves (Longva et al., "Pitfalls of Projection", 2023, compare such schemes).

    Args:
        objective: to minimize.
        forcing: on the error of a Newton step in the energy norm, as a share of the step.
    """

    def __init__(self, objective: IncrementalPotential, forcing: float = FORCING_TERM) -> None:
        self._objective, self.forcing = objective, forcing
        self._projects = True
        self._solver = objective.linear_solver()

    def minimize(
        self,
        positions: Tensor,
        tolerance: float,
        step: float,
        max_iterations: int,
        updates_lagged: bool = True,
        relaxation: float = 1.0,
        is_enough: Callable[[NewtonSearch], bool] | None = None,
        is_exact: bool = True,
    ) -> MinimizeResult:
        """A search goes on with the solver and the kind of Hessian that the one before ended with.

        Args:
            positions: (3, N) to start from, where the energy is finite.
            tolerance: in metres, on the largest displacement of a vertex in a Newton step.
            step: of the time integration, in seconds.
            max_iterations: Newton steps at most.
            updates_lagged: whether lagged quantities are updated on the way.
            relaxation: the factor on tolerances of friction.
            is_enough: whether it may end, once no nearly touching pair opens.
            is_exact: whether the tolerance is explicit.
        """
        lagged = LaggedUpdate(self._objective, tolerance, relaxation, updates_lagged, is_exact)
        drift = relaxation * STICK_DRIFT_RATIO
        search = NewtonSearch(
            self._objective,
            self._solver,
            positions,
            tolerance,
            step,
            self.forcing,
            lagged,
            drift,
            self._projects,
            is_exact,
        )
        reason, count = "", 0
        while not reason and count < max_iterations:
            reason, count = search.step(), count + 1
            if not reason and is_enough is not None and not search.is_opening:
                reason = ENOUGH if is_enough(search) else ""
        self._projects = search.projects
        return search.result(reason or f"not converged after {count} iterations")

    def begin(self) -> None:
        """Forget earlier searches, so that later ones do not depend on them."""
        self._projects = True
        self._solver.begin()

    @property
    def hessian(self) -> BlockMatrix:
        """The Hessian of the last step, in N/m."""
        return self._solver.matrix

    def newton_step(self, positions: Tensor, gradient: Tensor) -> Tensor:
        """(3, N) step against a gradient, by the projected Hessian at ``positions``."""
        objective = self._objective
        self._solver.prepare(objective.hessian(positions), objective.unknowns(positions))
        solution = self._solver.solve(objective.unknowns(-gradient), self.forcing, 0.0)
        return objective.vectors(solution.x)
