# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that are the same everywhere: no mesher has a part in what is verified."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from supple.core import TetMesh

# Interior vertices move by up to this share of a cell.
IRREGULARITY = 0.25


def block(
    cells: tuple[int, int, int] = (2, 2, 2),
    size: tuple[float, float, float] = (1.0, 1.0, 1.0),
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> TetMesh:
    """A box of cells, each split into the six tets around its diagonal (Kuhn, 1960)."""
    axes = [np.linspace(0.0, length, n + 1) for length, n in zip(size, cells, strict=True)]
    vertices = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return TetMesh(vertices + origin, _kuhn_tets(cells))


def irregular_block(cells: tuple[int, int, int] = (3, 3, 3), seed: int = 0) -> TetMesh:
    """A unit cube whose inner vertices are off the grid."""
    mesh = block(cells)
    vertices = mesh.vertices.copy()
    inside = np.setdiff1d(np.arange(len(vertices)), mesh.surface)
    random = np.random.default_rng(seed)
    vertices[inside] += random.uniform(-IRREGULARITY, IRREGULARITY, (len(inside), 3)) / cells
    return TetMesh(vertices, mesh.tets)


def on_faces(mesh: TetMesh, axis: int) -> NDArray[np.int32]:
    """The vertices on the two faces of a box across an axis."""
    along = mesh.vertices[:, axis]
    return _where((along == along.min()) | (along == along.max()))


def at_start(mesh: TetMesh, axis: int) -> NDArray[np.int32]:
    """The vertices on the first face of a box across an axis."""
    along = mesh.vertices[:, axis]
    return _where(along == along.min())


def _where(chosen: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.flatnonzero(chosen).astype(np.int32)


def _kuhn_tets(cells: tuple[int, int, int]) -> NDArray[np.int64]:
    counts = np.array(cells) + 1
    index = np.arange(counts.prod()).reshape(counts)
    tets = []
    for order in itertools.permutations(range(3)):
        corner = np.zeros(3, dtype=int)
        path = [corner.copy()]
        for axis in order:
            corner[axis] += 1
            path.append(corner.copy())
        tets.append(np.stack([_shifted(index, c, cells) for c in path], axis=1))
    return np.concatenate(tets)


def _shifted(
    index: NDArray[np.int64], corner: NDArray[np.int64], cells: tuple[int, int, int]
) -> NDArray[np.int64]:
    where = tuple(slice(c, c + n) for c, n in zip(corner, cells, strict=True))
    return index[where].ravel()
