# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from supple.core import Embedding, TetMesh, embed
from supple.core.geometry.phong_deformation import embed_smoothly, near_boundary, vertex_gradients
from supple.core.meshing.surface import outward_normals
from supple.verification.meshes import irregular_block

MATRIX = np.array([[0.3, -1.2, 0.4], [2.0, 0.1, -0.5], [0.2, 0.6, 1.5]])
SHIFT = np.array([3.0, -2.0, 5.0])
# Of the second derivatives of a quadratic motion, one row for each component.
CURVES = np.random.default_rng(3).normal(size=(3, 3, 3))


def smooth(mesh: TetMesh, points: np.ndarray, held: np.ndarray | None = None) -> Embedding:
    return embed_smoothly(mesh, points, embed(mesh, points), is_pinned=held)


def quadratic(points: np.ndarray) -> np.ndarray:
    return points + np.einsum("vi,kij,vj->vk", points, CURVES, points)


def bent(points: np.ndarray) -> np.ndarray:
    """A beam along x of length 2 becomes a quarter of a ring."""
    radius, angle = 4.0 / np.pi + points[:, 2], points[:, 0] * np.pi / 4.0
    return np.stack([radius * np.sin(angle), points[:, 1], radius * np.cos(angle)], axis=1)


def twisted(points: np.ndarray) -> np.ndarray:
    cos, sin = np.cos(0.8 * points[:, 0]), np.sin(0.8 * points[:, 0])
    y, z = points[:, 1] - 0.25, points[:, 2] - 0.25
    return np.stack([points[:, 0], cos * y - sin * z, sin * y + cos * z], axis=1)


def test_affine_motions_are_reproduced_inside_and_outside() -> None:
    mesh = irregular_block((4, 3, 3))
    points = np.random.default_rng(17).uniform(-0.4, 1.4, (1000, 3))
    found = smooth(mesh, points).interpolate(mesh.vertices @ MATRIX.T + SHIFT)
    np.testing.assert_allclose(found, points @ MATRIX.T + SHIFT, rtol=1e-12, atol=1e-12)


def test_the_rest_shape_is_reproduced_far_from_the_origin(make_block) -> None:
    mesh = make_block((2, 2, 2), origin=(1e4, 2e4, -3e4))
    points = np.random.default_rng(18).uniform(-0.1, 1.1, (200, 3)) + np.array([1e4, 2e4, -3e4])
    np.testing.assert_allclose(smooth(mesh, points).interpolate(mesh.vertices), points, rtol=1e-12)


def test_weights_sum_to_one() -> None:
    points = np.random.default_rng(5).uniform(-0.4, 1.4, (300, 3))
    weights = smooth(irregular_block((3, 4, 3)), points).weights
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-13)


def test_a_mesh_vertex_follows_itself() -> None:
    mesh = irregular_block((3, 3, 3))
    moved = np.random.default_rng(16).normal(size=mesh.vertices.shape)
    np.testing.assert_allclose(smooth(mesh, mesh.vertices).interpolate(moved), moved, atol=1e-9)


def test_gradients_of_vertices_are_those_of_an_affine_motion() -> None:
    mesh = irregular_block((3, 2, 3))
    moved = mesh.vertices @ MATRIX.T + SHIFT
    owner, vertex, gradient = vertex_gradients(mesh).of(np.array([5, 0, 20]))
    for row in range(3):
        found = moved[vertex[owner == row]].T @ gradient[owner == row]
        np.testing.assert_allclose(found, MATRIX, atol=1e-12)


def test_quadratic_motions_are_exact_where_tets_lie_evenly_around_every_corner(make_block) -> None:
    mesh = make_block((6, 6, 6))
    points = np.random.default_rng(7).uniform(1 / 6, 5 / 6, (300, 3))
    found = smooth(mesh, points).interpolate(quadratic(mesh.vertices))
    np.testing.assert_allclose(found, quadratic(points), atol=1e-12)
    linear = embed(mesh, points).interpolate(quadratic(mesh.vertices))
    assert np.abs(linear - quadratic(points)).max() > 1e-2


def surface_points(count: int) -> np.ndarray:
    """On the long sides of a beam of 2 × 0.5 × 0.5, away from its ends."""
    random = np.random.default_rng(8)
    points = random.uniform([0.4, 0.0, 0.0], [1.6, 0.5, 0.5], (count, 3))
    axis = random.integers(1, 3, count)
    points[np.arange(count), axis] = random.choice([0.0, 0.5], count)
    return points


def errors(motion: Callable[[np.ndarray], np.ndarray], make_block, cells: int) -> np.ndarray:
    """Root mean squares of linear interpolation and of Phong deformation, on the surface."""
    mesh = make_block((4 * cells, cells, cells), (2.0, 0.5, 0.5))
    points = surface_points(2000)
    moved, expected = motion(mesh.vertices), motion(points)
    found = [
        embedding.interpolate(moved) for embedding in (embed(mesh, points), smooth(mesh, points))
    ]
    return np.sqrt([((one - expected) ** 2).sum(axis=1).mean() for one in found])


@pytest.mark.parametrize("motion", [bent, twisted])
def test_bending_and_twisting_come_out_better_than_by_linear_interpolation(
    make_block, motion: Callable[[np.ndarray], np.ndarray]
) -> None:
    coarse, fine = errors(motion, make_block, 2), errors(motion, make_block, 4)
    # Of second order are both; on coarse tets as on fine ones a third of the error is left.
    assert (coarse / fine > 3.5).all()
    assert coarse[1] < 0.5 * coarse[0]
    assert fine[1] < 0.35 * fine[0]


def jumps(embedding_of: Callable[[np.ndarray], Embedding], way: np.ndarray, moved: np.ndarray):
    """The longest step of what follows along a way, of points ever closer to each other."""
    found = []
    for count in (401, 4001):
        at = np.linspace(0.0, len(way) - 1.0, count)
        points = np.stack([np.interp(at, np.arange(len(way)), axis) for axis in way.T], axis=1)
        found.append(np.abs(np.diff(embedding_of(points).interpolate(moved), axis=0)).max())
    return found


def test_it_is_continuous_across_faces_and_outside() -> None:
    mesh = irregular_block((3, 3, 3))
    moved = mesh.vertices + np.random.default_rng(9).normal(0.0, 0.1, mesh.vertices.shape)
    way = np.random.default_rng(10).uniform(-0.2, 1.2, (12, 3))
    coarse, fine = jumps(lambda points: smooth(mesh, points), way, moved)
    assert fine < 0.15 * coarse


def test_it_is_continuous_in_a_reentrant_corner(make_block) -> None:
    block = make_block((4, 4, 4))
    middle = block.vertices[block.tets].mean(axis=1)
    tets = block.tets[~(middle > 0.5).all(axis=1)]
    used, tets = np.unique(tets, return_inverse=True)
    mesh = TetMesh(block.vertices[used], tets.reshape(-1, 4))
    moved = mesh.vertices + np.random.default_rng(9).normal(0.0, 0.05, mesh.vertices.shape)
    way = np.random.default_rng(11).uniform(0.45, 0.8, (12, 3))
    coarse, fine = jumps(lambda points: smooth(mesh, points), way, moved)
    assert fine < 0.15 * coarse


def test_it_stays_bounded_where_tets_are_crushed_or_inverted() -> None:
    mesh = irregular_block((4, 4, 4))
    random = np.random.default_rng(12)
    points = random.uniform(-0.1, 1.1, (2000, 3))
    moved = random.uniform(0.0, 1.0, mesh.vertices.shape)
    found = smooth(mesh, points).interpolate(moved)
    assert found.min() > -2.0
    assert found.max() < 3.0


def test_slivers_do_not_throw_points_far(make_block) -> None:
    """A corner of a face is raised, and a tet as flat as that fills the valley beside it."""
    block = make_block((3, 3, 3))
    top = block.surface[(block.vertices[block.surface, 2] == 1.0).all(axis=1)]
    one = top[0]
    two = next(face for face in top[1:] if len(np.intersect1d(one, face)) == 2)
    raised = np.setdiff1d(two, one)
    vertices = block.vertices.copy()
    vertices[raised, 2] += 1e-5
    mesh = TetMesh(vertices, np.concatenate([block.tets, [[*one, raised[0]]]]))
    middle = vertices[[*one, raised[0]]].mean(axis=0)
    points = middle + np.random.default_rng(13).uniform(-0.1, 0.1, (500, 3))
    assert np.abs(smooth(mesh, points).weights).sum(axis=1).max() < 4.0


def test_pinned_points_stand_still_and_their_neighbours_do_not_jump(make_block) -> None:
    mesh = make_block((4, 4, 4))
    held = mesh.vertices[:, 2] < 0.3
    moved = quadratic(mesh.vertices)
    moved[held] = mesh.vertices[held]
    points = np.random.default_rng(14).uniform(0.0, 1.0, (500, 3)) * [1.0, 1.0, 0.25]
    found = smooth(mesh, points, held).interpolate(moved)
    np.testing.assert_allclose(found, points, atol=1e-14)
    way = np.array([[0.3, 0.4, 0.1], [0.35, 0.42, 0.9]])
    coarse, fine = jumps(lambda along: smooth(mesh, along, held), way, moved)
    assert fine < 0.15 * coarse


def test_what_is_far_from_pins_is_as_without_them(make_block) -> None:
    mesh = make_block((4, 4, 4))
    held = mesh.vertices[:, 2] < 0.3
    points = np.random.default_rng(14).uniform(0.6, 1.1, (100, 3))
    with_pins, without = smooth(mesh, points, held), smooth(mesh, points)
    np.testing.assert_array_equal(with_pins.indices, without.indices)
    np.testing.assert_array_equal(with_pins.weights, without.weights)


def test_two_bodies_close_to_each_other_are_not_mixed(make_block) -> None:
    left, right = make_block((2, 2, 2)), make_block((2, 2, 2), origin=(1.2, 0, 0))
    mesh = TetMesh(
        np.concatenate([left.vertices, right.vertices]),
        np.concatenate([left.tets, right.tets + len(left.vertices)]),
    )
    embedding = smooth(mesh, np.array([[1.04, 0.4, 0.6], [1.16, 0.4, 0.6]]))
    for row, is_left in enumerate((True, False)):
        carriers = embedding.indices[row][embedding.weights[row] != 0.0]
        assert ((carriers < len(left.vertices)) == is_left).all()


def test_it_is_the_same_to_the_bit_again() -> None:
    mesh = irregular_block((3, 3, 4))
    points = np.random.default_rng(15).uniform(-0.2, 1.2, (400, 3))
    one, two = smooth(mesh, points), smooth(irregular_block((3, 3, 4)), points)
    np.testing.assert_array_equal(one.indices, two.indices)
    np.testing.assert_array_equal(one.weights, two.weights)


def test_no_points_give_an_empty_embedding(make_block) -> None:
    assert len(smooth(make_block(), np.zeros((0, 3))).weights) == 0


UP, DOWN = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])


def carriers(mesh: TetMesh, points: np.ndarray, normal: np.ndarray | None) -> np.ndarray:
    """Which vertices carry the points by Phong deformation."""
    normals = None if normal is None else np.broadcast_to(normal, points.shape)
    phong = embed_smoothly(mesh, points, embed(mesh, points), normals)
    return np.unique(phong.indices[phong.weights != 0.0])


def fork(make_block) -> TetMesh:
    """Two prongs of 0.4 along x, 0.2 apart, joined at x < 0.25."""
    block = make_block((4, 2, 5))
    middle = block.vertices[block.tets].mean(axis=1)
    tets = block.tets[(middle[:, 0] < 0.25) | (np.abs(middle[:, 2] - 0.5) > 0.1)]
    used, tets = np.unique(tets, return_inverse=True)
    return TetMesh(block.vertices[used], tets.reshape(-1, 4))


def on_a_sheet(height: float) -> np.ndarray:
    random = np.random.default_rng(1)
    return np.column_stack(
        [random.uniform([0.75, 0.1], [0.95, 0.9], (200, 2)), np.full(200, height)]
    )


@pytest.mark.parametrize("height", [0.42, 0.5, 0.55])
def test_a_lip_follows_its_own_side_of_the_gap(make_block, height: float) -> None:
    mesh = fork(make_block)
    low, high = (carriers(mesh, on_a_sheet(z), n) for z, n in ((height, UP), (1 - height, DOWN)))
    assert (mesh.vertices[low, 2] < 0.41).all()
    assert (mesh.vertices[high, 2] > 0.59).all()


def test_without_normals_it_follows_the_nearer_side(make_block) -> None:
    mesh = fork(make_block)
    found = carriers(mesh, on_a_sheet(0.55), None)
    assert (mesh.vertices[found, 2] > 0.59).all()


def test_a_sheet_close_above_a_body_keeps_its_own_points(make_block) -> None:
    sheet = make_block((4, 4, 1), (1.0, 1.0, 0.05), origin=(0.0, 0.0, 1.05))
    body = make_block((4, 4, 4))
    mesh = TetMesh(
        np.concatenate([sheet.vertices, body.vertices]),
        np.concatenate([sheet.tets, body.tets + len(sheet.vertices)]),
    )
    for height, normal in ((1.12, UP), (1.1, UP), (1.05, DOWN), (1.01, DOWN)):
        assert (carriers(mesh, on_a_sheet(height), normal) < len(sheet.vertices)).all()
    for height in (1.0, 1.04):
        assert (carriers(mesh, on_a_sheet(height), UP) >= len(sheet.vertices)).all()


def test_weights_of_a_point_sum_to_one_and_its_places_are_close(make_block) -> None:
    mesh = make_block((3, 3, 3))
    points = np.random.default_rng(3).uniform(1.05, 1.6, (200, 3))
    near = near_boundary(mesh, points, np.zeros_like(points))
    np.testing.assert_allclose(np.bincount(near.point, near.weights), 1.0)
    corners = mesh.vertices[mesh.surface[near.triangle]]
    places = np.einsum("ka,kai->ki", near.coordinates, corners)
    distance = np.linalg.norm(points[near.point] - places, axis=1)
    closest = np.linalg.norm(points - 1.0, axis=1)
    assert (distance >= closest[near.point] - 1e-12).all()
    assert (distance <= closest[near.point] + 0.3 * mesh.edge_length).all()


@pytest.mark.parametrize("flip", ["none", "all", "some"])
def test_normals_point_out_however_triangles_are_wound(make_block, flip: str) -> None:
    mesh = make_block((3, 3, 3))
    used, triangles = np.unique(mesh.surface, return_inverse=True)
    vertices, triangles = mesh.vertices[used], triangles.reshape(-1, 3)
    wound = {"none": slice(0), "all": slice(None), "some": slice(0, None, 5)}[flip]
    triangles[wound] = triangles[wound, ::-1]
    normals = outward_normals(vertices, vertices, triangles)
    assert (np.einsum("vi,vi->v", normals, vertices - 0.5) > 0.4).all()
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    beside = outward_normals(vertices + 0.01, vertices, triangles)
    np.testing.assert_array_equal(beside, normals)
