# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.tet_mesh import TetMesh
from supple.core.meshing.lattice_loops import measure, write_descent
from supple.verification.meshes import block

TARGET, POWER, STIFFNESS, REACH = 0.42, 4, 60.0, 0.4


@pytest.fixture
def bent() -> tuple[TetMesh, np.ndarray, np.ndarray]:
    """Tets of an edge of about one, targets, and normals of some of the vertices."""
    mesh = block((2, 2, 1), size=(2.0, 2.0, 1.0))
    random = np.random.default_rng(5)
    vertices = mesh.vertices + random.normal(0.0, 0.08, mesh.vertices.shape)
    normals = random.normal(size=vertices.shape)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    normals[::3] = 0.0
    return TetMesh(vertices, mesh.tets), vertices + random.normal(0.0, 0.1, vertices.shape), normals


def slopes(mesh: TetMesh, targets: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """The (N, 3) gradient of the energy, by finite differences."""
    found, step = np.empty_like(mesh.vertices), 1e-6
    for index in np.ndindex(*found.shape):
        sides = []
        for sign in (1.0, -1.0):
            moved = mesh.vertices.copy()
            moved[index] += sign * step
            sides.append(measure(moved, mesh.tets, targets, normals))
        found[index] = (sides[0] - sides[1]) / (2.0 * step)
    return found


def test_altitudes_and_distances_from_planes_cost(bent) -> None:
    mesh, targets, normals = bent
    altitudes = 1.0 / np.linalg.norm(mesh.shape_gradients, axis=2)
    away = ((mesh.vertices - targets) * normals).sum(axis=1)
    expected = ((TARGET / altitudes) ** (2 * POWER)).sum() + STIFFNESS * (away**2).sum()
    assert measure(mesh.vertices, mesh.tets, targets, normals) == pytest.approx(expected)


def test_a_tet_that_is_turned_inside_out_costs_more_than_anything(bent) -> None:
    mesh, targets, normals = bent
    turned = mesh.vertices * (1.0, 1.0, -1.0)
    assert measure(turned, mesh.tets, targets, normals) == np.inf


def test_the_direction_is_that_of_newton_and_no_longer_than_tets_are_thick(bent) -> None:
    mesh, targets, normals = bent
    count = len(mesh.vertices)
    limits, diagonals, found = np.empty(count), np.empty(count), np.empty((count, 3))
    write_descent(mesh.vertices, mesh.tets, targets, normals, limits, diagonals, found)

    gradients = mesh.shape_gradients
    products = gradients @ gradients.swapaxes(1, 2)
    first = POWER * TARGET**8 * np.einsum("maa->ma", products) ** 3
    factors = (4 * POWER - 2) * first / np.einsum("maa->ma", products)
    seconds = np.einsum("ma,mab->mb", factors, products**2)
    thinnest = np.full(count, np.inf)
    altitudes = 1.0 / np.linalg.norm(gradients, axis=2)
    np.minimum.at(thinnest, mesh.tets, altitudes.min(axis=1)[:, None])
    hessians = np.bincount(mesh.tets.ravel(), seconds.ravel())[:, None, None] * np.eye(3)
    hessians += 2.0 * STIFFNESS * normals[:, :, None] * normals[:, None, :]
    expected = np.linalg.solve(hessians, -slopes(mesh, targets, normals)[:, :, None])[:, :, 0]
    lengths = np.linalg.norm(expected, axis=1)
    is_shortened = lengths > REACH * thinnest
    assert 0 < is_shortened.sum() < count
    expected[is_shortened] *= (REACH * thinnest / lengths)[is_shortened, None]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
