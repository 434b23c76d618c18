# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.looks.visible_mesh import VisibleMesh, depth_below, depth_in_box, neighbour_means

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
THROUGH = np.array([[0.3, 0.3, -1.0], [0.6, 0.3, -1], [0.6, 0.3, 1], [0.3, 0.3, 1]])


def shifted(corners: np.ndarray, x: float, y: float, z: float) -> np.ndarray:
    return corners + np.array([x, y, z])


def squares(*corners: np.ndarray) -> VisibleMesh:
    """Quads that share no vertex."""
    return VisibleMesh.from_quads(
        np.concatenate(corners), np.arange(4 * len(corners)).reshape(-1, 4)
    )


def _grid_quads(cells: int) -> np.ndarray:
    index = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    quads = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1)
    return quads.reshape(-1, 4)


def grid(cells: int = 4) -> VisibleMesh:
    """A level square of quads, 1 m long each."""
    points = np.stack(np.meshgrid(*[np.arange(cells + 1.0)] * 2, indexing="ij"), axis=-1)
    flat = points.reshape(-1, 2)
    return VisibleMesh.from_quads(np.column_stack([flat, np.zeros(len(flat))]), _grid_quads(cells))


def test_the_faces_that_go_through_each_other_are_counted() -> None:
    mesh = squares(SQUARE, shifted(SQUARE, 0, 0, 5), shifted(SQUARE, 0, 0, 9))
    assert mesh.crossing_faces(mesh.rest).tolist() == []
    moved = np.concatenate([SQUARE, THROUGH, shifted(SQUARE, 0, 0, 9)])
    assert mesh.crossing_faces(moved).tolist() == [0, 1]


def test_faces_that_cross_at_rest_do_not_count_nor_does_what_crosses_them() -> None:
    mesh = squares(SQUARE, THROUGH, shifted(SQUARE, 0, 0, 5), shifted(SQUARE, 0, 0, 9))
    assert mesh.crossing_faces(mesh.rest).tolist() == []
    moved = np.concatenate(
        [SQUARE, THROUGH, shifted(THROUGH, 0.1, 0.2, 0.0), shifted(SQUARE, 0, 0, 9)]
    )
    assert mesh.crossing_faces(moved).tolist() == []
    moved = np.concatenate([SQUARE, THROUGH, shifted(SQUARE, 9, 0, 0), shifted(THROUGH, 9, 0, 0)])
    assert mesh.crossing_faces(moved).tolist() == [2, 3]


def test_the_line_along_which_two_sheets_cross_may_move_by_a_face() -> None:
    sheet, size = grid(6), 49
    # Upright, halfway between two rows of the level one.
    upright = sheet.rest[:, [2, 0, 1]] + np.array([2.5, 0.25, -2.5])
    quads = _grid_quads(6)
    mesh = VisibleMesh.from_quads(
        np.concatenate([sheet.rest, upright]), np.concatenate([quads, quads + size])
    )
    for shift, crosses in ((0.0, False), (1.0, False), (2.0, True)):
        moved = mesh.rest.copy()
        moved[size:] += [shift, 0.0, shift]
        assert bool(len(mesh.crossing_faces(moved))) == crosses


def test_neighbours_that_touch_do_not_cross() -> None:
    mesh = grid()
    folded = mesh.rest.copy()
    folded[:, 2] = np.abs(folded[:, 0] - 2.0)
    assert mesh.crossing_faces(folded).tolist() == []


def test_each_edge_counts_once() -> None:
    assert len(grid(4).edges) == 2 * 4 * 5


@pytest.mark.parametrize(("factor", "share"), [(2.9, 0.0), (3.1, 0.5), (0.21, 0.0), (0.19, 0.5)])
def test_edges_far_from_their_length_are_torn(factor: float, share: float) -> None:
    mesh = grid()
    assert mesh.torn_share(mesh.rest * [factor, 1.0, 1.0]) == pytest.approx(share)
    assert mesh.stretches(mesh.rest * [factor, 1.0, 1.0]).max() == pytest.approx(max(factor, 1.0))


def test_roughness_is_in_units_of_that_at_rest() -> None:
    flat = grid()
    bumps = np.random.default_rng(0).normal(scale=0.1, size=len(flat.rest))
    mesh = VisibleMesh(
        flat.rest + np.outer(bumps, [0, 0, 1]), flat.triangles, flat.faces, flat.edges
    )
    assert mesh.roughness(mesh.rest) == pytest.approx(1.0)
    assert mesh.roughness(2.5 * mesh.rest + [1.0, 2.0, 3.0]) == pytest.approx(2.5)
    spiked = mesh.rest.copy()
    spiked[12, 2] += 3.0
    assert mesh.roughness(spiked) > 1.2


def test_the_mean_of_the_neighbours_is_that_of_the_other_ends() -> None:
    mesh = grid(2)
    means = neighbour_means(mesh.rest, mesh.edges)
    np.testing.assert_allclose(means[4], mesh.rest[4])  # the middle one
    np.testing.assert_allclose(means[0], [0.5, 0.5, 0.0])  # a corner
    alone = np.concatenate([mesh.rest, [[7.0, 8.0, 9.0]]])
    np.testing.assert_allclose(neighbour_means(alone, mesh.edges)[-1], [7.0, 8.0, 9.0])


def test_the_depth_in_a_box_is_that_below_the_nearest_of_its_faces() -> None:
    low, high = [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]
    assert depth_in_box([[0.9, 1.0, 1.0], [5.0, 1.0, 1.0]], low, high) == pytest.approx(0.1)
    assert depth_in_box([[0.5, 1.9, 1.5], [0.5, 1.0, 0.2]], low, high) == pytest.approx(0.2)
    assert depth_in_box([[-0.1, 1.0, 1.0]], low, high) == 0.0


def test_the_depth_below_the_ground_is_that_of_the_lowest_point() -> None:
    assert depth_below([[0.0, 0, 1.4], [0, 0, 1.9]], 1.5) == pytest.approx(0.1)
    assert depth_below([[0.0, 0, 1.6]], 1.5) == 0.0
