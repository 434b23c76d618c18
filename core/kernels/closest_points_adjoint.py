# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through the closest points of a pair.

Their difference D = Σ c x is across the directions u = ∂D/∂s and v = ∂D/∂t that they can go in, so
that what parameters change by follows from D·u = D·v = 0.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .closest_features import FACE_INSIDE, INSIDE
from .vectors import advanced, combined, dot, minus, plus, scaled

FIXED = (0.0, 0.0, 0.0, 0.0)


@compiled()
def parameter_slopes(are_edges: bool, place: int) -> Any:
    """What the four vertices of a pair change by in the difference along either parameter, nothing
    where that is fixed."""
    if are_edges:
        first = (-1.0, 1.0, 0.0, 0.0) if place // 3 == INSIDE else FIXED
        second = (0.0, 0.0, 1.0, -1.0) if place % 3 == INSIDE else FIXED
        return first, second
    if place == FACE_INSIDE:
        return (0.0, 1.0, -1.0, 0.0), (0.0, 1.0, 0.0, -1.0)
    if place == 3:
        return (0.0, 1.0, -1.0, 0.0), FIXED
    if place == 4:
        return (0.0, 0.0, 1.0, -1.0), FIXED
    if place == 5:
        return (0.0, -1.0, 0.0, 1.0), FIXED
    return FIXED, FIXED


@compiled()
def closest_points_back(
    are_edges: bool, x: Any, closest: Any, by_difference: Any, by_shares: Any
) -> Any:
    """The gradients by the four points of a pair.

    Args:
        x: where they are.
        closest: of ``closest_points``.
        by_difference: the gradient by the difference of the closest points.
        by_shares: the four by what each counts in that.
    """
    difference, c0, c1, c2, c3, place = closest
    first, second = parameter_slopes(are_edges, place)
    a, b, c = minus(x[1], x[0]), minus(x[2], x[0]), minus(x[3], x[0])
    u = combined(first[1], a, first[2], b, first[3], c)
    v = combined(second[1], a, second[2], b, second[3], c)
    by_first, by_second = dot(u, by_difference), dot(v, by_difference)
    for i in range(4):
        by_first += first[i] * by_shares[i]
        by_second += second[i] * by_shares[i]
    uu, uv, vv = dot(u, u), dot(u, v), dot(v, v)
    # A parameter that is fixed stays where it is.
    uu, vv = uu if uu > 0.0 else 1.0, vv if vv > 0.0 else 1.0
    size = uu * vv - uv * uv
    p, q = (uv * by_second - vv * by_first) / size, (uv * by_first - uu * by_second) / size
    of_all = plus(by_difference, plus(scaled(p, u), scaled(q, v)))
    return (
        advanced(scaled(c0, of_all), p * first[0] + q * second[0], difference),
        advanced(scaled(c1, of_all), p * first[1] + q * second[1], difference),
        advanced(scaled(c2, of_all), p * first[2] + q * second[2], difference),
        advanced(scaled(c3, of_all), p * first[3] + q * second[3], difference),
    )
