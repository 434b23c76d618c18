# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.potentials.contact.normal_collisions import HessianFactors, assembled

COUNT = 9


@pytest.fixture
def parts() -> list[HessianFactors]:
    """Factors of which several lie between the same vertices; the last of some is there twice."""
    random = np.random.default_rng(1)
    vertices = random.integers(0, COUNT - 1, (20, 4))
    vertices[10:, 3] = vertices[10:, 2]
    rows, weights = random.normal(size=(20, 3, 4, 3)), random.random((20, 3))
    return [
        HessianFactors(vertices[:8], rows[:8], weights[:8]),
        HessianFactors(vertices[8:], rows[8:, :2], weights[8:, :2]),
    ]


def as_dense(parts: list[HessianFactors]) -> np.ndarray:
    """Square by square."""
    total = np.zeros((3 * COUNT, 3 * COUNT))
    for part in parts:
        for vertices, rows, weights in zip(part.vertices, part.rows, part.weights, strict=True):
            for row, weight in zip(rows, weights, strict=True):
                whole = np.zeros((COUNT, 3))
                np.add.at(whole, vertices, row)
                total += weight * np.outer(whole, whole)
    return total


def test_the_matrix_is_the_sum_of_all_squares(parts) -> None:
    matrix = assembled(parts, COUNT)
    np.testing.assert_allclose(matrix.toarray(), as_dense(parts), atol=1e-13)


def test_each_block_is_there_once_and_they_ascend(parts) -> None:
    matrix = assembled(parts, COUNT)
    rows = np.repeat(np.arange(COUNT), np.diff(matrix.indptr))
    assert matrix.blocksize == (3, 3)
    assert (np.diff(rows * COUNT + matrix.indices) > 0).all()


def test_it_comes_out_the_same_each_time_and_symmetric(parts) -> None:
    first, second = (assembled(parts, COUNT).toarray() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, first.T, rtol=0.0, atol=1e-14)


def test_of_nothing_there_is_an_empty_matrix() -> None:
    none = HessianFactors(
        np.empty((0, 4), dtype=np.int64), np.empty((0, 3, 4, 3)), np.empty((0, 3))
    )
    matrix = assembled([none, none], COUNT)
    assert matrix.shape == (3 * COUNT, 3 * COUNT)
    assert matrix.nnz == 0
    assert not (matrix @ np.ones(3 * COUNT)).any()
