# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a search for a minimum ended, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from ..state import Effort

CONVERGED = "converged"


@dataclass(frozen=True)
class Minimum:
    """Where the search ended.

    Args:
        positions: (3, N) in metres.
        iterations: Newton steps taken.
        linear_iterations: of the linear solver, in all.
        factorizations: of the direct solver.
        last_move: of the vertex that moved most in the last Newton step, in metres.
        stopped: why the search ended, in words.
    """

    positions: Tensor
    iterations: int
    linear_iterations: int
    factorizations: int
    last_move: float
    stopped: str

    @property
    def converged(self) -> bool:
        return self.stopped == CONVERGED

    def added_to(self, effort: Effort, step: float) -> Effort:
        """The account of a frame so far with this step of ``step`` seconds."""
        return replace(
            effort,
            iterations=effort.iterations + self.iterations,
            linear_iterations=effort.linear_iterations + self.linear_iterations,
            factorizations=effort.factorizations + self.factorizations,
            converged=effort.converged and self.converged,
            residual_speed=max(effort.residual_speed or 0.0, self.last_move / step),
            stopped=self.stopped if effort.converged else effort.stopped,
        )
