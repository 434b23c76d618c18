# SPDX-License-Identifier: GPL-3.0-or-later
"""The barrier that grows without bound as a distance goes to zero.

With u = d / d̂, the distance over the one at which it begins to act, the physical barrier of the
convergent formulation is b = d̂ β(u), β(u) = −(u − 1)² ln u for 0 < u < 1 and 0 beyond.

Source: Li et al., "Convergent Incremental Potential Contact", 2023, arXiv:2307.15908.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor


def barrier(u: Tensor) -> Tensor:
    """β(u), infinite for u ≤ 0."""
    active = u.clamp(0.0, 1.0)
    return barrier_from_log(active, active.log())


def barrier_derivative(u: Tensor) -> Tensor:
    """β'(u) for u > 0."""
    first, _ = barrier_derivatives(u.clamp(max=1.0))
    return first


def barrier_derivatives(u: Tensor) -> tuple[Tensor, Tensor]:
    """β'(u) and β''(u) for 0 < u ≤ 1."""
    return derivatives_from_log(u, u.log())


def barrier_from_log(u: Any, log: Any) -> Any:
    """β(u) for 0 < u ≤ 1 with ln u given, for tensors and for numbers in kernels."""
    return -(u - 1.0) * (u - 1.0) * log


def derivatives_from_log(u: Any, log: Any) -> Any:
    """β'(u) and β''(u) in the same way."""
    shifted = u - 1.0
    ratio = shifted / u
    return -shifted * (2.0 * log + ratio), ratio * (ratio - 4.0) - 2.0 * log
