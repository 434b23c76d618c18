# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest

from supple.verification.hertz_ball import Ball
from supple.verification.meshes import block, graded_ball, irregular_block, on_faces


def test_an_irregular_block_keeps_its_surface_and_its_volume() -> None:
    mesh, regular = irregular_block((3, 3, 3)), block((3, 3, 3))
    moved = np.flatnonzero((mesh.vertices != regular.vertices).any(axis=1))
    assert len(moved) == 8
    assert not np.isin(moved, mesh.surface).any()
    assert mesh.rest_volumes.sum() == pytest.approx(1.0)


def test_the_two_faces_of_a_block_are_found() -> None:
    mesh = block((2, 3, 4), (1.0, 1.0, 1.0))
    assert set(mesh.vertices[on_faces(mesh, 0), 0]) == {0.0, 1.0}
    assert len(on_faces(mesh, 0)) == 2 * 4 * 5


@pytest.mark.parametrize("grading", [1.0, 8.0])
def test_a_graded_ball_is_one_whatever_its_grading(grading: float) -> None:
    mesh = graded_ball(0.1, 8, grading)
    distance = np.linalg.norm(mesh.vertices, axis=1)
    surface = np.unique(mesh.surface)
    np.testing.assert_allclose(distance[surface], 0.1, rtol=1e-12)
    assert distance.max() == pytest.approx(0.1)
    assert len(mesh.tets) == 8 * 8**3
    assert len(mesh.surface) == 8 * 8**2
    # Inscribed: a little smaller, more so where its far side is coarse.
    assert 0.75 < mesh.rest_volumes.sum() / (4.0 / 3.0 * math.pi * 0.1**3) < 1.0


def test_a_graded_ball_is_finest_at_its_south_pole() -> None:
    def step_inwards(grading: float) -> float:
        mesh = graded_ball(1.0, 8, grading)
        axis = np.abs(mesh.vertices[:, :2]).max(axis=1) < 1e-9
        heights = np.sort(mesh.vertices[axis, 2])
        assert heights[0] == pytest.approx(-1.0)
        return float(heights[1] - heights[0])

    assert step_inwards(1.0) / step_inwards(8.0) == pytest.approx(8.0, rel=0.2)


def test_the_contact_radius_and_approach_are_hertzs() -> None:
    ball = Ball(0.1, 1e6, 0.3, 10.0)
    assert ball.contact_radius == pytest.approx(8.804e-3, rel=1e-4)
    assert ball.half_space_approach == pytest.approx(0.775e-3, rel=1e-3)


def test_the_whole_ball_comes_nearer_to_the_half_space_as_the_contact_shrinks() -> None:
    # A first-order correction: half the contact radius, half of it.
    missing = []
    for force in (80.0, 10.0):
        ball = Ball(0.1, 1e6, 0.3, force)
        missing.append(1.0 - ball.approach() / ball.half_space_approach)
    assert missing[0] / missing[1] == pytest.approx(2.0, abs=0.2)
    assert 0.0 < missing[1] < 0.1
