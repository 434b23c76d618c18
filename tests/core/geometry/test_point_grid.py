# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.winding_number import PointGrid


@pytest.mark.parametrize("cell", [1e-9, 0.05, 0.3, 10.0])
@pytest.mark.parametrize("flat", [False, True])
def test_it_finds_all_points_in_each_box_once(cell, flat) -> None:
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 1, (400, 3)) * ([1, 1, 0] if flat else [1, 1, 1])
    low = rng.uniform(-1.5, 1.0, (60, 3))
    high = low + rng.uniform(0, 0.8, (60, 3))
    found = [
        (int(box), int(point))
        for boxes, chunk in PointGrid(points, cell).pairs(low, high)
        for box, point in zip(boxes, chunk, strict=True)
    ]
    inside = (points >= low[:, None]) & (points <= high[:, None])
    expected = np.argwhere(inside.all(axis=2))
    assert sorted(found) == [tuple(pair) for pair in expected.tolist()]
