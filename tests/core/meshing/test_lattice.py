# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import SceneError, TetMesh, embed, tetrahedralize
from supple.core.meshing.report import altitudes, dihedral_angles

from .meshes import box, pieces, with_shells

BALL = 4 / 3 * np.pi


def volume(mesh: TetMesh) -> float:
    return float(mesh.material_volumes.sum())


def test_a_sphere_keeps_its_volume_better_and_better(sphere) -> None:
    surface = sphere(4)
    enclosed = abs(np.linalg.det(surface[0][surface[1]]).sum()) / 6.0
    errors = [
        abs(volume(tetrahedralize(*surface, edge_length=length)) / enclosed - 1)
        for length in (0.4, 0.28, 0.2)
    ]
    assert 0.005 > errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("edge_length", [0.17, 0.23, 0.31])
def test_altitudes_stay_in_proportion_to_the_edge_length(sphere, edge_length) -> None:
    mesh = tetrahedralize(*sphere(3), edge_length=edge_length)
    assert altitudes(mesh).min() > 0.35 * edge_length


def beyond(mesh: TetMesh, points: np.ndarray) -> float:
    """The largest distance of a point outside of the tets, in metres."""
    embedding = embed(mesh, points)
    corners = mesh.vertices[embedding.indices]
    lone = TetMesh(corners.reshape(-1, 3), np.arange(corners.size // 3).reshape(-1, 4))
    return float((-embedding.weights * altitudes(lone)).max())


@pytest.mark.parametrize("edge_length", [0.2, 0.3, 0.5])
def test_nothing_of_the_surface_lies_more_than_a_tenth_of_a_cell_outside(
    sphere, edge_length
) -> None:
    small = (0.3 * sphere(3)[0] + [1.0, 0.2, 0.4], sphere(3)[1])
    rough = box((-0.5, -0.7, -1.6), (0.5, 0.6, 0.1), (6, 6, 6))
    vertices, triangles = with_shells(sphere(3), small, rough)
    mesh = tetrahedralize(vertices, triangles, edge_length=edge_length)
    assert pieces(mesh) == 1
    assert beyond(mesh, vertices) < 0.1 * edge_length
    assert dihedral_angles(mesh).min() > 15.0
    assert altitudes(mesh).min() > 0.3 * edge_length


def test_the_boundary_is_closed_and_no_edge_of_it_is_of_more_than_two_faces(sphere) -> None:
    surface = tetrahedralize(*sphere(3), edge_length=0.25).surface
    edges = np.concatenate([surface[:, [0, 1]], surface[:, [1, 2]], surface[:, [2, 0]]])
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert {tuple(edge) for edge in edges} == {tuple(edge[::-1]) for edge in edges}
    assert len(np.unique(surface)) - len(edges) // 2 + len(surface) == 2


def test_a_cube_aligned_with_the_lattice_is_filled_to_its_faces(cube) -> None:
    mesh = tetrahedralize(*cube, edge_length=0.25)
    assert volume(mesh) == pytest.approx(8.0, rel=0.03)
    assert np.abs(mesh.vertices).max() < 1.0 + 0.5 * 0.25


def test_the_default_edge_length_gives_about_three_thousand_tets(sphere, cube) -> None:
    for surface in (sphere(4), cube):
        assert 2000 < len(tetrahedralize(*surface).tets) < 4500


def test_the_same_input_gives_the_same_bits(sphere) -> None:
    one, two = (tetrahedralize(*sphere(3), edge_length=0.3) for _ in range(2))
    np.testing.assert_array_equal(one.vertices, two.vertices)
    np.testing.assert_array_equal(one.tets, two.tets)


def test_an_inside_out_sphere_is_filled_all_the_same(sphere) -> None:
    vertices, triangles = sphere(4)
    mesh = tetrahedralize(vertices, triangles[:, ::-1], edge_length=0.25)
    assert volume(mesh) == pytest.approx(BALL, rel=0.03)


def test_faces_flipped_at_random_do_not_matter(sphere) -> None:
    vertices, triangles = sphere(4)
    flipped = np.random.default_rng(11).random(len(triangles)) < 0.3
    triangles[flipped] = triangles[flipped, ::-1]
    assert volume(tetrahedralize(vertices, triangles, edge_length=0.25)) == pytest.approx(
        BALL, rel=0.03
    )


@pytest.mark.parametrize(("scale", "shift"), [(1e-3, 0.0), (50.0, 0.0), (1e-3, 10.0), (1.0, 1e5)])
def test_scale_and_place_do_not_matter(sphere, scale, shift) -> None:
    vertices, triangles = sphere(3)
    near = tetrahedralize(vertices, triangles, edge_length=0.3)
    far = tetrahedralize(vertices * scale + shift, triangles, edge_length=0.3 * scale)
    np.testing.assert_array_equal(far.tets, near.tets)
    np.testing.assert_allclose((far.vertices - shift) / scale, near.vertices, atol=1e-6)


def test_half_a_sphere_is_closed_across_its_hole(sphere) -> None:
    vertices, triangles = sphere(4)
    upper = triangles[vertices[triangles].mean(axis=1)[:, 2] > 0]
    mesh = tetrahedralize(vertices, upper, edge_length=0.2)
    assert volume(mesh) == pytest.approx(BALL / 2, rel=0.1)


def test_a_plane_becomes_a_sheet_about_one_cell_thick(plane) -> None:
    mesh = tetrahedralize(*plane, edge_length=0.2)
    assert 0.14 < volume(mesh) / 4.0 < 0.26
    assert pieces(mesh) == 1
    assert np.abs(mesh.vertices[:, 2]).max() < 0.24


def test_a_tilted_plane_has_no_holes(plane) -> None:
    vertices, triangles = plane
    turn, _ = np.linalg.qr(np.random.default_rng(12).normal(size=(3, 3)))
    mesh = tetrahedralize(vertices @ turn, triangles, edge_length=0.2)
    inner = np.random.default_rng(13).uniform(-0.95, 0.95, (2000, 3)) * [1, 1, 0]
    weights = embed(mesh, inner @ turn).weights
    assert (weights.min(axis=1) > -1e-6).mean() > 0.85
    assert weights.min() > -0.8
    assert pieces(mesh) == 1


@pytest.mark.parametrize("thickness", [0.001, 0.2, 0.4, 0.6, 0.8])
def test_a_thin_box_at_an_angle_has_no_holes(cube, thickness) -> None:
    vertices, triangles = cube
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    thin = vertices * [1.0, 1.0, 0.5 * thickness * 0.2] @ turn
    mesh = tetrahedralize(thin, triangles, edge_length=0.2)
    inner = np.random.default_rng(13).uniform(-0.95, 0.95, (1000, 3)) * [1, 1, 0]
    assert embed(mesh, inner @ turn).weights.min() > -0.8
    assert pieces(mesh) == 1


def test_a_thin_fin_stays_attached_to_a_sphere(sphere) -> None:
    vertices, triangles = sphere(4)
    fin = np.array([[0.5, -0.4, 0], [2.0, -0.4, 0], [2.0, 0.4, 0], [0.5, 0.4, 0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]]) + len(vertices)
    mesh = tetrahedralize(
        np.concatenate([vertices, fin]), np.concatenate([triangles, faces]), edge_length=0.2
    )
    assert pieces(mesh) == 1
    assert mesh.vertices[:, 0].max() > 1.9
    assert volume(mesh) == pytest.approx(BALL + 0.8 * 0.2, rel=0.06)


def test_a_shell_in_a_shell_is_solid_and_an_inverted_one_is_a_cavity(sphere) -> None:
    vertices, triangles = sphere(4)
    both = np.concatenate([vertices, 0.6 * vertices])
    inner = triangles + len(vertices)
    solid = tetrahedralize(both, np.concatenate([triangles, inner]), edge_length=0.25)
    hollow = tetrahedralize(both, np.concatenate([triangles, inner[:, ::-1]]), edge_length=0.25)
    assert volume(solid) == pytest.approx(BALL, rel=0.03)
    assert volume(hollow) == pytest.approx(BALL * (1 - 0.6**3), rel=0.05)


def test_shells_that_intersect_become_one_piece_and_others_stay_apart(sphere) -> None:
    vertices, triangles = sphere(4)
    faces = np.concatenate([triangles, triangles + len(vertices)])
    near, far = (
        tetrahedralize(
            np.concatenate([vertices, vertices + x * np.eye(3)[0]]), faces, edge_length=0.25
        )
        for x in (1.2, 3.0)
    )
    lens = np.pi / 12 * (4 + 1.2) * (2 - 1.2) ** 2
    assert pieces(near) == 1 and pieces(far) == 2
    assert volume(near) == pytest.approx(2 * BALL - lens, rel=0.03)
    assert volume(far) == pytest.approx(2 * BALL, rel=0.03)


def test_a_triangle_soup_is_meshed() -> None:
    rng = np.random.default_rng(14)
    mesh = tetrahedralize(rng.normal(size=(60, 3)), rng.integers(0, 60, (40, 3)), edge_length=0.7)
    assert len(mesh.tets) > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"triangles": np.zeros((0, 3), int)}, "no faces"),
        ({"triangles": np.array([[0, 1, 99]])}, "Triangle 0 names a vertex outside"),
        ({"triangles": np.array([[0, 1, -1]])}, "Triangle 0 names a vertex outside"),
        ({"triangles": np.array([[0.0, 1.0, 2.0]])}, "whole numbers"),
        ({"vertices": np.zeros((8, 2))}, r"\(V, 3\)"),
        ({"vertices": np.ones((8, 3))}, "at one point"),
        ({"edge_length": 0.0}, "more than zero"),
        ({"edge_length": -1.0}, "more than zero"),
        ({"edge_length": float("nan")}, "more than zero"),
        ({"edge_length": 1e-3}, "use .* or more"),
        ({"edge_length": 5.0}, "use .* or less"),
        ({"method": "magic"}, "'magic'; choose one of lattice"),
    ],
)
def test_unusable_input_is_refused_in_plain_words(cube, change, message) -> None:
    vertices, triangles = cube
    arguments = {"vertices": vertices, "triangles": triangles, "edge_length": 0.5} | change
    with pytest.raises(SceneError, match=message):
        tetrahedralize(**arguments)


def test_a_vertex_that_is_not_finite_is_named(cube) -> None:
    vertices, triangles = cube
    vertices[5, 1] = np.nan
    with pytest.raises(SceneError, match="Vertex 5 is not at a finite position"):
        tetrahedralize(vertices, triangles)
