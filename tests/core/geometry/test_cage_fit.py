# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices whose refinement is nearest to given points."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry import cage_fit
from supple.core.geometry.cage_fit import CAGE_WEIGHT, CageFit, harmonic_extension
from supple.core.geometry.embedding import Embedding
from supple.verification.meshes import irregular_block

VERTICES, POINTS = 12, 60


@pytest.fixture
def refinement() -> Embedding:
    """Points of up to five vertices each, whose weights sum to one; one vertex is in none."""
    random = np.random.default_rng(1)
    indices = np.argsort(random.random((POINTS, VERTICES - 1)), axis=1)[:, :5].astype(np.int32)
    weights = random.random((POINTS, 5)) * (random.random((POINTS, 5)) < 0.7)
    weights[:, 0] += 1.0
    return Embedding(indices, weights / weights.sum(axis=1, keepdims=True))


def matrix(refinement: Embedding) -> np.ndarray:
    dense = np.zeros((POINTS, VERTICES))
    np.put_along_axis(dense, refinement.indices.astype(int), refinement.weights, axis=1)
    return dense


@pytest.fixture
def places(refinement: Embedding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A cage, where points are wanted, and normals."""
    random = np.random.default_rng(2)
    cage = random.normal(size=(VERTICES, 3))
    points = refinement.interpolate(cage) + 0.1 * random.normal(size=(POINTS, 3))
    normals = random.normal(size=(POINTS, 3))
    return cage, points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def least_squares(refinement: Embedding, cage: np.ndarray, points: np.ndarray) -> np.ndarray:
    dense = matrix(refinement)
    products = dense.T @ dense
    weights = CAGE_WEIGHT * np.diag(np.where(np.diag(products) > 0.0, np.diag(products), 1.0))
    return np.linalg.solve(products + weights, dense.T @ points + weights @ cage)


@pytest.mark.parametrize("chunk", [7, 1_000_000])
def test_it_is_the_least_squares(refinement, places, monkeypatch, chunk) -> None:
    monkeypatch.setattr(cage_fit, "ROUNDS", 0)
    monkeypatch.setattr(cage_fit, "ITERATIONS", 2 * VERTICES)
    monkeypatch.setattr(cage_fit, "_CHUNK_TERMS", chunk)
    cage, points, normals = places
    found = CageFit(refinement, VERTICES).fitted(cage, points, normals)
    np.testing.assert_allclose(found, least_squares(refinement, cage, points), atol=1e-12)
    np.testing.assert_array_equal(found[-1], cage[-1])


def test_a_few_iterations_are_almost_there(refinement, places, monkeypatch) -> None:
    monkeypatch.setattr(cage_fit, "ROUNDS", 0)
    cage, points, normals = places
    found = CageFit(refinement, VERTICES).fitted(cage, points, normals)
    exact = least_squares(refinement, cage, points)
    assert np.abs(found - exact).max() < 0.05 * np.abs(cage - exact).max()


def test_points_outside_are_asked_for_as_far_inside_again(refinement, places, monkeypatch) -> None:
    monkeypatch.setattr(cage_fit, "ITERATIONS", 2 * VERTICES)
    monkeypatch.setattr(cage_fit, "ROUNDS", 2)
    cage, points, normals = places
    wanted, vertices = points, least_squares(refinement, cage, points)
    for _ in range(2):
        outside = ((refinement.interpolate(vertices) - points) * normals).sum(axis=1)
        wanted = wanted - 2.0 * np.maximum(outside, 0.0)[:, None] * normals
        vertices = least_squares(refinement, cage, wanted)
    found = CageFit(refinement, VERTICES).fitted(cage, points, normals)
    np.testing.assert_allclose(found, vertices, atol=1e-10)


def test_what_the_cage_follows_exactly_is_left_alone(refinement, places) -> None:
    cage, _, normals = places
    found = CageFit(refinement, VERTICES).fitted(cage, refinement.interpolate(cage), normals)
    np.testing.assert_allclose(found, cage, atol=1e-14)


def test_linear_values_are_found_exactly() -> None:
    mesh = irregular_block((4, 4, 4))
    wanted = mesh.vertices @ np.array([[2.0, 1.0], [-3.0, 0.0], [5.0, 0.0]]) + [7.0, -1.0]
    boundary = np.unique(mesh.surface)
    assert len(boundary) < len(mesh.vertices)
    found = harmonic_extension(mesh, boundary, wanted[boundary])
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_inside_nothing_is_beyond_the_values_on_the_boundary() -> None:
    mesh = irregular_block((5, 5, 5), seed=3)
    boundary = np.unique(mesh.surface)
    values = np.random.default_rng(1).integers(0, 2, (len(boundary), 1)).astype(float)
    found = harmonic_extension(mesh, boundary, values)
    assert found.min() == 0.0
    assert found.max() == 1.0
    inside = np.setdiff1d(np.arange(len(mesh.vertices)), boundary)
    assert np.ptp(found[inside]) < 0.9


def test_a_boundary_of_which_nothing_is_known_lets_nothing_through(make_block) -> None:
    """From end to end of a bar whose sides are free: linear all the same."""
    mesh = make_block((8, 2, 2), (2.0, 0.5, 0.5))
    ends = np.flatnonzero(np.isin(mesh.vertices[:, 0], (0.0, 2.0)))
    found = harmonic_extension(mesh, ends, 3.0 * mesh.vertices[ends, :1])
    np.testing.assert_allclose(found, 3.0 * mesh.vertices[:, :1], atol=1e-8)
