# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a search for a minimum, and the reason for its end."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from ..state import SolverStatistics

# The reasons why searches end: the minimum, the tolerance, or obstruction by surfaces.
CONVERGED, ENOUGH, OBSTRUCTED = "converged", "within tolerance", "limited by contact"


@dataclass(frozen=True)
class MinimizeResult:
    """The end of a search.

    Args:
        positions: (3, N) in metres.
        iterations: Newton steps taken.
        linear_iterations: of the linear solver, in all.
        factorizations: of the direct solver.
        step_norm: of the last Newton step, the largest displacement of a vertex, in metres.
        termination_reason: of the search, in words.
    """

    positions: Tensor
    iterations: int
    linear_iterations: int
    factorizations: int
    step_norm: float
    termination_reason: str

    @property
    def converged(self) -> bool:
        return self.termination_reason in (CONVERGED, OBSTRUCTED)

    def added_to(self, statistics: SolverStatistics, step: float) -> SolverStatistics:
        """The statistics of a frame so far with this step of ``step`` seconds."""
        reason = (self if statistics.converged else statistics).termination_reason
        return replace(
            statistics,
            iterations=statistics.iterations + self.iterations,
            linear_iterations=statistics.linear_iterations + self.linear_iterations,
            factorizations=statistics.factorizations + self.factorizations,
            converged=statistics.converged and self.converged,
            residual_speed=max(statistics.residual_speed or 0.0, self.step_norm / step),
            termination_reason=reason,
        )
