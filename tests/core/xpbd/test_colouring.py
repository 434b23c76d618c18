# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np

from supple.core.xpbd.constraints import colour_tets


def _shares_vertex(corners: np.ndarray) -> np.ndarray:
    """(M, M) whether two tets have a vertex in common."""
    return (corners.T[:, None, :, None] == corners.T[None, :, None, :]).any((2, 3))


def test_tets_of_one_colour_share_no_vertex_and_every_tet_has_a_colour(make_block) -> None:
    mesh = make_block((5, 4, 3))
    corners = mesh.tets.T
    colours = colour_tets(corners, len(mesh.vertices))
    assert colours.min() == 0
    for colour in range(colours.max() + 1):
        own = corners[:, colours == colour]
        assert own.size > 0
        assert len(np.unique(own)) == own.size


def test_a_tet_gets_at_most_one_colour_more_than_it_has_neighbours(make_block) -> None:
    mesh = make_block((3, 3, 3))
    colours = colour_tets(mesh.tets.T, len(mesh.vertices))
    neighbours = _shares_vertex(mesh.tets.T).sum(1) - 1
    assert (colours <= neighbours).all()


def test_the_colours_are_near_the_fewest_that_there_can_be(make_block) -> None:
    mesh = make_block((6, 6, 6))
    colours = colour_tets(mesh.tets.T, len(mesh.vertices))
    # All tets at one vertex differ.
    fewest = np.bincount(mesh.tets.ravel()).max()
    assert fewest <= colours.max() + 1 <= 1.5 * fewest


def test_tets_apart_have_one_colour() -> None:
    corners = np.arange(40).reshape(10, 4).T
    assert (colour_tets(corners, 40) == 0).all()


def test_the_same_tets_get_the_same_colours(make_block) -> None:
    mesh = make_block((4, 4, 4))
    first, second = (colour_tets(mesh.tets.T, len(mesh.vertices)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
