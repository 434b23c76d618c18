# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import Embedding, SceneError, TetMesh, embed
from supple.core.geometry.embedding import nearest_weights

MATRIX = np.array([[0.3, -1.2, 0.4], [2.0, 0.1, -0.5], [0.2, 0.6, 1.5]])
SHIFT = np.array([3.0, -2.0, 5.0])


def test_a_point_inside_follows_the_tet_it_lies_in(make_block) -> None:
    mesh = make_block((3, 3, 3))
    points = np.random.default_rng(15).uniform(0, 1, (500, 3))
    embedding = embed(mesh, points)
    assert embedding.weights.min() > -1e-9
    np.testing.assert_allclose(embedding.weights.sum(axis=1), 1.0)
    tets = {tuple(sorted(tet)) for tet in mesh.tets}
    assert all(tuple(sorted(four)) in tets for four in embedding.indices)


def test_a_mesh_vertex_follows_itself(make_block) -> None:
    mesh = make_block((2, 3, 2))
    moved = np.random.default_rng(16).normal(size=mesh.vertices.shape)
    np.testing.assert_allclose(embed(mesh, mesh.vertices).interpolate(moved), moved, atol=1e-12)


def test_affine_motions_are_reproduced_inside_and_outside(make_block) -> None:
    mesh = make_block((3, 2, 4), (1.0, 0.7, 1.3))
    points = np.random.default_rng(17).uniform(-0.4, 1.6, (1000, 3))
    found = embed(mesh, points).interpolate(mesh.vertices @ MATRIX.T + SHIFT)
    np.testing.assert_allclose(found, points @ MATRIX.T + SHIFT, rtol=1e-12, atol=1e-12)


def test_the_rest_shape_is_reproduced_far_from_the_origin(make_block) -> None:
    mesh = make_block((2, 2, 2), origin=(1e4, 2e4, -3e4))
    points = np.random.default_rng(18).uniform(-0.1, 1.1, (200, 3)) + np.array([1e4, 2e4, -3e4])
    np.testing.assert_allclose(embed(mesh, points).interpolate(mesh.vertices), points, rtol=1e-12)


def test_a_point_outside_follows_the_side_it_is_near(make_block) -> None:
    mesh = make_block((6, 6, 6))
    rng = np.random.default_rng(19)
    points = np.stack([np.full(100, 1.05), *rng.uniform(0.1, 0.9, (2, 100))], axis=1)
    corners = mesh.vertices[embed(mesh, points).indices]
    assert np.linalg.norm(corners.mean(axis=1) - points, axis=1).max() < 0.25


def test_extrapolation_stays_small_beside_a_sliver() -> None:
    sound = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    sliver = np.array([[0.3, 0.3, 0.4 + 1e-3]])  # almost in the sloping face
    mesh = TetMesh(np.concatenate([sound, sliver]), [[0, 1, 2, 3], [1, 2, 3, 4]])
    points = np.array([[0.5, 0.5, 0.5], [0.4, 0.4, 0.4], [0.31, 0.32, 0.5]])
    assert np.abs(embed(mesh, points).weights).max() < 2.0


def test_a_far_point_is_embedded_too(make_block) -> None:
    mesh = make_block()
    embedding = embed(mesh, [[40.0, 0.5, 0.5]])
    np.testing.assert_allclose(embedding.interpolate(mesh.vertices), [[40.0, 0.5, 0.5]], atol=1e-9)


def test_a_point_in_a_gap_follows_the_nearer_part(make_block) -> None:
    left, right = make_block((2, 2, 2)), make_block((2, 2, 2), origin=(1.2, 0, 0))
    mesh = TetMesh(
        np.concatenate([left.vertices, right.vertices]),
        np.concatenate([left.tets, right.tets + len(left.vertices)]),
    )
    indices = embed(mesh, [[1.04, 0.4, 0.6], [1.16, 0.4, 0.6]]).indices
    assert (indices[0] < len(left.vertices)).all()
    assert (indices[1] >= len(left.vertices)).all()


def test_the_arrays_alone_make_the_same_embedding(make_block) -> None:
    mesh = make_block()
    embedding = embed(mesh, np.random.default_rng(20).uniform(0, 1, (10, 3)))
    assert embedding.indices.dtype == np.int32 and embedding.weights.dtype == np.float64
    copy = Embedding(embedding.indices.copy(), embedding.weights.copy())
    np.testing.assert_array_equal(
        copy.interpolate(mesh.vertices), embedding.interpolate(mesh.vertices)
    )


def test_no_points_give_an_empty_embedding(make_block) -> None:
    assert embed(make_block(), np.zeros((0, 3))).weights.shape == (0, 4)


def test_a_point_that_is_not_finite_is_named(make_block) -> None:
    with pytest.raises(SceneError, match="Vertex 1 is not at a finite position"):
        embed(make_block(), [[0.5, 0.5, 0.5], [np.inf, 0, 0]])


LINE = np.array([[0.0, 0, 0], [1, 0, 0], [3, 0, 0], [7, 0, 0], [15, 0, 0], [31, 0, 0]])


@pytest.mark.parametrize("size", [1e-7, 1.0, 1e7])
def test_weights_are_the_inverse_distances_of_the_four_nearest(size: float) -> None:
    which, weights = nearest_weights(size * LINE, size * np.array([[2.0, 0, 0]]))
    assert sorted(which[0]) == [0, 1, 2, 3]
    expected = {0: 1 / 2, 1: 1, 2: 1, 3: 1 / 5}
    total = sum(expected.values())
    for point, weight in zip(which[0], weights[0], strict=True):
        assert weight == pytest.approx(expected[point] / total, rel=1e-6)


def test_at_a_point_it_alone_counts() -> None:
    which, weights = nearest_weights(LINE, LINE[2:3])
    assert which[0, 0] == 2 and weights[0, 0] == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_points_than_four_do(count: int) -> None:
    which, weights = nearest_weights(LINE[:count], LINE[:3])
    assert which.shape == weights.shape == (3, count)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_points_at_one_place_share_alike() -> None:
    _, weights = nearest_weights(np.zeros((3, 3)), np.zeros((1, 3)))
    np.testing.assert_allclose(weights, 1 / 3)
