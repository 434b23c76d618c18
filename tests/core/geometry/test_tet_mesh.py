# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import SceneError, TetMesh

CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])

#: Three ways to go on from one face.
FAN = np.vstack([CORNER, [0.2, 0.2, -1.0], [0.3, 0.1, 2.0]])


def test_a_unit_corner_tet_has_a_sixth_of_a_cubic_metre() -> None:
    mesh = TetMesh(CORNER, [[0, 1, 2, 3]])
    assert mesh.rest_volumes == pytest.approx([1 / 6])


def test_shape_gradients_reproduce_an_affine_map(make_block) -> None:
    mesh = make_block((3, 2, 1), (1.0, 2.0, 0.5))
    matrix = np.array([[1.0, 2, 3], [-4, 5, 6], [7, 8, -9]])
    moved = mesh.vertices @ matrix.T + [1.0, -2.0, 3.0]
    found = np.einsum("mai,maj->mij", moved[mesh.tets], mesh.shape_gradients)
    np.testing.assert_allclose(found, np.broadcast_to(matrix, found.shape), atol=1e-12)


def test_a_negative_tet_is_turned_over() -> None:
    mesh = TetMesh(CORNER, [[0, 2, 1, 3]])
    a, b, c, d = mesh.vertices[mesh.tets[0]]
    assert np.dot(np.cross(b - a, c - a), d - a) > 0
    assert sorted(mesh.tets[0]) == [0, 1, 2, 3]


def test_the_callers_arrays_are_left_alone() -> None:
    tets = np.array([[0, 2, 1, 3]], dtype=np.int32)
    TetMesh(CORNER, tets)
    assert tets.tolist() == [[0, 2, 1, 3]]


def test_the_surface_is_closed_and_faces_outward(make_block) -> None:
    mesh = make_block((3, 4, 2))
    assert len(mesh.surface) == 2 * 2 * (3 * 4 + 4 * 2 + 3 * 2)
    a, b, c = mesh.vertices[mesh.surface].swapaxes(0, 1)
    enclosed = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert enclosed == pytest.approx(mesh.rest_volumes.sum())


def test_surface_areas_sum_to_the_area_of_the_box(make_block) -> None:
    mesh = make_block((2, 2, 2), (1.0, 2.0, 3.0))
    assert mesh.surface_areas.sum() == pytest.approx(2 * (2 + 3 + 6))


@pytest.mark.parametrize("edge", [1.0, 0.03])
def test_the_edge_length_of_regular_tets_is_that_of_each_edge(edge: float) -> None:
    corners = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * edge / np.sqrt(8.0)
    assert TetMesh(corners, [[0, 1, 2, 3]]).edge_length == pytest.approx(edge)


def test_partly_filled_tets_have_that_much_mass(make_block) -> None:
    full = make_block((3, 2, 2))
    fill = np.linspace(0.1, 1.0, len(full.tets))
    mesh = TetMesh(full.vertices, full.tets, fill)
    assert mesh.lumped_mass(700.0).sum() == pytest.approx(700.0 * fill @ full.rest_volumes)
    np.testing.assert_array_equal(mesh.rest_volumes, full.rest_volumes)


@pytest.mark.parametrize("fill", [[0.0], [-1.0], [np.nan], [1.0, 1.0]])
def test_a_fraction_of_no_tet_or_of_nothing_is_refused(fill) -> None:
    corners = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(SceneError, match="1 numbers above 0"):
        TetMesh(corners, [[0, 1, 2, 3]], np.array(fill))


def test_partly_filled_tets_may_overlap() -> None:
    corners = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, -1]]
    tets = [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]]
    assert len(TetMesh(corners, tets, np.full(3, 0.5)).surface) == 9
    with pytest.raises(SceneError, match="share one face"):
        TetMesh(corners, tets)


def test_lumped_masses_sum_to_volume_times_density(make_block) -> None:
    mesh = make_block((2, 3, 2), (1.0, 2.0, 0.5))
    assert mesh.lumped_mass(700.0).sum() == pytest.approx(700.0)


@pytest.mark.parametrize(
    ("vertices", "tets", "message"),
    [
        (np.where(CORNER == 1, np.nan, CORNER), [[0, 1, 2, 3]], "vertex 1 is not a finite"),
        (CORNER, [[0, 1, 2, 4]], "tet 0 names a vertex outside 0 … 3"),
        (CORNER, [[0, 1, 2, -1]], "tet 0 names a vertex outside"),
        (CORNER * [1, 1, 0], [[0, 1, 2, 3]], "tet 0 is flat"),
        (np.vstack([CORNER, [5.0, 5, 5]]), [[0, 1, 2, 3]], "vertex 4 belongs to no tet"),
        (CORNER, [[0, 1, 2, 2]], "tet 0 names vertex 2 twice"),
        (
            CORNER,
            [[0, 1, 2, 3], [3, 2, 0, 1]],
            r"tets 0 and 1 have the same four vertices \(1 such",
        ),
        (
            FAN,
            [[1, 4, 2, 5], [0, 1, 2, 3], [4, 0, 2, 1], [1, 2, 0, 5]],
            "tets 1, 2, 3 share one face",
        ),
        (CORNER, np.zeros((0, 4), int), r"must be \(M, 4\) with M > 0"),
        (CORNER, [[0.0, 1.0, 2.0, 3.0]], "whole numbers"),
        (CORNER[:, :2], [[0, 1, 2, 3]], r"must be \(N, 3\)"),
    ],
)
def test_a_broken_mesh_is_refused_by_name(vertices, tets, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        TetMesh(vertices, tets)
