# SPDX-License-Identifier: GPL-3.0-or-later
"""Which boxes overlap."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.box_pairs import Boxes, pairs_among


def boxes(count: int, seed: int) -> Boxes:
    """Boxes of all sizes, some of them points, some alike, far from the origin."""
    random = np.random.default_rng(seed)
    low = random.random((count, 3)) + 50.0
    size = random.random((count, 3)) * 0.5 * 10.0 ** -random.integers(0, 6, (count, 1))
    size[::7] = 0.0
    low[1::11], size[1::11] = low[:1], size[:1]
    return Boxes(low, low + size)


def overlap(one: Boxes, other: Boxes) -> np.ndarray:
    below = (one.low[:, None] <= other.high).all(axis=2)
    return below & (other.low <= one.high[:, None]).all(axis=2)


def listed(pairs) -> list[tuple[int, int]]:
    found = [np.stack(chunk, axis=1) for chunk in pairs]
    return sorted((int(one), int(other)) for chunk in found for one, other in chunk)


@pytest.mark.parametrize("count", [0, 1, 2, 150])
def test_all_pairs_of_some_boxes_are_found_once(count: int) -> None:
    some = boxes(count, 1)
    expected = np.argwhere(np.triu(overlap(some, some), 1))
    assert listed(pairs_among(some)) == sorted(map(tuple, expected.tolist()))
    assert count < 150 or len(expected) > 100


def test_boxes_that_share_a_corner_alone_overlap() -> None:
    some = Boxes(np.array([[0.0] * 3, [0.1] * 3]), np.array([[0.1] * 3, [0.3] * 3]))
    assert listed(pairs_among(some)) == [(0, 1)]


def test_they_are_around_points_with_a_margin() -> None:
    corners = np.array([[[0.0, 1.0, 2.0], [3.0, -1.0, 5.0]]])
    found = Boxes.around(corners, 0.5)
    np.testing.assert_array_equal(found.low, [[-0.5, -1.5, 1.5]])
    np.testing.assert_array_equal(found.high, [[3.5, 1.5, 5.5]])
