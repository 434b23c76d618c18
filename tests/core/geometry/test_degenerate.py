# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.triangles import without_degenerate

POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0, 0], [0, 0, 9]])


@pytest.mark.parametrize("flat", [(0, 0, 1), (0, 1, 0), (2, 2, 2), (0, 1, 3), (3, 0, 1)])
@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e3])
def test_triangles_without_area_go_and_the_others_stay(flat, scale: float) -> None:
    triangles = np.array([(0, 1, 2), flat, (2, 3, 0)], dtype=np.int32)
    valid = without_degenerate(scale * POINTS, triangles)
    np.testing.assert_array_equal(valid, triangles[[0, 2]])


def test_a_sliver_is_not_taken_for_a_line() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0.5, 1e-9, 0]])
    assert len(without_degenerate(points, np.array([[0, 1, 2]]))) == 1
