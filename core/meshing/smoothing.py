# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves vertices so that the flattest tets get thicker, and others towards where they are to be.

The longest stable explicit time step is proportional to the shortest altitude of a tet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.tet_smoothing import measure, write_descent

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.integer[Any]]

_MIN_STEP_SIZE = 1e-3


def smooth(
    vertices: FloatArray,
    tets: IndexArray,
    targets: FloatArray,
    normals: FloatArray,
    iterations: int,
) -> FloatArray:
    """Better positions for vertices (N, 3) of tets (M, 4) of positive volume.

    All lengths are in units of the typical edge. Minimises, by so many damped Newton steps with a
    block-diagonal Hessian,

        sum over altitudes of (target / altitude)^(2 p) + stiffness * sum over vertices of (n . d)^2

    with d the displacement of a vertex from its target (N, 3) and n its normal (N, 3), of length 1
    for one that is drawn to the plane through its target and may slide along it, zero for one that
    is free. The first term grows without bound as a tet flattens: no step inverts one.
    """
    positions, step_size = vertices, 1.0
    energy = measure(positions, tets, targets, normals)
    direction = np.empty_like(vertices)
    limits, diagonals = np.empty(len(vertices)), np.empty(len(vertices))
    for _ in range(iterations):
        write_descent(positions, tets, targets, normals, limits, diagonals, direction)
        while True:
            trial = positions + step_size * direction
            trial_energy = measure(trial, tets, targets, normals)
            if trial_energy < energy:
                break
            step_size *= 0.5
            if step_size < _MIN_STEP_SIZE:
                return positions
        positions, energy = trial, trial_energy
        step_size = min(1.0, 2.0 * step_size)
    return positions
