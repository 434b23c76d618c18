# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the smoothing of tets: its energy, and the direction in which that falls."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .barycentric import shape_gradients
from .vectors import add_to, advanced, dot, minus, scaled, vector_at

_TARGET_ALTITUDE_SQUARED = 0.42**2
_POWER = 4
_STIFFNESS = 60.0
_MAX_DISPLACEMENT_RATIO = 0.4  # of the shortest altitude around a vertex


@compiled()
def measure(positions: Any, tets: Any, targets: Any, normals: Any) -> float:
    """The energy of ``smooth``; infinite where a tet has no volume, or is turned inside out."""
    total = 0.0
    for e in range(len(tets)):
        volume, gradients = shape_gradients(positions, tets[e])
        if not volume > 0.0:
            return np.inf
        for gradient in gradients:
            total += (dot(gradient, gradient) * _TARGET_ALTITUDE_SQUARED) ** _POWER
    for v in range(len(positions)):
        away = _from_plane(positions, targets, normals, v)
        total += _STIFFNESS * away * away
    return total


@compiled()
def write_descent(
    positions: Any, tets: Any, targets: Any, normals: Any, limits: Any, diagonals: Any, out: Any
) -> None:
    """The Newton direction (N, 3), with the altitudes' Hessian reduced to a scalar a vertex. The
    steps of vertices that would cross a thin tet are shortened, so as not to hold up the rest.

    Args:
        limits, diagonals: (N,) of room for how far each vertex may go, and its second derivative.
    """
    limits[:], diagonals[:], out[:] = np.inf, 0.0, 0.0
    for e in range(len(tets)):
        _add_tet(positions, tets[e], limits, diagonals, out)
    for v in range(len(positions)):
        normal = vector_at(normals, v)
        away = _from_plane(positions, targets, normals, v)
        force = advanced(vector_at(out, v), -2.0 * _STIFFNESS * away, normal)
        # (d I + s n nᵀ)⁻¹, by Sherman and Morrison.
        stiffness = 2.0 * _STIFFNESS
        along = stiffness * dot(normal, force) / (diagonals[v] + stiffness * dot(normal, normal))
        direction = scaled(1.0 / diagonals[v], advanced(force, -along, normal))
        length = np.sqrt(dot(direction, direction))
        factor = min(1.0, limits[v] / max(length, 1e-300))
        out[v, 0], out[v, 1], out[v, 2] = scaled(factor, direction)


@compiled()
def _add_tet(positions: Any, corners: Any, limits: Any, diagonals: Any, forces: Any) -> None:
    """Moving corner b by dx changes the gradient g_a by -g_b (g_a · dx)."""
    _, gradients = shape_gradients(positions, corners)
    longest = 0.0
    for gradient in gradients:
        longest = max(longest, dot(gradient, gradient))
    limit = _MAX_DISPLACEMENT_RATIO / np.sqrt(longest)
    for b in range(4):
        force, second = (0.0, 0.0, 0.0), 0.0
        for a in range(4):
            product = dot(gradients[a], gradients[b])
            square = dot(gradients[a], gradients[a])
            first = _POWER * (square * _TARGET_ALTITUDE_SQUARED) ** (_POWER - 1)
            first *= _TARGET_ALTITUDE_SQUARED
            force = advanced(force, 2.0 * first * product, gradients[a])
            second += (4 * _POWER - 2) * first / square * product * product
        add_to(forces, corners[b], force)
        diagonals[corners[b]] += second
        limits[corners[b]] = min(limits[corners[b]], limit)


@compiled()
def _from_plane(positions: Any, targets: Any, normals: Any, v: int) -> float:
    offset = minus(vector_at(positions, v), vector_at(targets, v))
    return dot(offset, vector_at(normals, v))
