# SPDX-License-Identifier: GPL-3.0-or-later
"""Few parameters by which a simulation comes to where it is wanted."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InstabilityError

FloatArray = NDArray[np.float64]

# Of what a step promises to gain, and gains: less makes the trust region smaller, more makes it
# larger.
POOR_GAIN, GOOD_GAIN = 0.1, 0.75
# How the radius changes then.
SHRINKAGE, GROWTH = 0.5, 2.0
# Of what is missed, the least that a step must promise.
LEAST_PROMISE = 0.05
# Of what is near enough: steps that change what is missed by less are not tried.
LEAST_CHANGE = 0.1


class Miss(Protocol):
    """By what (R,) a simulation of (K,) parameters misses what is wanted."""

    #: Simulations until now, and how many a Jacobian takes.
    runs: int
    jacobian_runs: int

    def missed(self, parameters: FloatArray) -> FloatArray:
        """Raises InstabilityError when the simulation fails."""
        ...

    def jacobian(self, parameters: FloatArray, missed: FloatArray, radius: float) -> FloatArray:
        """(R, K), of the trust region about the parameters."""
        ...


def trust_region(
    miss: Miss,
    start: FloatArray,
    radius: float,
    near: float,
    max_runs: int,
    slope: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Parameters that are missed by as little as was found, and (R,) by what.

    Gauss–Newton steps within a trust region, from the best so far. Each simulation corrects the
    Jacobian along the step to it; where a step has gained too little one is asked for anew, unless
    it is of that place or there are too few simulations left. Where it promises next to nothing,
    or the region has become too small to matter, the search ends.

    Source: Powell, "A hybrid method for nonlinear equations", in Rabinowitz (ed.), Numerical
    Methods for Nonlinear Algebraic Equations, 1970, with the corrections of Broyden, "A Class of
    Methods for Solving Nonlinear Simultaneous Equations", Mathematics of Computation 19, 1965.

    Args:
        miss: is simulated.
        start: (K,) where it begins.
        radius: of the first trust region.
        near: norm of what is missed that is enough.
        max_runs: simulations of ``miss`` at most.
        slope: (R, K) Jacobian to begin with, about as it is there; None asks for one.

    Raises:
        InstabilityError: when the simulation of the start, or its Jacobian, fails.
    """
    best, least = start, miss.missed(start)
    is_fresh = False
    while _size(least) > near and miss.runs < max_runs:
        may_ask = miss.runs + miss.jacobian_runs < max_runs
        if slope is None and may_ask:
            slope, is_fresh = _asked(miss, best, least, radius, best is start), True
        if slope is None:
            break
        step = bounded_step(slope, least, radius)
        promised = _size(least) - _size(least + slope @ step)
        if promised < LEAST_PROMISE * _size(least):
            if is_fresh:
                break
            slope = None
            continue
        found = _tried(miss, best + step)
        gain = -np.inf if found is None else _size(least) - _size(found)
        if found is not None:
            slope = slope + np.outer(found - least - slope @ step, step) / (step @ step)
        if gain > GOOD_GAIN * promised:
            radius = max(radius, GROWTH * _size(step))
        elif gain < POOR_GAIN * promised:
            radius = SHRINKAGE * _size(step)
            if radius * np.linalg.norm(slope, 2) < LEAST_CHANGE * near:
                break
            slope = slope if is_fresh or found is None or not may_ask else None
        if found is not None and gain > 0.0:
            best, least, is_fresh = best + step, found, False
    return best, least


def bounded_step(slope: FloatArray, missed: FloatArray, radius: float) -> FloatArray:
    """(K,) the step s of the least |r + J s| with |s| ≤ radius; of several the shortest.

    It is −(JᵀJ + λ)⁻¹ Jᵀ r, with λ such that it is as long as that, or zero (Levenberg, "A method
    for the solution of certain non-linear problems in least squares", Quarterly of Applied
    Mathematics 2, 1944).
    """
    left, sizes, right = np.linalg.svd(slope, full_matrices=False)
    along, squares = left.T @ missed, sizes**2
    counts = sizes > 1e-9 * max(float(sizes.max()), 1e-300)

    def step(damping: float) -> FloatArray:
        inverse = np.zeros_like(sizes)
        inverse[counts] = (sizes / (squares + damping))[counts]
        return -right.T @ (inverse * along)

    if _size(step(0.0)) <= radius:
        return step(0.0)
    # The step is shorter than |Jᵀ r| / λ.
    low, high = 0.0, _size(sizes * along) / radius
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _size(step(middle)) > radius else (low, middle)
    return step(high)


def _asked(
    miss: Miss, parameters: FloatArray, missed: FloatArray, radius: float, is_start: bool
) -> FloatArray | None:
    """The Jacobian; None where simulations fail, but of the start."""
    try:
        return miss.jacobian(parameters, missed, radius)
    except InstabilityError:
        if is_start:
            raise
        return None


def _tried(miss: Miss, parameters: FloatArray) -> FloatArray | None:
    """None where the simulation fails."""
    try:
        return miss.missed(parameters)
    except InstabilityError:
        return None


def _size(vector: FloatArray) -> float:
    return float(np.linalg.norm(vector))
