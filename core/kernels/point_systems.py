# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of linear systems in the heights of vertices that share points.

A system is diag(1/c) + Σ k s sᵀ over points, c the compliance of each vertex, k the stiffness of a
point and s the shares that vertices have in it. Vertices are numbered among those that carry points
and move; what is held has the number after the last, and its entry counts nowhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .obstacle_points import at_point

# The error that the conjugate gradients leave, squared, in units of that of no step at all; and the
# iterations that they take at most.
FORCING_TERM, MAX_ITERATIONS = 1e-4, 300


@compiled(allocates=True)
def carriers(corners: Any, compliance: Any, near: Any) -> Any:
    """The (n,) vertices that carry (K,) points and move, and the (K, 4) numbers of those of each
    point."""
    number = np.full(len(compliance), -1, np.int32)
    found, size = np.empty(4 * len(near), np.int32), 0
    for i in range(len(near)):
        for k in range(4):
            v = corners[near[i], k]
            if number[v] < 0 and compliance[v] > 0.0:
                number[v] = size
                found[size] = v
                size += 1
    numbers = np.empty((len(near), 4), np.int32)
    for i in range(len(near)):
        for k in range(4):
            own = number[corners[near[i], k]]
            numbers[i, k] = own if own >= 0 else size
    return found[:size].copy(), numbers


@compiled()
def add_at_point(force: Any, numbers: Any, shares: Any, i: Any, out: Any) -> None:
    """Adds a force on point i to those on (n + 1,) vertices."""
    for k in range(4):
        out[numbers[i, k]] += shares[i, k] * force


@compiled(allocates=True)
def solve(stiffness: Any, numbers: Any, shares: Any, own: Any, rhs: Any) -> Any:
    """(n + 1,) what solves a system, roughly: by conjugate gradients, zero where held.

    Args:
        stiffness: (n,) 1/c of vertices, in N/m.
        numbers, shares: (K, 4) of points, numbers as of ``carriers``.
        own: (K,) of the points, none of it negative, in N/m.
        rhs: (n + 1,) in newtons.
    """
    size = len(stiffness)
    diagonal = np.ones(size + 1)
    for v in range(size):
        diagonal[v] = stiffness[v]
    for i in range(len(numbers)):
        for k in range(4):
            diagonal[numbers[i, k]] += shares[i, k] ** 2 * own[i]
    x, direction, image = np.zeros(size + 1), np.zeros(size + 1), np.empty(size + 1)
    residual = rhs.copy()
    rho = first = 0.0
    for iteration in range(MAX_ITERATIONS):
        before, rho = rho, 0.0
        for v in range(size):
            rho += residual[v] * residual[v] / diagonal[v]
        if iteration == 0:
            first = rho
        if not rho > FORCING_TERM * first:
            break
        beta = rho / before if iteration > 0 else 0.0
        for v in range(size):
            direction[v] = beta * direction[v] + residual[v] / diagonal[v]
        _multiply(stiffness, numbers, shares, own, direction, image)
        curvature = 0.0
        for v in range(size):
            curvature += direction[v] * image[v]
        if not curvature > 0.0:
            break
        for v in range(size):
            x[v] += rho / curvature * direction[v]
            residual[v] -= rho / curvature * image[v]
    return x


@compiled()
def _multiply(stiffness: Any, numbers: Any, shares: Any, own: Any, x: Any, out: Any) -> None:
    for v in range(len(stiffness)):
        out[v] = stiffness[v] * x[v]
    for i in range(len(numbers)):
        if own[i] > 0.0:
            add_at_point(own[i] * at_point(x, numbers, shares, i), numbers, shares, i, out)
