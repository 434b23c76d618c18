# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from supple.core import TetMesh

MakeBlock = Callable[..., TetMesh]

#: What can become of a tet, by its stretches.
STRETCHES = {
    "turned": (1.0, 1.0, 1.0),
    "stretched": (2.0, 1.3, 0.7),
    "stretched alike": (1.4, 1.4, 0.6),
    "swollen": (3.0, 2.5, 2.0),
    "nearly flat": (1.5, 0.8, 1e-7),
    "flat": (1.5, 0.8, 0.0),
    "a line": (1.3, 0.0, 0.0),
    "a point": (0.0, 0.0, 0.0),
    "inverted": (1.2, 0.9, -0.5),
    "mirrored": (1.0, 1.0, -1.0),
}


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


@pytest.fixture
def without_compiled_loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes torch passes serve, as where numba is missing."""
    monkeypatch.setattr("supple.core.compiled.numba", None)
    # Tests' arrays are too small to share, and threads that wait for others take long.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session", params=["rest", *STRETCHES, "anything", "lines without rounding"])
def deformation_gradients(request: pytest.FixtureRequest) -> torch.Tensor:
    """(M, 3, 3) of one kind."""
    random = torch.Generator().manual_seed(6)
    matrices = torch.randn(2, 20, 3, 3, generator=random, dtype=torch.float64)
    if request.param == "rest":
        return torch.eye(3, dtype=torch.float64).repeat(2, 1, 1)
    if request.param == "anything":
        return matrices.flatten(0, 1)
    if request.param == "lines without rounding":
        points = torch.cartesian_prod(*[torch.arange(-1.0, 2.0, dtype=torch.float64)] * 3)
        return points[:, :, None].repeat(1, 1, 3)
    u, v = torch.linalg.qr(matrices)[0]
    u, v = (r * torch.linalg.det(r)[:, None, None] for r in (u, v))
    return u * torch.tensor(STRETCHES[request.param], dtype=torch.float64) @ v.mT
