# SPDX-License-Identifier: GPL-3.0-or-later
"""The rigid motion that fits points best. No torch here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def rigid_fit(rest: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rotation (3, 3) and the offset (3,) that take points (P, 3) from rest to where they are
    to be, as well as they can.

    Source: Kabsch, "A solution for the best rotation to relate two sets of vectors", 1976.
    """
    centre, middle = rest.mean(axis=0), points.mean(axis=0)
    rotation = closest_rotations(((points - middle).T @ (rest - centre))[None])[0]
    return rotation, middle - rotation @ centre


def rigid_fits(rest: FloatArray, path: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rotations (T, 3, 3) and offsets (T, 3) that take points (P, 3) from rest to each sample
    of a (T, P, 3) path, as well as they can.

    Points on a line, or a single one, leave the turn about it open: it is the smallest.

    Source: Kabsch, "A solution for the best rotation to relate two sets of vectors", 1976.
    """
    centre, centres = rest.mean(axis=0), path.mean(axis=1)
    covariance = np.einsum("tpi,pj->tij", path - centres[:, None], rest - centre)
    size = np.linalg.norm(covariance, axis=(1, 2)) + 1e-12
    rotations = closest_rotations(covariance + 1e-6 * size[:, None, None] * np.eye(3))
    return rotations, centres - rotations @ centre


def closest_rotations(matrices: FloatArray) -> FloatArray:
    """Return the (M, 3, 3) rotations closest to matrices."""
    u, _, vh = np.linalg.svd(matrices)
    u[:, :, 2] *= np.where(np.linalg.det(u @ vh) < 0.0, -1.0, 1.0)[:, None]
    return u @ vh
