# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.surface_tets import TetsAround, barycentric_maps

# Below, a tet with a corner at the origin; on its face z = 0 two copies of another, of which the
# second is higher; and two that share the origin alone with it, over both.
POSITIONS = np.array(
    [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, -1.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, 2.0],
        [3.0, -0.5, -0.5],
        [-0.5, 3.0, -0.5],
        [-0.5, -0.5, 3.0],
        [-0.5, -0.5, 6.0],
    ]
)
BELOW, LOW, HIGH, APART, LONG = range(5)
TETS = np.array([[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5], [0, 6, 7, 8], [0, 6, 7, 9]])


def located(tets, *point: float) -> tuple[int, float, int]:
    around, maps = TetsAround(TETS[tets], len(POSITIONS)), barycentric_maps(POSITIONS, TETS[tets])
    parts = around.locate(maps, TETS[tets], np.array([point]), np.array([0]))
    owner, least, rival = (part[0] for part in parts)
    return int(owner), float(least), int(rival)


def test_a_point_in_the_tet_that_is_near_stays_there() -> None:
    owner, least, rival = located([BELOW, LOW, APART], 0.2, 0.3, -0.1)
    assert (owner, rival) == (0, -1)
    assert least == pytest.approx(0.1)


def test_where_tets_overlap_the_one_with_more_corners_in_common_is_followed() -> None:
    for order in ([BELOW, LOW, APART], [BELOW, APART, LOW]):
        owner, least, rival = located(order, 0.25, 0.25, 0.05)
        assert (order[owner], rival) == (LOW, -1)
        assert least == pytest.approx(0.05)


def test_copies_that_have_as_many_in_common_are_rivals_and_the_deeper_first() -> None:
    for order in ([BELOW, LOW, HIGH], [BELOW, HIGH, LOW]):
        owner, least, rival = located(order, 0.25, 0.25, 0.1)
        assert (order[owner], order[rival]) == (LOW, HIGH)
        assert least == pytest.approx(0.1)


def test_rivals_of_a_tet_are_none_of_one_with_more_corners_in_common() -> None:
    for pair in ([APART, LONG], [LONG, APART]):
        owner, _, rival = located([BELOW, *pair], 0.25, 0.25, 0.05)
        assert {owner, rival} == {1, 2}
        owner, _, rival = located([BELOW, *pair, LOW], 0.25, 0.25, 0.05)
        assert (owner, rival) == (3, -1)


def test_a_point_in_none_follows_the_one_it_is_least_outside_of() -> None:
    owner, least, rival = located([BELOW, LOW], 0.25, 0.25, 0.8)
    assert (owner, rival) == (1, -1)
    assert least == pytest.approx(-0.3)
