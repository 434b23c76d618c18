# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from supple.core.assembly.tets import Tets
from supple.core.compiled import limit_threads
from supple.core.kernels.deformation import SHARED_TETS
from supple.verification.meshes import block


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("cells", "is_shared"), [((3, 2, 2), False), ((11, 11, 10), True)])
def test_forces_of_edges_are_added_up_at_vertices_in_the_order_of_tets(
    cells: tuple[int, int, int], is_shared: bool, threads: int
) -> None:
    mesh = block(cells)
    assert (len(mesh.tets) >= SHARED_TETS) == is_shared
    # Vertices of another body come before and after those of the mesh.
    first, count = 3, len(mesh.vertices) + 5
    tets = Tets([(first, mesh)], torch.zeros(count, dtype=torch.float64))
    random = np.random.default_rng(11)
    forces, before = random.standard_normal((9, len(mesh.tets))), random.standard_normal((3, count))
    by_corner = forces.reshape(3, 3, -1)
    expected = before.copy()
    # Corner by corner of one tet after the other.
    by_tet = np.concatenate([-by_corner.sum(axis=1, keepdims=True), by_corner], axis=1)
    for axis in range(3):
        np.add.at(expected[axis], first + mesh.tets.ravel(), by_tet[axis].T.ravel())
    out = before.copy()
    limit_threads(threads)
    try:
        tets.vertex_sums.add(forces, out)
    finally:
        limit_threads(sys.maxsize)
    np.testing.assert_array_equal(out, expected)
