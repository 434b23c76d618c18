# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Surface = tuple[NDArray[np.float64], NDArray[np.intp]]

OCTAHEDRON = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
OCTANTS = np.array(
    [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
)
CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
CUBE_TRIANGLES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]
)  # fmt: skip


@pytest.fixture(scope="session")
def sphere() -> Callable[..., Surface]:
    """Makes a unit sphere of an octahedron whose triangles are split in four `levels` times."""

    def make(levels: int = 4) -> Surface:
        vertices, triangles = OCTAHEDRON, OCTANTS
        for _ in range(levels):
            edges = np.concatenate(
                [triangles[:, [1, 2]], triangles[:, [2, 0]], triangles[:, [0, 1]]]
            )
            unique, index = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
            middle = vertices[unique].mean(axis=1)
            a, b, c = triangles.T
            d, e, f = index.reshape(3, -1) + len(vertices)
            quarters = [[a, f, e], [f, b, d], [e, d, c], [d, e, f]]
            triangles = np.concatenate([np.stack(quarter, axis=1) for quarter in quarters])
            vertices = np.concatenate(
                [vertices, middle / np.linalg.norm(middle, axis=1, keepdims=True)]
            )
        return vertices, triangles

    return make


@pytest.fixture
def cube() -> Surface:
    """From -1 to 1 along each axis."""
    return CUBE.copy(), CUBE_TRIANGLES.copy()


@pytest.fixture
def plane() -> Surface:
    """Two triangles: a square of side 2 without thickness."""
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    return corners, np.array([[0, 1, 2], [0, 2, 3]])
