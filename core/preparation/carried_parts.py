# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds loose parts of a surface that are too small for tetrahedra of their own. No torch here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.groups import components
from ..geometry.triangles import compact_indices
from .intersections import Surfaces, find_close

#: A part is small if the diagonal of its box is less than this ratio of the tetrahedra's edges.
SMALL_RATIO = 0.5


def carried_parts(
    points: NDArray[np.float64], triangles: NDArray[np.int32], edge_length: float
) -> NDArray[np.bool_]:
    """Mark the (F,) triangles that belong to small parts that a larger part carries.

    A larger part carries a small one that is no farther away than the small one's diagonal. With
    tetrahedra of its own, such a rivet or button would fall off, and their vibration would shorten
    the steps of the whole body.

    Args:
        points: (V, 3) of a surface, in metres.
        triangles: (F, 3) points.
        edge_length: of the tetrahedra, in metres.
    """
    _, place = np.unique(points, axis=0, return_inverse=True)
    corners = place.ravel()[triangles]
    labels = components(len(points), corners[:, [0, 1, 1, 2]].reshape(-1, 2))[corners[:, 0]]
    part = np.unique(labels, return_inverse=True)[1].ravel()
    low, high = (np.full((int(part.max(initial=-1)) + 1, 3), end) for end in (np.inf, -np.inf))
    np.minimum.at(low, part, points[triangles].min(axis=1))
    np.maximum.at(high, part, points[triangles].max(axis=1))
    diagonals = np.linalg.norm(high - low, axis=1)
    is_small = diagonals < SMALL_RATIO * edge_length
    carried = np.zeros(len(is_small), dtype=bool)
    if is_small.any() and not is_small.all():
        carried[_beside_larger(points, triangles, part, is_small, diagonals)] = True
    is_carried: NDArray[np.bool_] = carried[part]
    return is_carried


def _beside_larger(
    points: NDArray[np.float64],
    triangles: NDArray[np.int32],
    part: NDArray[np.intp],
    is_small: NDArray[np.bool_],
    diagonals: NDArray[np.float64],
) -> NDArray[np.intp]:
    """The small parts that are no farther from a larger one than their diagonals."""
    small = is_small[part]
    order = np.concatenate([np.flatnonzero(~small), np.flatnonzero(small)])
    larger = np.count_nonzero(~small)
    # Each side has points of its own: parts of both may meet at one.
    sides = [compact_indices(triangles[side]) for side in (order[:larger], order[larger:])]
    used = [indices for indices, _ in sides]
    surfaces = Surfaces(
        np.concatenate([points[indices] for indices in used]),
        np.concatenate([sides[0][1], sides[1][1] + len(used[0])]).astype(np.int32),
        np.repeat([0, 1], [len(indices) for indices in used]).astype(np.int32),
        {(0, 0), (1, 1)},
    )
    near = find_close(surfaces, float(diagonals[is_small].max()))
    beside = part[order[near.triangles[:, 1]]]
    return np.unique(beside[near.distances <= diagonals[beside]])
