# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import Collider, Contact, Scene, SoftBody
from supple.core.potentials.contact.surface import CollisionSurface, Points
from supple.core.potentials.contact.truncated_motion import (
    MAX_DISPLACEMENT_RATIO,
    DisplacementLimit,
)
from supple.verification.meshes import block

LARGE, SMALL = block((1, 1, 1), (10.0,) * 3), block((1, 1, 1), (0.01,) * 3, (-1.0, 0.0, 0.0))
#: The mean edge of a block's surface: three sides to one and a half diagonals.
MEAN = (12.0 + 6.0 * 2.0**0.5) / 18.0


def limited(moving: dict[int, Points], most: float = 1.0, table: float = -99.0) -> float:
    """The limit for a large and a small body and a table, some of which move."""
    corners = np.array([[-50.0, -50, table], [50, -50, table], [0, 90, table]])
    scene = Scene(
        [SoftBody(LARGE), SoftBody(SMALL)],
        colliders=[Collider(corners, [[0, 1, 2]])],
        contact=Contact(),
    )
    surface = CollisionSurface(scene, [LARGE, SMALL])
    ways = np.zeros_like(surface.rest)
    for item, way in moving.items():
        ways[surface.object_of == item] = way
    return DisplacementLimit(surface).step_size(surface.rest, ways, most)


def one(count: int, length: float) -> Points:
    """Displacements of a body: one vertex goes up, the others stay."""
    ways = np.zeros((count, 3))
    ways[0, 2] = length
    return ways


def test_what_goes_on_as_a_whole_through_nothing_may_go_all_the_way() -> None:
    assert limited({1: np.array([0.0, 0.0, 7.0])}) == 1.0
    assert limited({0: np.array([0.0, 0.0, 7e3]), 1: np.array([0.0, 0.0, 7e3])}, 64.0) == 64.0
    assert limited({}, 64.0) == 64.0


@pytest.mark.parametrize(("item", "side"), [(0, 10.0), (1, 0.01)])
def test_a_body_deforms_by_so_many_of_its_own_edges(item, side) -> None:
    # Less the mean of all.
    step = limited({item: one(8, 100.0 * side)})
    assert step == pytest.approx(
        MAX_DISPLACEMENT_RATIO * MEAN / (100.0 * (1.0 - 1.0 / 8.0)), rel=1e-12
    )


def test_what_passes_another_goes_by_so_many_edges_of_the_larger_one() -> None:
    step = limited({1: np.array([100.0, 0.0, 0.0])})
    assert step == pytest.approx(MAX_DISPLACEMENT_RATIO * 10.0 * MEAN / 100.0, rel=1e-12)
    # Both together pass nothing.
    assert limited({0: np.array([100.0, 0.0, 0.0]), 1: np.array([100.0, 0.0, 0.0])}) == 1.0


def test_a_collider_in_the_way_counts_by_the_edges_of_the_body() -> None:
    down = np.array([0.0, 0.0, -1.0])
    assert limited({1: down}) == 1.0
    assert limited({1: down}, table=-0.5) == pytest.approx(MAX_DISPLACEMENT_RATIO * 0.01 * MEAN)
    # So it does where the collider moves, or one of its corners.
    assert limited({2: -down}, table=-0.5) == pytest.approx(MAX_DISPLACEMENT_RATIO * 0.01 * MEAN)
    turning = limited({2: one(3, 3.0)}, table=-0.5)
    assert turning == pytest.approx(MAX_DISPLACEMENT_RATIO * 0.01 * MEAN / 2.0)
    # Colliders by themselves do not.
    assert limited({2: one(3, -3.0)}) == 1.0
