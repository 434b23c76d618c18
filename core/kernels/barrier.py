# SPDX-License-Identifier: GPL-3.0-or-later
"""The barrier of a distance over d̂ and its derivatives, for one distance and for a pair of
surfaces.

With u = d / d̂, the distance over the one at which it begins to act, the physical barrier of the
convergent formulation is b = d̂ β(u), β(u) = −(u − 1)² ln u for 0 < u < 1 and 0 beyond.

Source: Li et al., "Convergent Incremental Potential Contact", 2023, arXiv:2307.15908.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..compiled import compiled
from ..math3.closest_points import CROSSING
from ..math3.vectors import add_to, add_to_four, cross, dot, four_points, minus, scaled, vector_at

if TYPE_CHECKING:
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


@compiled()
def barrier_of(ratio: Any) -> Any:
    """−(q − 1)² ln q of q = d²/d̂², and its derivative by q; both 0 from 1 on."""
    if ratio >= 1.0:
        return 0.0, 0.0
    if not ratio > 0.0:
        return math.inf, -math.inf
    shifted, logarithm = ratio - 1.0, math.log(ratio)
    return -shifted * shifted * logarithm, -shifted * (2.0 * logarithm + shifted / ratio)


@compiled()
def surface_force(u: float) -> Any:
    """−b'(u) and −b''(u) of b = −(q − 1)² ln q, q = u², for 0 < u ≤ 1."""
    square = u * u
    logarithm, excess = math.log(square), square - 1.0
    force = 4.0 * u * excess * logarithm + 2.0 * excess * excess / u
    slope = 4.0 * excess * logarithm + 8.0 * square * logarithm + 16.0 * excess
    return force, slope - 2.0 * excess * excess / square


@compiled()
def squared_cross(x0: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """Return the squared cross product of the edges x0 x1 and x2 x3, and half its derivatives by
    x1 and x3.
    """
    first, second = minus(x1, x0), minus(x3, x2)
    normal = cross(first, second)
    return dot(normal, normal), cross(second, normal), cross(normal, first)


@compiled()
def mollifier_of(square: Any, threshold: Any) -> Any:
    """The parallel-edge mollifier of a squared cross product, and its derivative by that."""
    ratio = square / threshold
    if ratio >= 1.0:
        return 1.0, 0.0
    return ratio * (2.0 - ratio), 2.0 * (1.0 - ratio) / threshold


@compiled()
def barrier_sum(ratios: Any, weights: Any) -> Any:
    """Σ w b of (K,) q = d²/d̂² and weights."""
    total = 0.0
    for k in range(len(ratios)):
        total += weights[k] * barrier_of(ratios[k])[0]
    return total


@compiled()
def add_barrier_gradient(
    points: Any,
    vertices: Any,
    features: Any,
    thresholds: Any,
    weights: Any,
    squared_activation: Any,
    differences: Any,
    coefficients: Any,
    out: Any,
) -> None:
    """Adds the derivative of Σ w m b by (V, 3) points to ``out``, as ``ContactBarrier`` has it."""
    for k in range(len(weights)):
        difference = vector_at(differences, k)
        value, derivative = barrier_of(dot(difference, difference) / squared_activation[k])
        mollifier, mollifier_derivative, grad_first, grad_second = 1.0, 0.0, difference, difference
        if features[k] <= CROSSING:
            x0, x1, x2, x3 = four_points(
                points, vertices[k, 0], vertices[k, 1], vertices[k, 2], vertices[k, 3]
            )
            square, grad_first, grad_second = squared_cross(x0, x1, x2, x3)
            mollifier, mollifier_derivative = mollifier_of(square, thresholds[k])
        force = scaled(
            2.0 * weights[k] * mollifier * derivative / squared_activation[k], difference
        )
        for i in range(4):
            add_to(out, vertices[k, i], scaled(coefficients[k, i], force))
        if mollifier_derivative > 0.0:
            factor = 2.0 * weights[k] * value * mollifier_derivative
            first, second = scaled(factor, grad_first), scaled(factor, grad_second)
            changes = scaled(-1.0, first), first, scaled(-1.0, second), second
            add_to_four(out, vertices[k], changes)
