# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from supple.core import Scene, SceneError, Simulator, SoftBody, TetMesh, embed, tetrahedralize
from supple.core.geometry.gas_boundary import enclosed_volumes, gas_boundary
from supple.core.geometry.gas_boundary import gas_volume as gas_of
from supple.core.geometry.tet_mesh import signed_volumes
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.meshing.cells import BccLattice, VirtualMesh
from supple.core.meshing.lattice import join_copies
from supple.core.meshing.report import altitudes, dihedral_angles
from supple.core.meshing.surface import signed_volume, split_long_triangles
from supple.core.preparation.contact_surface import refined
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.contact_settings import ContactSurface
from supple.core.scene.skin import Skin, SurfaceMesh

from .meshes import Surface, box, pieces, voxels, with_shells

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


def test_lattice_tets_fill_space_and_are_all_alike() -> None:
    lattice = BccLattice.around(np.zeros(3), np.full(3, 2.0))
    nodes = lattice.nodes()
    tets = lattice.tets(np.ones(len(nodes), dtype=bool))
    np.testing.assert_allclose(signed_volumes(nodes, tets), 1 / 12)
    assert len(np.unique(np.sort(tets, axis=1), axis=0)) == len(tets)


def test_only_tets_with_a_wanted_node_are_made() -> None:
    lattice = BccLattice.around(np.zeros(3), np.full(3, 2.0))
    wanted = np.zeros(len(lattice.nodes()), dtype=bool)
    wanted[len(wanted) // 4] = True
    assert len(lattice.tets(wanted)) == 24
    assert wanted[lattice.tets(wanted)].any(axis=1).all()


# A finger with walls of a sixth of its width.
OUTER, INNER = ((0, 0, 0), (0.06, 0.16, 0.3)), ((0.01, 0.01, 0.01), (0.05, 0.15, 0.29))
HOLLOW = 0.04 * 0.14 * 0.28
# Its length outside and inside, across and along.
SIDES = (0.16, 0.14), (0.3, 0.28)


def joined(*parts: Surface) -> Surface:
    vertices, triangles, count = [], [], 0
    for points, faces in parts:
        vertices.append(points)
        triangles.append(faces + count)
        count += len(points)
    return np.concatenate(vertices), np.concatenate(triangles)


def inside_out(surface: Surface) -> Surface:
    return surface[0], surface[1][:, ::-1]


def finger() -> Surface:
    return joined(box(*OUTER, (2, 4, 8)), inside_out(box(*INNER, (2, 4, 8))))


def turned(surface: Surface) -> Surface:
    axes, _ = np.linalg.qr([[1.0, 0.3, 0.2], [0.4, 1.0, 0.5], [0.1, 0.3, 1.0]])
    return surface[0] @ axes.T, surface[1] if np.linalg.det(axes) > 0 else surface[1][:, ::-1]


@pytest.mark.parametrize("cells", [4, 10, 14])
@pytest.mark.parametrize("pose", [lambda surface: surface, turned], ids=["straight", "turned"])
def test_gas_has_the_volume_of_the_hollow_whatever_the_size_of_cells(pose, cells: int) -> None:
    vertices, triangles = pose(finger())
    mesh = tetrahedralize(vertices, triangles, "lattice", 0.3 / cells)
    # Where cells are no smaller than the finger is wide, they do not hold all of it.
    assert gas_of(mesh) == pytest.approx(HOLLOW, rel=0.04 if cells < 10 else 1e-6)


@pytest.mark.parametrize("cells", [10, 11, 13, 16])
def test_gas_does_the_same_work_on_a_bulge_whatever_the_size_of_cells(cells: int) -> None:
    """Its volume and, as it grows sideways in the middle most, the rate of that."""
    mesh = tetrahedralize(*finger(), "lattice", 0.3 / cells)
    assert gas_of(mesh) == pytest.approx(HOLLOW, rel=1e-6)
    triangles, weights = gas_boundary(mesh)
    centred = mesh.vertices - np.array([0.03, 0.08, 0.15])
    waves = np.cos(np.pi * centred[:, 1:] / np.array([0.16, 0.3])).prod(axis=1)
    bulge = np.zeros_like(centred)
    bulge[:, 0] = centred[:, 0] * waves
    step = 1e-4
    grown, shrunk = (
        float(weights @ enclosed_volumes(mesh.vertices + side * step * bulge, triangles))
        for side in (1.0, -1.0)
    )
    # The integral of its divergence over the hollow.
    sides = [2.0 * length / np.pi * np.sin(0.5 * np.pi * inner / length) for length, inner in SIDES]
    expected = 0.04 * sides[0] * sides[1]
    assert (grown - shrunk) / (2.0 * step) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("cells", [5, 12])
def test_gas_of_a_stretched_body_has_the_volume_of_the_stretched_hollow(cells: int) -> None:
    mesh = tetrahedralize(*finger(), "lattice", 0.3 / cells)
    triangles, weights = gas_boundary(mesh)
    stretched = mesh.vertices * [2.0, 1.0, 0.5]
    volume = float(weights @ enclosed_volumes(stretched, triangles))
    assert volume == pytest.approx(gas_of(mesh), rel=1e-9)
    a, b, c = stretched[triangles].swapaxes(0, 1)
    areas = weights[:, None] * np.cross(b - a, c - a)
    assert np.abs(areas.sum(axis=0)).max() < 1e-12


def test_all_that_is_inside_out_has_the_same_gas() -> None:
    mesh = tetrahedralize(*inside_out(finger()), "lattice", 0.03)
    assert gas_of(mesh) == pytest.approx(HOLLOW, rel=0.04)


def test_a_part_that_lies_in_the_hollow_is_no_gas() -> None:
    inner = box((0.02, 0.05, 0.1), (0.04, 0.11, 0.2), (2, 2, 2))
    mesh = tetrahedralize(*joined(finger(), inner), "lattice", 0.02)
    assert gas_of(mesh) == pytest.approx(HOLLOW, rel=0.04)
    within = (np.abs(mesh.vertices[mesh.tets].mean(axis=1) - [0.03, 0.08, 0.15]) < 0.009).all(
        axis=1
    )
    assert mesh.gas is not None and within.any() and mesh.gas[within].max() == 0.0


@pytest.mark.parametrize(
    "surface",
    [
        box(*OUTER, (2, 4, 8)),
        joined(box(*OUTER, (2, 4, 8)), box(*INNER, (2, 4, 8))),
        joined(box(*OUTER, (2, 4, 8)), inside_out(box((1, 1, 1), (1.1, 1.1, 1.1), (1, 1, 1)))),
    ],
    ids=["solid", "one in another", "inside out beside"],
)
def test_what_has_no_hollow_has_no_gas_in_its_tets(surface: Surface) -> None:
    assert tetrahedralize(*surface, "lattice", 0.03).gas is None


def test_gas_stays_in_a_mesh_with_other_vertices() -> None:
    mesh = tetrahedralize(*finger(), "lattice", 0.03)
    assert isinstance(mesh, TetMesh)
    np.testing.assert_array_equal(mesh.with_vertices(2.0 * mesh.vertices).gas, mesh.gas)


# Two copies of a cell on one that they share a face with.
VERTICES = np.array(
    [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, -1.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0],
    ]
)
TETS = np.array([[0, 2, 1, 3], [0, 1, 2, 4], [0, 1, 2, 5]])
CELL = np.array([0, 1, 1])
TET_OF = np.array([[0, -1], [1, 2]])
MESH = VirtualMesh(VERTICES, TETS, CELL, TET_OF)
EDGE = np.array([[0, 1]])


def joined_copies(height: float, length: float, owner: tuple[int, int] = (1, 2)) -> VirtualMesh:
    """The mesh joined around an edge of this length, at this height above the face."""
    points = np.array([[0.2, 0.2, height], [0.2 + length, 0.2, height]])
    return join_copies(MESH, VERTICES, points, np.array(owner), EDGE)


def test_copies_that_an_edge_steps_between_become_one() -> None:
    mesh = joined_copies(0.2, 0.05)
    assert (len(mesh.tets), len(mesh.vertices)) == (2, 5)
    np.testing.assert_array_equal(mesh.tet_of[1], [mesh.tet_of[1, 0]] * 2)
    assert mesh.tet_of[0].tolist() == [1 - mesh.tet_of[1, 0], -1]
    np.testing.assert_array_equal(mesh.cell[mesh.tet_of[:, 0]], [0, 1])
    np.testing.assert_array_equal(mesh.vertices[mesh.tets[mesh.tet_of[1, 0]]], VERTICES[TETS[1]])


@pytest.mark.parametrize(
    ("height", "length", "owner"),
    [(0.2, 0.2, (1, 2)), (0.05, 0.05, (1, 2)), (0.2, 0.05, (1, 1)), (0.2, 0.05, (0, 2))],
)
def test_others_stay_apart(height, length, owner) -> None:
    assert joined_copies(height, length, owner) is MESH


def test_what_counts_is_the_shares_of_both_over_the_length() -> None:
    for height in (0.06, 0.12):
        assert len(joined_copies(height, 2.0 * height / 6.1).tets) == 2
        assert joined_copies(height, 2.0 * height / 5.9) is MESH


def test_pieces_are_short_and_cover_the_same_oriented_area() -> None:
    corners = np.random.default_rng(7).normal(size=(20, 3, 3))
    pieces = split_long_triangles(corners, 0.3)
    edges = np.linalg.norm(np.roll(pieces, -1, axis=1) - pieces, axis=2)
    assert edges.max() <= 0.3

    def area_vectors(triangles):
        return 0.5 * np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])

    np.testing.assert_allclose(area_vectors(pieces).sum(0), area_vectors(corners).sum(0))
    areas = [np.linalg.norm(area_vectors(t), axis=1).sum() for t in (pieces, corners)]
    assert areas[0] == pytest.approx(areas[1])


def test_short_triangles_are_kept_as_they_are() -> None:
    corners = np.random.default_rng(8).normal(size=(5, 3, 3))
    np.testing.assert_array_equal(split_long_triangles(corners, 100.0), corners)


NEAR_EDGE = 1.0


def visible(mesh: TetMesh, vertices: NDArray[np.float64]) -> NDArray[np.int32]:
    """(V, 4) tet vertices that each vertex of the surface follows."""
    return embed(mesh, vertices).indices


def hand(gap: float, length: int = 5) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Two fingers side by side, so long, on a palm."""
    solid = np.ones((3, 2, 2 + length), dtype=bool)
    solid[1, :, 2:] = False
    vertices, triangles = voxels(solid)
    vertices[:, 0] = np.interp(vertices[:, 0], [0, 1, 2, 3], [0, 1.2, 1.2 + gap, 2.4 + gap])
    return vertices, triangles


@pytest.mark.parametrize("gap", [0.33, 0.1, 0.01])
def test_fingers_hang_together_at_the_palm_only(gap) -> None:
    vertices, triangles = hand(gap)
    mesh = tetrahedralize(vertices, triangles, edge_length=NEAR_EDGE)
    assert pieces(mesh) == 1
    left = vertices[:, 0] < 1.2 + gap / 2
    tip = vertices[:, 2] > 4.5
    followed = visible(mesh, vertices)
    assert set(followed[left & tip].ravel()).isdisjoint(followed[~left & tip].ravel())


def test_lips_are_apart_up_to_the_corner_of_the_mouth() -> None:
    solid = np.ones((4, 4, 3), dtype=bool)
    solid[1:3, 2:, 1] = False
    vertices, triangles = voxels(solid)
    vertices[:, 2] = np.interp(vertices[:, 2], [0, 1, 2, 3], [0, 1.4, 1.5, 2.9])
    mesh = tetrahedralize(vertices, triangles, edge_length=NEAR_EDGE)
    assert pieces(mesh) == 1
    lip = (np.abs(vertices[:, 0] - 2.0) < 0.5) & (vertices[:, 1] == 4.0)
    upper, lower = (visible(mesh, vertices)[lip & side] for side in _sides(vertices))
    assert set(upper.ravel()).isdisjoint(lower.ravel())


def _sides(vertices: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    return [vertices[:, 2] == 1.5, vertices[:, 2] == 1.4]


def test_two_shells_that_are_apart_are_two_pieces() -> None:
    one = box((0, 0, 0), (3, 3, 1.3), (3, 3, 1))
    two = box((0, 0, 1.4), (3, 3, 2.7), (3, 3, 1))
    vertices, triangles = with_shells(one, two)
    mesh = tetrahedralize(vertices, triangles, edge_length=NEAR_EDGE)
    assert pieces(mesh) == 2
    assert mesh.material_volumes.sum() == pytest.approx(2 * 11.7, rel=0.01)


def test_shells_that_overlap_a_little_hold_together() -> None:
    one = box((0, 0, 0), (3, 3, 1.3), (3, 3, 1))
    two = box((0.5, 0.5, 1.25), (2.5, 2.5, 2.7), (3, 3, 1))
    mesh = tetrahedralize(*with_shells(one, two), edge_length=NEAR_EDGE)
    assert pieces(mesh) == 1
    assert mesh.material_volumes.sum() == pytest.approx(11.7 + 4 * 1.4, rel=0.01)


@pytest.mark.parametrize("thickness", [0.05, 0.15, 0.4])
def test_a_thin_leaf_keeps_its_volume(thickness) -> None:
    vertices, triangles = box((0, 0, 0), (12, 9, thickness), (24, 18, 1))
    vertices[:, 2] += 0.5 * np.sin(0.5 * vertices[:, 0])
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    mesh = tetrahedralize(vertices @ turn, triangles, edge_length=NEAR_EDGE)
    true = abs(signed_volume(vertices, triangles))
    assert pieces(mesh) == 1
    assert mesh.material_volumes.sum() == pytest.approx(true, rel=0.05)
    near = vertices[:, 0] < 6.0
    half = mesh.vertices @ turn.T
    share = mesh.lumped_mass(1.0)[half[:, 0] < 6.0].sum() / true
    assert share == pytest.approx(near.mean(), abs=0.05)


@pytest.mark.parametrize("width", [0.3, 0.45])
def test_a_thin_rod_on_a_thick_block_keeps_its_own_volume(width) -> None:
    block = box((0, 0, 0), (4, 4, 4), (4, 4, 4))
    rod = box((1.87, 1.83, 3.6), (1.87 + width, 1.83 + width, 12), (1, 1, 12))
    mesh = tetrahedralize(*with_shells(block, rod), edge_length=NEAR_EDGE)
    above = mesh.vertices[mesh.tets][:, :, 2].mean(axis=1) > 6.0
    assert mesh.material_volumes[above].sum() == pytest.approx(6.0 * width**2, rel=0.1)
    assert mesh.material_volumes.sum() == pytest.approx(64.0 + 8.0 * width**2, rel=0.01)


@pytest.mark.parametrize("turn", [1, 4, 5])
def test_what_is_seen_around_the_end_of_a_gap_is_not_torn(turn) -> None:
    coarse, faces = hand(0.33, length=3)
    fine = refined(ContactSurface(coarse, faces.astype(np.int32)), 0.2 * NEAR_EDGE)
    rotation, _ = np.linalg.qr(np.random.default_rng(turn).normal(size=(3, 3)))
    vertices = fine.points @ rotation
    mesh = tetrahedralize(vertices, fine.triangles, edge_length=NEAR_EDGE)
    assert pieces(mesh) == 1
    assert steepest(mesh, vertices, fine.triangles) < 8.0 / NEAR_EDGE
    tip, left = fine.points[:, 2] > 4.0, fine.points[:, 0] < 1.3
    followed = visible(mesh, vertices)
    assert set(followed[left & tip].ravel()).isdisjoint(followed[~left & tip].ravel())


def steepest(mesh: TetMesh, vertices: NDArray[np.float64], triangles: NDArray[np.int32]) -> float:
    """The largest difference between the weights of two neighbours, over their distance."""
    embedding = embed(mesh, vertices)
    weights = np.zeros((len(vertices), len(mesh.vertices)))
    np.put_along_axis(weights, embedding.indices, embedding.weights, axis=1)
    a, b = triangles.T.ravel(), np.roll(triangles, -1, axis=1).T.ravel()
    step = np.abs(weights[a] - weights[b]).sum(axis=1)
    return float((step / np.linalg.norm(vertices[a] - vertices[b], axis=1)).max())


def test_a_finger_beside_another_can_be_bent_away_from_it() -> None:
    vertices, triangles = hand(0.2)
    left = (vertices[:, 0] < 1.3) | (vertices[:, 2] < 2.5)
    body = SoftBody(
        SurfaceMesh(vertices, triangles, "lattice", NEAR_EDGE),
        StableNeoHookean(2e4, 0.4),
        density=100.0,
        skin=Skin(vertices, np.flatnonzero(left).astype(np.int32)),
    )
    scene, _ = tetrahedralize_scene(Scene([body], gravity=(9.81, 0.0, 0.0)))
    skin = scene.bodies[0].skin
    *_, last = Simulator(scene, ImplicitEuler(), device="cpu").run(12)
    seen = skin.embedding.interpolate(last.positions[0].numpy())
    tip = ~left & (vertices[:, 2] == 7.0)
    assert (seen[tip, 0] - vertices[tip, 0]).min() > 0.3
    np.testing.assert_allclose(seen[left], vertices[left], atol=1e-9)
