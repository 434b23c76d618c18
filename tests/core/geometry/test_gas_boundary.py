# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the surface on which gas inside of a body presses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from supple.core import TetMesh
from supple.core.geometry.gas_boundary import enclosed_volumes, gas_boundary
from supple.verification.meshes import block, hollow_ball, irregular_block


def gas_volume(mesh: TetMesh) -> float:
    triangles, weights = gas_boundary(mesh)
    return float((weights * enclosed_volumes(mesh.vertices, triangles)).sum())


def area_vector(mesh: TetMesh) -> np.ndarray:
    """Zero where the weighted triangles are closed."""
    triangles, weights = gas_boundary(mesh)
    a, b, c = mesh.vertices[triangles].swapaxes(0, 1)
    return (weights[:, None] * np.cross(b - a, c - a)).sum(axis=0)


def test_a_solid_body_is_gas_all_through() -> None:
    mesh = irregular_block()
    assert gas_volume(mesh) == pytest.approx(1.0)
    assert len(gas_boundary(mesh)[0]) == len(mesh.surface)


def test_a_hollow_alone_has_the_gas() -> None:
    mesh = hollow_ball(0.5, 1.0)
    triangles, _ = gas_boundary(mesh)
    assert np.linalg.norm(mesh.vertices[triangles], axis=2).max() == pytest.approx(0.5)
    assert gas_volume(mesh) == pytest.approx(4.0 / 3.0 * math.pi * 0.5**3, rel=0.04)


def test_a_bubble_is_no_hollow() -> None:
    mesh = hollow_ball(0.05, 1.0, divisions=1)
    assert gas_volume(mesh) == pytest.approx(mesh.rest_volumes.sum())


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_wall_that_pinches_to_an_edge_keeps_gas_in(axis: int) -> None:
    """A cube of 3 × 3 × 3, without the one in the middle and one that shares an edge with it."""
    mesh = block((3, 3, 3), (3.0, 3.0, 3.0))
    notch = np.where(np.arange(3) == axis, 1.5, 2.5)
    middles = mesh.vertices[mesh.tets].mean(axis=1)
    is_empty = np.zeros(len(middles), dtype=bool)
    for empty in (np.full(3, 1.5), notch):
        is_empty |= (np.abs(middles - empty) < 0.5).all(axis=1)
    used, tets = np.unique(mesh.tets[~is_empty], return_inverse=True)
    pinched = TetMesh(mesh.vertices[used], tets.reshape(-1, 4))
    assert gas_volume(pinched) == pytest.approx(1.0)
    assert area_vector(pinched) == pytest.approx(np.zeros(3), abs=1e-12)


def test_of_two_bodies_in_one_the_hollow_one_has_the_gas() -> None:
    ball, cube = hollow_ball(0.5, 1.0), block((1, 1, 1), origin=(5.0, 0.0, 0.0))
    both = TetMesh(
        np.concatenate([ball.vertices, cube.vertices]),
        np.concatenate([ball.tets, cube.tets + len(ball.vertices)]),
    )
    assert gas_volume(both) == pytest.approx(gas_volume(ball))


def test_tets_that_are_partly_filled_count_by_what_is_of_the_body() -> None:
    mesh = irregular_block()
    fill = np.random.default_rng(0).uniform(0.1, 1.0, len(mesh.tets))
    partly = TetMesh(mesh.vertices, mesh.tets, fill)
    assert gas_volume(partly) == pytest.approx(partly.material_volumes.sum())
    assert area_vector(partly) == pytest.approx(np.zeros(3), abs=1e-12)


def test_tets_over_each_other_have_a_closed_boundary() -> None:
    """Two tets on the same side of a face, whose boundary that is twice."""
    vertices = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.2, 0.2, 1), (0.3, 0.3, 1.5), (0.2, 0.2, -1)]
    tets = [(0, 1, 2, 3), (0, 1, 2, 4), (0, 2, 1, 5)]
    mesh = TetMesh(vertices, tets, np.ones(3))
    assert gas_volume(mesh) == pytest.approx((1.0 + 1.5 + 1.0) / 6.0)
    assert area_vector(mesh) == pytest.approx(np.zeros(3), abs=1e-12)
