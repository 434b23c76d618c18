# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a linear solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

End = Literal["converged", "limit", "indefinite"]


@dataclass(frozen=True)
class Solution:
    """An approximate solution.

    Args:
        x: (n, 3).
        iterations: taken.
        end: ``converged``, ``limit`` of iterations or ``indefinite`` matrix.
    """

    x: Tensor
    iterations: int
    end: End
