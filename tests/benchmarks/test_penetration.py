# SPDX-License-Identifier: GPL-3.0-or-later
"""Check penetration depths of surfaces against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from supple.benchmarks.penetration import deepest_in_each_other, depths_below
from supple.verification.collider_meshes import bowl, sheet
from supple.verification.meshes import block

CUBE = block((4, 4, 4), (1.0, 1.0, 1.0))


def _beside(offset: tuple[float, float, float]) -> np.ndarray:
    return np.array([CUBE.vertices, CUBE.vertices + np.array(offset)])


def test_a_cube_that_overlaps_another_is_as_deep_in_it_as_its_face_is() -> None:
    assert deepest_in_each_other(_beside((0.93, 0.0, 0.1)), CUBE.surface) == pytest.approx(0.07)


def test_cubes_side_by_side_are_not_in_each_other() -> None:
    assert deepest_in_each_other(_beside((1.01, 0.3, 0.1)), CUBE.surface) == 0.0


def test_the_depth_below_a_sheet_is_the_height_turned_round_and_nothing_beside_its_rim() -> None:
    floor = sheet(height=0.2)
    points = np.array([[0.1, 0.3, 0.17], [0.4, -0.2, 0.5], [2.0, 0.0, 0.1]])
    depths = depths_below(points, floor.at(0), floor.triangles)
    np.testing.assert_allclose(depths, [0.03, -0.3, np.nan], atol=1e-12)


def test_the_depth_below_a_bowl_is_that_below_its_paraboloid() -> None:
    hollow = bowl(1.0, 0.5, 60, 180)
    # On the normal (-2 a x, 0, 1) of z = a x² at x = 0.4, a = 0.5.
    normal = np.array([-0.4, 0.0, 1.0]) / np.hypot(0.4, 1.0)
    points = np.array([0.4, 0.0, 0.08]) + np.array([[-0.05], [0.05]]) * normal
    depths = depths_below(points, hollow.at(0), hollow.triangles)
    np.testing.assert_allclose(depths, [0.05, -0.05], atol=5e-4)
