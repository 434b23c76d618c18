# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.meshing.surface import split_long_triangles


def test_pieces_are_short_and_cover_the_same_oriented_area() -> None:
    corners = np.random.default_rng(7).normal(size=(20, 3, 3))
    pieces = split_long_triangles(corners, 0.3)
    edges = np.linalg.norm(np.roll(pieces, -1, axis=1) - pieces, axis=2)
    assert edges.max() <= 0.3

    def area_vectors(triangles):
        return 0.5 * np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])

    np.testing.assert_allclose(area_vectors(pieces).sum(0), area_vectors(corners).sum(0))
    areas = [np.linalg.norm(area_vectors(t), axis=1).sum() for t in (pieces, corners)]
    assert areas[0] == pytest.approx(areas[1])


def test_short_triangles_are_kept_as_they_are() -> None:
    corners = np.random.default_rng(8).normal(size=(5, 3, 3))
    np.testing.assert_array_equal(split_long_triangles(corners, 100.0), corners)
