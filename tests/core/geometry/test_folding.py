# SPDX-License-Identifier: GPL-3.0-or-later
"""Tets that lie over each other are found, however little of the body they are."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry import folding as module
from supple.core.geometry.folding import Folds, folded_triangles
from supple.core.geometry.tet_mesh import TetMesh, signed_volumes

from ..meshing.meshes import box
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


BY_EDGE = np.array([[0, 1, 2], [1, 0, 3]])
BY_POINT = np.array([[0, 1, 2], [0, 3, 4]])


def found(points: np.ndarray, triangles: np.ndarray, distance: float = 1e-6) -> list[list[int]]:
    away = np.array([3.0, 5.0, -7.0])
    return folded_triangles(away + points, triangles, distance).tolist()


def hinge(degrees: float) -> np.ndarray:
    """Two triangles at an edge, the second turned so far from lying on the first."""
    angle = np.radians(degrees)
    return np.array(
        [[0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.4, 0.7 * np.cos(angle), 0.7 * np.sin(angle)]]
    )


def test_of_triangles_at_an_edge_those_that_lie_on_each_other_are_folded() -> None:
    assert found(hinge(0.0), BY_EDGE) == [[0, 1]]
    assert found(hinge(1.0), BY_EDGE) == []
    assert found(hinge(1.0), BY_EDGE, distance=0.02) == [[0, 1]]
    assert found(hinge(180.0), BY_EDGE) == []


@pytest.mark.parametrize("height", [0.0, 3e-8])
def test_of_triangles_at_a_point_those_that_cross_elsewhere_are(height: float) -> None:
    bow = [[0, 0, 0], [2, -1, 0], [2, 1, 0], [1.5, 0, height], [1.5, 3, height]]
    assert found(bow, BY_POINT) == [[0, 1]]
    beside = [[0, 0, 0], [2, -1, 0], [2, 1, 0], [-1.5, 0, height], [-1.5, 3, height]]
    assert found(beside, BY_POINT) == []


def test_an_edge_that_pierces_the_other_triangle_crosses_it() -> None:
    pierced = [[0, 0, 0], [2, -1, 0], [2, 1, 0], [1, 0, -1], [1.5, 0, 1]]
    assert found(pierced, BY_POINT) == [[0, 1]]
    turned = np.array(pierced)[[0, 3, 4, 1, 2]]
    assert found(turned, BY_POINT) == [[0, 1]]
    missed = np.add(pierced, [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 3, 0], [0, 3, 0]])
    assert found(missed, BY_POINT) == []


def test_faces_that_are_there_twice_share_everything_and_cross_nothing() -> None:
    assert found(hinge(90.0), np.array([[0, 1, 2], [2, 1, 0]])) == []


def test_nothing_of_a_box_is_folded() -> None:
    points, triangles = box((0, 0, 0), (1, 1, 1), (5, 4, 3))
    assert found(points, triangles) == []
    assert folded_triangles(np.zeros((0, 3)), np.zeros((0, 3), dtype=int), 1.0).shape == (0, 2)


@pytest.mark.parametrize("seed", range(3))
def test_what_opens_is_left_out_only_where_it_comes_near_nowhere(seed: int, monkeypatch) -> None:
    points, triangles = box((0, 0, 0), (1, 1, 1), (4, 4, 4))
    noise = np.random.default_rng(seed).normal(scale=0.08, size=points.shape)
    crumpled = points + noise
    quick = found(crumpled, triangles)
    assert len(quick) > 3
    monkeypatch.setattr(module, "MIN_OPENING_RAD", 2.0 * np.pi)
    assert quick == found(crumpled, triangles)
