# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors of three numbers, as tuples, for compiled loops."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled

NOTHING = (0.0, 0.0, 0.0)


@compiled()
def vector_at(points: Any, index: int) -> Any:
    """A row of (V, 3)."""
    return (points[index, 0], points[index, 1], points[index, 2])


@compiled()
def add_to(points: Any, index: int, change: Any) -> None:
    """Adds to a row of (V, 3)."""
    for axis in range(3):
        points[index, axis] += change[axis]


@compiled()
def add_to_four(points: Any, corners: Any, changes: Any) -> None:
    """Adds to four rows of (V, 3)."""
    for i in range(4):
        add_to(points, corners[i], changes[i])


@compiled()
def minus(a: Any, b: Any) -> Any:
    """a − b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@compiled()
def plus(a: Any, b: Any) -> Any:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@compiled()
def advanced(a: Any, time: float, b: Any) -> Any:
    """a + time × b."""
    return (a[0] + time * b[0], a[1] + time * b[1], a[2] + time * b[2])


@compiled()
def scaled(factor: float, a: Any) -> Any:
    """factor × a."""
    return (factor * a[0], factor * a[1], factor * a[2])


@compiled()
def weighted(a: float, u: Any, b: float, v: Any) -> Any:
    """a u + b v."""
    return (a * u[0] + b * v[0], a * u[1] + b * v[1], a * u[2] + b * v[2])


@compiled()
def dot(a: Any, b: Any) -> float:
    """The product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled()
def cross(a: Any, b: Any) -> Any:
    """a × b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@compiled()
def four_points(points: Any, a: int, b: int, c: int, d: int) -> Any:
    """Rows of (V, 3)."""
    return vector_at(points, a), vector_at(points, b), vector_at(points, c), vector_at(points, d)
