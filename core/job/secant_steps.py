# SPDX-License-Identifier: GPL-3.0-or-later
"""Few numbers by which a simulation without gradients comes where one with them already is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Of the size of the parameters at the start; of none, where that is 0.
LONGEST_SHARE = 0.5


def secant_steps(
    missed: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    jacobian: FloatArray,
    near: float,
    max_runs: int,
) -> tuple[FloatArray, FloatArray]:
    """Parameters that are missed by as little as was found, and (R,) by what.

    Source: Broyden, "A Class of Methods for Solving Nonlinear Simultaneous Equations", Mathematics
    of Computation 19, 1965: each simulation corrects the Jacobian along the step to it. Steps go
    from the best so far, and none is longer than half of what is corrected: of two simulations that
    are missed by about as much a secant is flat, and leads anywhere.

    Args:
        missed: (R,) of (K,) parameters, a simulation.
        start: (K,) where it begins.
        jacobian: (R, K) of a simulation much like this one.
        near: norm of what is missed that is enough.
        max_runs: simulations at most.
    """
    best, slope = start, jacobian.copy()
    longest = LONGEST_SHARE * float(np.linalg.norm(start)) or np.inf
    least = missed(best)
    for _ in range(max_runs - 1):
        if float(np.linalg.norm(least)) <= near:
            break
        step = -np.linalg.lstsq(slope, least, rcond=None)[0]
        if not step.any():
            break
        step *= min(1.0, longest / float(np.linalg.norm(step)))
        found = missed(best + step)
        slope += np.outer(found - least - slope @ step, step) / (step @ step)
        if float(np.linalg.norm(found)) < float(np.linalg.norm(least)):
            best, least = best + step, found
    return best, least
