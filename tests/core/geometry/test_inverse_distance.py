# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.embedding import nearest_weights

LINE = np.array([[0.0, 0, 0], [1, 0, 0], [3, 0, 0], [7, 0, 0], [15, 0, 0], [31, 0, 0]])


@pytest.mark.parametrize("size", [1e-7, 1.0, 1e7])
def test_weights_are_the_inverse_distances_of_the_four_nearest(size: float) -> None:
    which, weights = nearest_weights(size * LINE, size * np.array([[2.0, 0, 0]]))
    assert sorted(which[0]) == [0, 1, 2, 3]
    expected = {0: 1 / 2, 1: 1, 2: 1, 3: 1 / 5}
    total = sum(expected.values())
    for point, weight in zip(which[0], weights[0], strict=True):
        assert weight == pytest.approx(expected[point] / total, rel=1e-6)


def test_at_a_point_it_alone_counts() -> None:
    which, weights = nearest_weights(LINE, LINE[2:3])
    assert which[0, 0] == 2 and weights[0, 0] == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_points_than_four_do(count: int) -> None:
    which, weights = nearest_weights(LINE[:count], LINE[:3])
    assert which.shape == weights.shape == (3, count)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_points_at_one_place_share_alike() -> None:
    _, weights = nearest_weights(np.zeros((3, 3)), np.zeros((1, 3)))
    np.testing.assert_allclose(weights, 1 / 3)
