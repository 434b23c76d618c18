# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed surfaces of boxes, and what is asked of the tetrahedra in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.core import TetMesh

Surface = tuple[NDArray[np.float64], NDArray[np.intp]]


def voxels(solid: NDArray[np.bool_]) -> Surface:
    """The surface of a grid of unit cubes, from the origin on."""
    padded = np.pad(solid, 1)
    numbers: dict[tuple[int, ...], int] = {}
    triangles = []
    for place in np.argwhere(padded):
        for axis in range(3):
            for side in (0, 1):
                beyond = place.copy()
                beyond[axis] += 2 * side - 1
                if padded[tuple(beyond)]:
                    continue
                square = []
                for across in ((0, 0), (1, 0), (1, 1), (0, 1)):
                    corner = place - 1
                    corner[axis] += side
                    corner[(axis + 1) % 3] += across[0]
                    corner[(axis + 2) % 3] += across[1]
                    square.append(numbers.setdefault(tuple(corner), len(numbers)))
                a, b, c, d = square if side else square[::-1]
                triangles += [[a, b, c], [a, c, d]]
    return np.array(list(numbers), dtype=float), np.array(triangles)


def box(low: ArrayLike, high: ArrayLike, squares: tuple[int, int, int]) -> Surface:
    """With so many squares along each axis."""
    vertices, triangles = voxels(np.ones(squares, dtype=bool))
    start = np.asarray(low, dtype=float)
    return start + vertices / squares * (np.asarray(high, dtype=float) - start), triangles


def with_shells(*shells: Surface) -> Surface:
    """Side by side in one mesh."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in shells)])
    triangles = [own + start for (_, own), start in zip(shells, starts, strict=False)]
    return np.concatenate([vertices for vertices, _ in shells]), np.concatenate(triangles)


def pieces(mesh: TetMesh) -> int:
    """The number of parts without common vertices."""
    label = np.arange(len(mesh.vertices))
    while True:
        least = label[mesh.tets].min(axis=1)
        new = label.copy()
        np.minimum.at(new, mesh.tets.ravel(), np.repeat(least, 4))
        if (new == label).all():
            return len(np.unique(label))
        label = new
