# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from supple.core import TetMesh

MakeBlock = Callable[..., TetMesh]


@pytest.fixture(scope="session")
def make_block() -> MakeBlock:
    """Makes a box of cells, each split into the six tets around its diagonal (Kuhn, 1960)."""

    def block(
        cells: tuple[int, int, int] = (2, 2, 2),
        size: tuple[float, float, float] = (1.0, 1.0, 1.0),
        origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> TetMesh:
        counts = np.array(cells) + 1
        index = np.arange(counts.prod()).reshape(counts)
        axes = [np.linspace(0.0, length, n) for length, n in zip(size, counts, strict=True)]
        vertices = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        tets = []
        for order in itertools.permutations(range(3)):
            corner = np.zeros(3, dtype=int)
            path = [corner.copy()]
            for axis in order:
                corner[axis] += 1
                path.append(corner.copy())
            tets.append(np.stack([_shifted(index, c, cells) for c in path], axis=1))
        return TetMesh(vertices + origin, np.concatenate(tets))

    return block


def _shifted(index: np.ndarray, corner: np.ndarray, cells: tuple[int, int, int]) -> np.ndarray:
    where = tuple(slice(c, c + n) for c, n in zip(corner, cells, strict=True))
    return index[where].ravel()
