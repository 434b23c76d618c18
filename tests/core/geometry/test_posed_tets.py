# SPDX-License-Identifier: GPL-3.0-or-later
"""Tets that follow the points they carry."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.embedding import embed
from supple.core.geometry.posed_tets import posed_vertices
from supple.core.geometry.tet_mesh import signed_volumes
from supple.verification.meshes import block

TURN = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
TURN *= np.sign(np.linalg.det(TURN))


def bent(points: np.ndarray, per_metre: float) -> np.ndarray:
    """A bar along x bent upwards about an axis along y, its middle as long as it was."""
    angle, radius = per_metre * points[:, 0], 1.0 / per_metre
    arm = radius - (points[:, 2] - 0.5)
    return np.stack([arm * np.sin(angle), points[:, 1], radius - arm * np.cos(angle)], axis=1)


@pytest.fixture(scope="module")
def bar():
    mesh = block((12, 3, 3), (4.0, 1.0, 1.0))
    return mesh, mesh.vertices[np.unique(mesh.surface)]


def test_a_body_that_is_turned_is_turned_as_a_whole(bar):
    mesh, points = bar
    found = posed_vertices(mesh, embed(mesh, points), points @ TURN.T + 3.0)
    np.testing.assert_allclose(found, mesh.vertices @ TURN.T + 3.0, atol=1e-12)


def test_a_bar_that_is_bent_is_bent_inside_and_no_tet_is_flat(bar):
    mesh, points = bar
    embedding = embed(mesh, points)
    found = posed_vertices(mesh, embedding, bent(points, 0.5))
    np.testing.assert_allclose(embedding.interpolate(found), bent(points, 0.5), atol=1e-4)
    np.testing.assert_allclose(found, bent(mesh.vertices, 0.5), atol=1e-2)
    assert (signed_volumes(found, mesh.tets) / mesh.rest_volumes).min() > 0.6


def test_a_bar_known_at_its_ends_alone_turns_in_between(bar):
    """Beyond what carries points a body keeps its shape: the ends are turned against each other
    by half a turn, and lengths along the bar stay."""
    mesh, _ = bar
    ends = mesh.vertices[np.isin(mesh.vertices[:, 0], (0.0, 4.0))]
    angle = np.pi / 4.0 * ends[:, 0] / 4.0
    y, z = ends[:, 1] - 0.5, ends[:, 2] - 0.5
    twisted = np.stack(
        [
            ends[:, 0],
            0.5 + y * np.cos(angle) - z * np.sin(angle),
            0.5 + y * np.sin(angle) + z * np.cos(angle),
        ],
        axis=1,
    )
    found = posed_vertices(mesh, embed(mesh, ends), twisted)
    middle = np.isclose(mesh.vertices[:, 0], 2.0)
    arms = (mesh.vertices[middle] - (2.0, 0.5, 0.5))[:, 1:]
    half = np.pi / 8.0
    rotation = np.array([[np.cos(half), -np.sin(half)], [np.sin(half), np.cos(half)]])
    np.testing.assert_allclose(found[middle, 1:] - 0.5, arms @ rotation.T, atol=0.02)


def test_the_size_of_a_body_makes_no_difference(bar):
    mesh, points = bar
    small = mesh.with_vertices(0.01 * mesh.vertices)
    pose = bent(points, 0.5)
    found = posed_vertices(small, embed(small, 0.01 * points), 0.01 * pose)
    expected = posed_vertices(mesh, embed(mesh, points), pose)
    np.testing.assert_allclose(100.0 * found, expected, atol=3e-6)


def test_no_tet_takes_a_mirror_image_for_a_turn(bar):
    """Else the inside would be mirrored with the skin, without any resistance."""
    mesh, points = bar
    mirror = np.array([1.0, -1.0, 1.0])
    found = posed_vertices(mesh, embed(mesh, points), mirror * points)
    assert np.abs(found - mirror * mesh.vertices).max() > 1e-2
