# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import TetMesh
from supple.core.linear_solvers.direct import nested_dissection


def _pattern(mesh: TetMesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compressed sparse rows, and the same as a dense matrix of truths."""
    dense = np.zeros((len(mesh.vertices),) * 2, dtype=bool)
    dense[mesh.tets[:, :, None], mesh.tets[:, None, :]] = True
    offsets = np.concatenate([[0], dense.sum(axis=1).cumsum()]).astype(np.int32)
    return offsets, dense.nonzero()[1].astype(np.int32), dense


def _fill(dense: np.ndarray, order: np.ndarray) -> int:
    """Entries of the Cholesky factor."""
    pattern = dense[np.ix_(order, order)]
    for k in range(len(order)):
        below = k + 1 + np.flatnonzero(pattern[k + 1 :, k])
        pattern[np.ix_(below, below)] = True
    return int(np.tril(pattern).sum())


@pytest.fixture
def mesh(make_block) -> TetMesh:
    return make_block((7, 7, 7))


def test_every_vertex_is_eliminated_once(mesh) -> None:
    offsets, columns, _ = _pattern(mesh)
    order = nested_dissection(offsets, columns, mesh.vertices)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(mesh.vertices)))


def test_the_factor_fills_in_less_than_in_the_order_of_the_vertices(mesh) -> None:
    offsets, columns, dense = _pattern(mesh)
    order = nested_dissection(offsets, columns, mesh.vertices)
    assert _fill(dense, order) < 0.7 * _fill(dense, np.arange(len(order)))


def test_vertices_in_one_place_are_ordered_too(mesh) -> None:
    offsets, columns, _ = _pattern(mesh)
    order = nested_dissection(offsets, columns, np.zeros_like(mesh.vertices))
    np.testing.assert_array_equal(np.sort(order), np.arange(len(mesh.vertices)))


def test_bodies_that_do_not_touch_are_parted_without_a_separator(make_block) -> None:
    here, there = make_block((3, 3, 3)), make_block((3, 3, 3), origin=(9.0, 0.0, 0.0))
    count = len(here.vertices)
    both = TetMesh(
        np.concatenate([here.vertices, there.vertices]),
        np.concatenate([here.tets, there.tets + count]),
    )
    offsets, columns, _ = _pattern(both)
    order = nested_dissection(offsets, columns, both.vertices)
    assert set(order[:count]) == set(range(count))
