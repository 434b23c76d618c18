# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys

import numpy as np
import pytest

from supple.core.compiled import limit_threads
from supple.core.geometry.groups import grouped
from supple.core.kernels.deformation import SUMMED_TETS_PER_THREAD, VertexSums
from supple.verification.meshes import block


@pytest.mark.parametrize("threads", [1, 2])
def test_forces_of_edges_are_added_up_at_vertices_in_the_order_of_tets(threads: int) -> None:
    mesh = block((11, 11, 10))
    corners, count = mesh.tets.T.astype(np.int32), len(mesh.vertices)
    assert len(mesh.tets) > 2 * SUMMED_TETS_PER_THREAD
    random = np.random.default_rng(11)
    forces, before = random.standard_normal((9, len(mesh.tets))), random.standard_normal((3, count))
    by_corner = forces.reshape(3, 3, -1)
    expected = before.copy()
    # Corner by corner of one tet after the other.
    by_tet = np.concatenate([-by_corner.sum(axis=1, keepdims=True), by_corner], axis=1)
    for axis in range(3):
        np.add.at(expected[axis], corners.T.ravel(), by_tet[axis].T.ravel())
    out = before.copy()
    limit_threads(threads)
    try:
        VertexSums(*grouped(corners.T.ravel(), count)).add(forces, out)
    finally:
        limit_threads(sys.maxsize)
    np.testing.assert_array_equal(out, expected)


def test_vertices_without_tets_get_nothing() -> None:
    out = np.ones((3, 6))
    VertexSums(*grouped(np.array([1, 2, 3, 4]), 6)).add(np.ones((9, 1)), out)
    np.testing.assert_array_equal(out, np.repeat([[1, -2, 2, 2, 2, 1]], 3, axis=0))
