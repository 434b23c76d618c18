# SPDX-License-Identifier: GPL-3.0-or-later
"""Tets that lie over each other are found, however little of the body they are."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.folding import Folds
from supple.core.geometry.tet_mesh import TetMesh, signed_volumes

from ..wheel import ORDERS, fan, wheel


@pytest.mark.parametrize("order", range(len(ORDERS)))
def test_tets_around_an_edge_in_two_turns_are_folded_although_none_is_inside_out(order) -> None:
    mesh, twice = wheel(order=order), fan(2)
    assert (signed_volumes(twice, mesh.tets) > 0.0).all()
    assert Folds(mesh).has_folds(twice)
    assert not Folds(mesh).has_folds(fan(1, pointed=0.1))
    # Wherever it is.
    assert Folds(mesh).has_folds(np.add(twice, [7.0, -3.0, 5.0]))
    assert not Folds(mesh).has_folds(np.add(2.0 * fan(1, pointed=0.1), [7.0, -3.0, 5.0]))


def test_tets_that_go_round_an_edge_at_the_boundary_twice_at_rest_are_not() -> None:
    """As a screw does around its axis."""
    angles = np.arange(13) * np.pi / 3.0
    around = np.column_stack([np.cos(angles), np.sin(angles), 0.5 + 0.01 * angles])
    vertices = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], *around])
    tets = [[0, 1, k, k + 1] for k in range(2, 14)]
    mesh = TetMesh(vertices, tets)
    assert not Folds(mesh).has_folds(1.5 * mesh.vertices)


def test_a_tet_that_is_inside_out_is_folded(make_block) -> None:
    mesh = make_block((2, 2, 2))
    moved = mesh.vertices.copy()
    corner = int(np.argmax(moved.sum(axis=1)))
    moved[corner] -= 0.9
    assert (signed_volumes(moved, mesh.tets) <= 0.0).any()
    assert Folds(mesh).has_folds(moved)
    assert Folds(mesh).has_folds(mesh.vertices * [1.0, 1.0, 0.0])


@pytest.mark.parametrize("matrix", [np.diag([3.0, 0.5, 0.2]), [[1, 4, 0], [0, 1, 0], [0, 2, 1]]])
def test_a_body_that_is_only_stretched_and_sheared_is_not(make_block, matrix) -> None:
    mesh = make_block((3, 2, 2))
    assert not Folds(mesh).has_folds(mesh.vertices @ np.asarray(matrix, dtype=float))
    assert not Folds(mesh).has_folds(mesh.vertices)


def test_a_body_rolled_up_beyond_a_turn_is_not_folded(make_block) -> None:
    """It overlaps itself, but fits together everywhere."""
    mesh = make_block((40, 1, 1), (8.0, 0.2, 0.5))
    along, across, up = mesh.vertices.T
    radius = 1.0 + across
    rolled = 1.5 * np.column_stack([radius * np.sin(along), radius * np.cos(along), up])
    assert (signed_volumes(rolled, mesh.tets) > 0.0).all()
    assert not Folds(mesh).has_folds(rolled)
