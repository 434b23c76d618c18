# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from supple.core.geometry import triangles as closest_point
from supple.core.geometry.triangles import (
    closest_among_near,
    closest_points,
    orient_consistently,
    point_triangle_distance,
    triangle_distance,
    without_degenerate,
    without_unreferenced,
)
from supple.core.meshing.surface import is_closed, signed_volume
from supple.verification.meshes import block

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_above_the_face_an_edge_and_a_corner() -> None:
    points = np.array([[0.2, 0.3, 0.7], [0.4, -1.0, 0.5], [-1.0, -2.0, 3.0], [1.0, 1.0, 0.0]])
    _, weights = closest_points(points, TRIANGLE, np.array([[0, 1, 2]]))
    expected = [[0.2, 0.3, 0], [0.4, 0, 0], [0, 0, 0], [0.5, 0.5, 0]]
    np.testing.assert_allclose(weights @ TRIANGLE, expected, atol=1e-15)


def test_no_triangle_is_closer(monkeypatch) -> None:
    # So few pairs at a time that the points come in several chunks.
    monkeypatch.setattr(closest_point, "_PAIRS_PER_CHUNK", 1000)
    random = np.random.default_rng(3)
    vertices, points = random.normal(size=(60, 3)), random.normal(size=(100, 3))
    triangles = random.integers(0, 60, (150, 3))  # some of them without area
    nearest, weights = closest_points(points, vertices, triangles)
    found = np.einsum("pa,pai->pi", weights, vertices[triangles[nearest]])
    everywhere = [
        point_triangle_distance(
            np.repeat(point[None], 150, axis=0), *vertices[triangles].swapaxes(0, 1)
        )
        for point in points
    ]
    np.testing.assert_allclose(
        np.linalg.norm(found - points, axis=1), np.min(everywhere, axis=1), atol=1e-12
    )
    assert (weights >= 0.0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_of_triangles_that_are_alike_those_near_do() -> None:
    mesh = block((8, 6, 2))
    random = np.random.default_rng(4)
    points = mesh.vertices[mesh.surface].mean(axis=1) + 0.02 * random.normal(
        size=(len(mesh.surface), 3)
    )
    all_of_them = closest_points(points, mesh.vertices, mesh.surface)
    near = closest_among_near(points, mesh.vertices, mesh.surface)
    found, expected = (
        np.einsum("pa,pai->pi", weights, mesh.vertices[mesh.surface[triangle]])
        for triangle, weights in (near, all_of_them)
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)
    few = closest_among_near(points, mesh.vertices, mesh.surface[:2])
    expected = closest_points(points, mesh.vertices, mesh.surface[:2])[0]
    np.testing.assert_array_equal(few[0], expected)


POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0, 0], [0, 0, 9]])


@pytest.mark.parametrize("flat", [(0, 0, 1), (0, 1, 0), (2, 2, 2), (0, 1, 3), (3, 0, 1)])
@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e3])
def test_triangles_without_area_go_and_the_others_stay(flat, scale: float) -> None:
    triangles = np.array([(0, 1, 2), flat, (2, 3, 0)], dtype=np.int32)
    valid = without_degenerate(scale * POINTS, triangles)
    np.testing.assert_array_equal(valid, triangles[[0, 2]])


def test_a_sliver_is_not_taken_for_a_line() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0.5, 1e-9, 0]])
    assert len(without_degenerate(points, np.array([[0, 1, 2]]))) == 1


def test_flipped_faces_are_turned_back(sphere) -> None:
    vertices, triangles = sphere(3)
    mixed = triangles.copy()
    flipped = np.random.default_rng(6).random(len(triangles)) < 0.4
    mixed[flipped] = mixed[flipped, ::-1]
    oriented = orient_consistently(mixed)
    assert not is_closed(mixed)
    assert is_closed(oriented)
    assert signed_volume(vertices, oriented) == signed_volume(vertices, triangles)


def test_shells_that_agree_with_themselves_are_left_alone(sphere) -> None:
    _, triangles = sphere(2)
    shells = np.concatenate([triangles, triangles[:, ::-1] + triangles.max() + 1])
    np.testing.assert_array_equal(orient_consistently(shells), shells)


def test_each_shell_keeps_the_side_of_its_majority(sphere) -> None:
    _, triangles = sphere(2)
    shells = np.concatenate([triangles, triangles[:, ::-1] + triangles.max() + 1])
    mixed = shells.copy()
    mixed[[3, 200]] = mixed[[3, 200], ::-1]
    np.testing.assert_array_equal(
        np.sort(orient_consistently(mixed), axis=1), np.sort(shells, axis=1)
    )
    assert is_closed(orient_consistently(mixed))


def test_a_moebius_strip_is_left_alone() -> None:
    strip = np.array([[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5], [4, 5, 1], [1, 5, 0]])
    np.testing.assert_array_equal(orient_consistently(strip), strip)


A, B, C = np.array([[0.0, 0, 0], [2, 0, 0], [0, 2, 0]])


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ((0.5, 0.5, 3.0), 3.0),  # above the face
        ((0.5, 0.5, 0.0), 0.0),  # in it
        ((1.0, -2.0, 0.0), 2.0),  # beside an edge
        ((2.0, 2.0, 0.0), np.sqrt(2.0)),  # beside the longest one
        ((-3.0, -4.0, 0.0), 5.0),  # off a corner
        ((-3.0, -4.0, 12.0), 13.0),
    ],
)
def test_the_nearest_feature_decides(point, expected) -> None:
    assert point_triangle_distance(np.array([point]), A[None], B[None], C[None]) == pytest.approx(
        [expected]
    )


def test_it_is_the_least_distance_to_any_point_of_the_triangle() -> None:
    rng = np.random.default_rng(3)
    a, b, c, points = rng.normal(size=(4, 50, 3))
    found = point_triangle_distance(points, a, b, c)
    u, v = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
    u, v = u[u + v <= 1], v[u + v <= 1]
    for i in range(50):
        samples = a[i] + u[:, None] * (b[i] - a[i]) + v[:, None] * (c[i] - a[i])
        nearest = np.linalg.norm(samples - points[i], axis=1).min()
        assert found[i] <= nearest + 1e-12
        assert found[i] == pytest.approx(nearest, abs=0.02)


def test_a_flat_triangle_counts_as_its_edges() -> None:
    point = np.array([[1.0, 3.0, 0.0]])
    assert point_triangle_distance(point, A[None], B[None], B[None]) == pytest.approx([3.0])
    assert point_triangle_distance(point, A[None], A[None], A[None]) == pytest.approx([np.sqrt(10)])


def pairs(seed: int, count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, count, 3, 3))
    return first, second + rng.normal(size=(count, 1, 3))


def least_distance(first: np.ndarray, second: np.ndarray) -> float:
    """The distance by a quadratic program in barycentric coordinates, from several starts."""

    def square(x: np.ndarray) -> float:
        weights = np.append(x[:2], 1.0 - x[:2].sum()), np.append(x[2:], 1.0 - x[2:].sum())
        return float(((weights[0] @ first - weights[1] @ second) ** 2).sum())

    inside = [
        {"type": "ineq", "fun": lambda x: 1.0 - x[0] - x[1]},
        {"type": "ineq", "fun": lambda x: 1.0 - x[2] - x[3]},
    ]
    return min(
        minimize(square, start, bounds=[(0, 1)] * 4, constraints=inside, tol=1e-14).fun
        for start in ([0.3] * 4, [0.8, 0.1, 0.1, 0.8])
    )


def test_distances_are_the_least_of_all_points() -> None:
    first, second = pairs(1)
    distances = triangle_distance(first, second, np.inf)
    expected = [np.sqrt(least_distance(*pair)) for pair in zip(first, second, strict=True)]
    np.testing.assert_allclose(distances, expected, atol=2e-4)
    assert 0 < np.count_nonzero(distances == 0.0) < len(distances)
    np.testing.assert_allclose(triangle_distance(second, first, np.inf), distances, atol=1e-12)


def test_the_order_of_corners_does_not_matter() -> None:
    first, second = pairs(2)
    distances = triangle_distance(first, second, np.inf)
    for order in itertools.permutations(range(3)):
        turned = triangle_distance(first[:, order], second[:, order[::-1]], np.inf)
        np.testing.assert_allclose(turned, distances, atol=1e-12)


def test_beyond_the_cutoff_there_is_no_distance() -> None:
    first, second = pairs(3)
    distances = triangle_distance(first, second, np.inf)
    near = triangle_distance(first, second, 0.5)
    np.testing.assert_array_equal(near, np.where(distances <= 0.5, distances, np.inf))


@pytest.mark.parametrize(("shared", "expected"), [(False, 0.0), (True, 1.0)])
def test_corners_in_common_are_not_compared(shared: bool, expected: float) -> None:
    """Two triangles at right angles, with a corner in common and far edges 1 m apart."""
    first = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]])
    second = np.array([[[0.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [-1.0, 0.0, 1.0]]])
    common = np.zeros((1, 3, 3), dtype=bool)
    common[0, 0, 0] = shared
    assert triangle_distance(first, second, np.inf, common)[0] == pytest.approx(expected)


def test_triangles_without_area_are_edges_and_points() -> None:
    point = np.zeros((1, 3, 3))
    edge = np.array([[[0.0, 3.0, 0.0], [4.0, 0.0, 0.0], [0.0, 3.0, 0.0]]])
    assert triangle_distance(point, edge, np.inf)[0] == pytest.approx(2.4)
    assert triangle_distance(edge, edge + np.array([0.0, 0.0, 0.7]), np.inf)[0] == pytest.approx(
        0.7
    )


UNREFERENCED_POINTS = np.random.default_rng(1).normal(size=(5, 3))


@pytest.mark.parametrize("moments", [(), (3,)])
def test_unused_points_go_at_all_moments(moments) -> None:
    points = np.broadcast_to(UNREFERENCED_POINTS, (*moments, 5, 3))
    triangles = np.array([(4, 1, 2), (1, 2, 4)], dtype=np.int32)
    used, renumbered = without_unreferenced(points, triangles)
    assert used.shape == (*moments, 3, 3)
    np.testing.assert_array_equal(used[..., renumbered, :], points[..., triangles, :])
