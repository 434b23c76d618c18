# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.groups import components


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([(4, 0), (1, 3)], [0, 1, 2, 1, 0]),
        ([(3, 4), (2, 3), (1, 2)], [0, 1, 1, 1, 1]),
        ([(2, 2)], [0, 1, 2, 3, 4]),
    ],
)
def test_components_are_numbered_by_their_first_nodes(links, expected) -> None:
    assert components(5, np.array(links)).tolist() == expected


def test_a_link_counts_however_often_it_is_named() -> None:
    assert components(2, np.array([(0, 1)] * 256)).tolist() == [0, 0]
