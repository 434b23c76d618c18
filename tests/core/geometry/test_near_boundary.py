# SPDX-License-Identifier: GPL-3.0-or-later
"""Points outside of tets follow the material that they belong to, whatever else is near."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core import TetMesh, embed
from supple.core.geometry.phong_deformation import embed_smoothly, near_boundary
from supple.core.preparation.surface_normals import outward_normals

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
