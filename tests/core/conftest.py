# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from supple.core import TetMesh
from supple.core.job import Job
from supple.tests.core import apart
from supple.verification.meeting_pairs import checked_moves
from supple.verification.meshes import block

from .box_job import box_job

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
    """Makes a box of cells, each split into the six tets around its diagonal."""
    return block


@pytest.fixture(autouse=True)
def _check_moves() -> Iterator[None]:
    """Fails where surfaces go through each other on a move that a step accepts."""
    with checked_moves():
        yield


@pytest.fixture
def without_compiled_loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes torch passes serve the CPU, as they serve CUDA."""
    monkeypatch.setattr("supple.core.compiled.LOOP_DEVICE", "none")
    # Tests' arrays are too small to share, and threads that wait for others take long.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session", params=["rest", *STRETCHES, "anything", "lines without rounding"])
def deformation_gradients(request: pytest.FixtureRequest) -> torch.Tensor:
    """The (M, 3, 3) gradients of one kind."""
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


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job of a hundred frames, simulated by another process without interruption."""
    job = box_job(tmp_path_factory.mktemp("whole"), 100)
    assert apart.worked(job.folder) == 0
    return job


@pytest.fixture(params=["compiled", "passes"])
def method(request: pytest.FixtureRequest) -> str:
    """Whether compiled loops or torch passes serve."""
    if request.param == "passes":
        request.getfixturevalue("without_compiled_loops")
    return request.param
