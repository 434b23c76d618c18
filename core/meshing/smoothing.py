# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves vertices so that the flattest tets get thicker, and others towards where they are to be.

The longest stable explicit time step is proportional to the shortest altitude of a tet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.integer[Any]]

_TARGET_ALTITUDE = 0.42
_POWER = 4
_STIFFNESS = 60.0
_MIN_STEP_SIZE = 1e-3
_MAX_DISPLACEMENT_RATIO = 0.4  # of the shortest altitude around a vertex


def smooth(
    vertices: FloatArray,
    tets: IndexArray,
    targets: FloatArray,
    quadrics: FloatArray,
    iterations: int,
) -> FloatArray:
    """Better positions for vertices (N, 3) of tets (M, 4) of positive volume.

    All lengths are in units of the typical edge. Minimises, by so many damped Newton steps with a
    block-diagonal Hessian,

        sum over altitudes of (target / altitude)^(2 p) + stiffness * sum over vertices of d^T Q d

    with d the displacement of a vertex from its target (N, 3) and Q its quadric (N, 3, 3), n n^T
    for one that is drawn to the plane of normal n through its target and may slide along it, zero
    for one that is free. The first term grows without bound as a tet flattens: no step inverts one.
    """
    positions, step_size = vertices, 1.0
    gradients = _shape_gradients(positions, tets)
    energy = _energy(gradients, positions - targets, quadrics)
    for _ in range(iterations):
        direction = _descent(gradients, tets, positions - targets, quadrics)
        while True:
            trial = positions + step_size * direction
            trial_gradients = _shape_gradients(trial, tets)
            trial_energy = _energy(trial_gradients, trial - targets, quadrics)
            if trial_energy < energy:
                break
            step_size *= 0.5
            if step_size < _MIN_STEP_SIZE:
                return positions
        positions, gradients, energy = trial, trial_gradients, trial_energy
        step_size = min(1.0, 2.0 * step_size)
    return positions


def _shape_gradients(positions: FloatArray, tets: IndexArray) -> FloatArray | None:
    """(M, 4, 3) gradients of the shape functions, of length 1 / altitude; None if one inverts."""
    a, b, c, d = (positions[tets[:, corner]] for corner in range(4))
    u, v, w = b - a, c - a, d - a
    normals = np.stack([np.cross(v, w), np.cross(w, u), np.cross(u, v)], axis=1)
    volumes = np.einsum("mi,mi->m", u, normals[:, 0])
    if not (volumes > 0.0).all():
        return None
    normals /= volumes[:, None, None]
    return np.concatenate([-normals.sum(axis=1, keepdims=True), normals], axis=1)


def _scaled_squares(gradients: FloatArray) -> FloatArray:
    """(M, 4) squares of target / altitude."""
    return np.einsum("mai,mai->ma", gradients, gradients) * _TARGET_ALTITUDE**2


def _energy(gradients: FloatArray | None, displacement: FloatArray, quadrics: FloatArray) -> float:
    if gradients is None:
        return np.inf
    off_surface = np.einsum("ni,nij,nj->", displacement, quadrics, displacement)
    return float((_scaled_squares(gradients) ** _POWER).sum() + _STIFFNESS * off_surface)


def _descent(
    gradients: FloatArray | None, tets: IndexArray, displacement: FloatArray, quadrics: FloatArray
) -> FloatArray:
    """(N, 3) Newton direction, with the altitudes' Hessian reduced to a scalar a vertex.

    Moving corner b by dx changes the gradient g_a by -g_b (g_a . dx).
    """
    assert gradients is not None
    products = gradients @ gradients.swapaxes(1, 2)
    squares = _scaled_squares(gradients)
    first = _POWER * squares ** (_POWER - 1) * _TARGET_ALTITUDE**2
    force = 2.0 * np.swapaxes(first[:, :, None] * products, 1, 2) @ gradients
    factor = (4 * _POWER - 2) * first * _TARGET_ALTITUDE**2 / squares
    second = np.einsum("ma,mab->mb", factor, products**2)
    corners, count = tets.ravel(), len(displacement)
    total = np.stack(
        [np.bincount(corners, weights=force[..., i].ravel(), minlength=count) for i in range(3)],
        axis=1,
    )
    total -= 2.0 * _STIFFNESS * np.einsum("nij,nj->ni", quadrics, displacement)
    hessian = 2.0 * _STIFFNESS * quadrics
    diagonal = np.bincount(corners, weights=second.ravel(), minlength=count)
    hessian += diagonal[:, None, None] * np.eye(3)
    direction: FloatArray = np.linalg.solve(hessian, total[:, :, None])[:, :, 0]
    return _limited(direction, gradients, tets)


def _limited(direction: FloatArray, gradients: FloatArray, tets: IndexArray) -> FloatArray:
    """Shorten the steps of vertices that would cross a thin tet, so as not to hold up the rest."""
    thinnest = 1.0 / np.sqrt(np.einsum("mai,mai->ma", gradients, gradients).max(axis=1))
    max_displacement = np.full(len(direction), np.inf)
    np.minimum.at(max_displacement, tets.ravel(), np.repeat(_MAX_DISPLACEMENT_RATIO * thinnest, 4))
    length = np.sqrt(np.einsum("ni,ni->n", direction, direction))
    return direction * np.minimum(1.0, max_displacement / np.maximum(length, 1e-300))[:, None]
