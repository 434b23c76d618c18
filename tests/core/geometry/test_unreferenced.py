# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.triangles import without_unreferenced

POINTS = np.random.default_rng(1).normal(size=(5, 3))


@pytest.mark.parametrize("moments", [(), (3,)])
def test_unused_points_go_at_all_moments(moments) -> None:
    points = np.broadcast_to(POINTS, (*moments, 5, 3))
    triangles = np.array([(4, 1, 2), (1, 2, 4)], dtype=np.int32)
    used, renumbered = without_unreferenced(points, triangles)
    assert used.shape == (*moments, 3, 3)
    np.testing.assert_array_equal(used[..., renumbered, :], points[..., triangles, :])
