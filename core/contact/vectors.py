# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors of three numbers, for the compiled loops over pairs."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled


@compiled()
def vector_at(points: Any, index: Any) -> Any:
    """A row of (V, 3)."""
    return points[index, 0], points[index, 1], points[index, 2]


@compiled()
def minus(a: Any, b: Any) -> Any:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@compiled()
def plus_scaled(a: Any, factor: Any, b: Any) -> Any:
    """a + factor b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@compiled()
def dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled()
def cross(a: Any, b: Any) -> Any:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled()
def times(factor: Any, a: Any) -> Any:
    return factor * a[0], factor * a[1], factor * a[2]
