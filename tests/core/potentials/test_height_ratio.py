# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the height ratios of tets against closed forms and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from supple.core import Scene, SoftBody
from supple.core.materials import StableNeoHookean
from supple.core.potentials.height_floor import HeightRatios, height_derivatives_of, height_ratios
from supple.core.system import System
from supple.verification.meshes import block

RANDOM = np.random.default_rng(3)
#: Some with the wrong side out.
GRADIENTS = RANDOM.normal(size=(20, 3, 3))


def value(f: np.ndarray) -> np.ndarray:
    return HeightRatios(f).values


def of_stretches(*stretches: float) -> float:
    """Turned, before and after."""
    first, second = Rotation.random(2, random_state=4).as_matrix()
    return float(value((first @ np.diag(stretches) @ second)[None])[0])


def test_at_rest_it_is_one_and_scales_with_size() -> None:
    assert of_stretches(1.0, 1.0, 1.0) == pytest.approx(1.0, rel=1e-6)
    assert of_stretches(0.3, 0.3, 0.3) == pytest.approx(0.3, rel=1e-4)
    assert of_stretches(0.5, 0.5, -0.5) == pytest.approx(-0.5, rel=1e-5)


@pytest.mark.parametrize("stretches", [(1.0, 1.0, 0.2), (2.0, 1.5, 0.07), (3.0, 0.4, 0.2)])
def test_it_is_volume_over_the_root_mean_square_of_areas(stretches) -> None:
    a, b, c = stretches
    area = math.sqrt(((a * b) ** 2 + (b * c) ** 2 + (c * a) ** 2) / 3.0)
    assert of_stretches(*stretches) == pytest.approx(a * b * c / area, rel=1e-5)


def test_a_flat_tet_is_as_flat_wherever_it_spreads() -> None:
    for wide in (1.0, 2.0, 5.0):
        assert of_stretches(wide, wide, 0.01) == pytest.approx(0.01 * math.sqrt(3.0), rel=2e-4)


def test_a_tet_that_is_a_line_has_no_height_and_is_pushed_nowhere() -> None:
    line = HeightRatios(np.diag([2.0, 0.0, 0.0])[None])
    assert float(line.values[0]) == 0.0
    assert not line.gradients.any()


def test_derivatives_are_finite_differences() -> None:
    step, found = 1e-6, HeightRatios(GRADIENTS)
    for entry in range(9):
        shift = step * np.eye(9)[entry].reshape(3, 3)
        ahead, behind = HeightRatios(GRADIENTS + shift), HeightRatios(GRADIENTS - shift)
        slope = (ahead.values - behind.values) / (2.0 * step)
        np.testing.assert_allclose(found.gradients.reshape(-1, 9)[:, entry], slope, atol=1e-7)
        change = (ahead.gradients - behind.gradients).reshape(-1, 9) / (2.0 * step)
        np.testing.assert_allclose(found.hessians[:, entry], change, atol=1e-5)


def test_passes_give_the_same() -> None:
    ratios, slopes = height_derivatives_of(torch.as_tensor(GRADIENTS.transpose(1, 2, 0)))
    found = HeightRatios(GRADIENTS)
    np.testing.assert_allclose(ratios, found.values, rtol=1e-12)
    np.testing.assert_allclose(slopes.permute(2, 0, 1), found.gradients, atol=1e-12)


def ratios_of_a_body() -> np.ndarray:
    body = SoftBody(block((2, 2, 2)), StableNeoHookean(1e4, 0.4))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    flat = system.rest_positions() * torch.tensor([[1.0], [1.5], [0.2]], dtype=torch.float64)
    return height_ratios(system.elasticities[0].tets, flat).numpy()


def test_compiled_loops_give_what_passes_give(without_compiled_loops) -> None:
    np.testing.assert_allclose(ratios_of_a_body(), of_stretches(1.0, 1.5, 0.2), rtol=1e-12)


def test_compiled_loops_give_it_of_every_tet() -> None:
    np.testing.assert_allclose(ratios_of_a_body(), of_stretches(1.0, 1.5, 0.2), rtol=1e-12)
