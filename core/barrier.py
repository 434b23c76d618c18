# SPDX-License-Identifier: GPL-3.0-or-later
"""The barrier that grows without bound as a distance goes to zero.

With u = d / d̂, the distance over the one at which it begins to act, the physical barrier of the
convergent formulation is b = d̂ β(u), β(u) = −(u − 1)² ln u for 0 < u < 1 and 0 beyond.

Source: Li et al., "Convergent Incremental Potential Contact", 2023, arXiv:2307.15908.
"""

from __future__ import annotations

from torch import Tensor


def barrier(u: Tensor) -> Tensor:
    """β(u), infinite for u ≤ 0."""
    active = u.clamp(max=1.0)
    value = -((active - 1.0) ** 2) * active.clamp(min=0.0).log()
    return value


def barrier_slope(u: Tensor) -> Tensor:
    """β'(u) for u > 0."""
    active = u.clamp(max=1.0)
    gap = active - 1.0
    return -2.0 * gap * active.log() - gap * gap / active


def barrier_curvature(u: Tensor) -> Tensor:
    """β''(u) for u > 0."""
    active = u.clamp(max=1.0)
    ratio = (active - 1.0) / active
    return -2.0 * active.log() - 4.0 * ratio + ratio * ratio
