# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.thickness import MAX_OFFSET_RATIO, thickened

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)


def _volume(vertices, triangles) -> float:
    a, b, c = vertices[triangles].swapaxes(0, 1)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def _assert_closed(triangles) -> None:
    """Every edge lies in exactly two triangles, once in each direction."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    directed = {tuple(edge) for edge in edges.tolist()}
    assert len(directed) == len(edges)
    assert directed == {(j, i) for i, j in directed}


def test_no_thickness_leaves_the_mesh_itself() -> None:
    vertices, triangles = thickened(SQUARE, HALVES, 0.0)
    assert vertices is SQUARE and triangles is HALVES


def test_a_square_becomes_a_closed_plate_of_twice_the_thickness() -> None:
    vertices, triangles = thickened(SQUARE, HALVES, 0.1)
    _assert_closed(triangles)
    assert _volume(vertices, triangles) == pytest.approx(0.2)
    np.testing.assert_allclose(np.abs(vertices[:, 2]), 0.1)
    assert triangles.max() < len(vertices)


def test_the_faces_of_a_cube_move_by_the_thickness_right_up_to_its_corners(make_block) -> None:
    cube = make_block((2, 2, 2))
    inner_vertices = len(cube.vertices)
    vertices, triangles = thickened(cube.vertices, cube.surface, 0.1)
    outer, inner = vertices[:inner_vertices], vertices[inner_vertices:]
    on_surface = np.unique(cube.surface)
    np.testing.assert_allclose(outer[on_surface], 1.2 * cube.vertices[on_surface] - 0.1, atol=1e-12)
    np.testing.assert_allclose(inner[on_surface], 0.8 * cube.vertices[on_surface] + 0.1, atol=1e-12)
    _assert_closed(triangles)
    assert _volume(vertices, triangles) == pytest.approx(1.2**3 - 0.8**3)
    # The vertex in the middle belongs to no triangle.
    middle = np.setdiff1d(np.arange(inner_vertices), on_surface)
    np.testing.assert_array_equal(outer[middle], cube.vertices[middle])
    np.testing.assert_array_equal(inner[middle], cube.vertices[middle])


def test_sharp_corners_move_no_farther_than_allowed() -> None:
    # Two triangles that meet in a blade of about 2 degrees along the x axis.
    blade = np.array([[0.0, 0, 0], [1, 0, 0], [0.5, 1, 0.02], [0.5, 1, -0.02]])
    vertices, _ = thickened(blade, np.array([[1, 0, 2], [0, 1, 3]]), 0.1)
    moved = np.linalg.norm(vertices[:4] - blade, axis=1)
    np.testing.assert_allclose(moved, [0.1 * MAX_OFFSET_RATIO] * 2 + [0.1] * 2)


def test_frames_come_out_as_each_alone() -> None:
    random = np.random.default_rng(2)
    frames = SQUARE + 0.2 * random.normal(size=(5, 4, 3))
    vertices, triangles = thickened(frames, HALVES, 0.05)
    for frame, found in zip(frames, vertices, strict=True):
        alone, same = thickened(frame, HALVES, 0.05)
        np.testing.assert_allclose(found, alone, atol=1e-15)
        np.testing.assert_array_equal(triangles, same)


def test_triangles_that_are_lines_bend_no_normal() -> None:
    points = np.concatenate([SQUARE, [[0.5, 0, 0], [7, 7, 7]]])
    line = np.array([[0, 4, 1]], dtype=np.int32)
    plain, _ = thickened(points, HALVES, 0.1)
    vertices, _ = thickened(points, np.concatenate([HALVES, line]), 0.1)
    assert np.isfinite(vertices).all()
    np.testing.assert_allclose(vertices, plain)
    np.testing.assert_array_equal(vertices[[4, 5]], points[[4, 5]])


def test_a_mesh_folded_onto_itself_stays_finite() -> None:
    both = np.concatenate([HALVES, HALVES[:, ::-1]])
    vertices, _ = thickened(SQUARE, both, 0.1)
    np.testing.assert_allclose(vertices, np.concatenate([SQUARE, SQUARE]))
