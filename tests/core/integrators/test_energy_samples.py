# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of the energy that animation adds, against the integrals that they stand for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from supple.core import Channel, Goals, Scene, Simulator, SoftBody
from supple.core.integrators import Automatic
from supple.core.integrators.explicit_stepper import _sample_weight
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block


def _weights(steps: int, samples: int) -> np.ndarray:
    times = np.arange(steps + 1) / steps
    return np.array([_sample_weight(*ends, samples) for ends in pairwise(times)])


@pytest.mark.parametrize("samples", [3, 4, 6, 16])
@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 40, 1001])
def test_samples_stand_for_all_steps_of_a_frame(steps: int, samples: int) -> None:
    weights = _weights(steps, samples)
    assert weights.sum() == pytest.approx(steps)
    assert np.count_nonzero(weights) == min(steps, samples)


@pytest.mark.parametrize("steps", [4, 8, 16, 40])
def test_power_that_changes_evenly_and_jumps_within_a_frame_is_summed_exactly(steps: int) -> None:
    times = (np.arange(steps) + 0.5) / steps
    power = np.where(times < 0.5, 1.0 - 2.0 * times, 30.0 + 5.0 * times)
    assert (_weights(steps, 4) * power).mean() == pytest.approx(0.25 + 15.0 + 1.875)


def test_a_body_on_goals_that_turn_round_keeps_its_explicit_steps() -> None:
    """It comes to rest for a moment and then takes much more energy from its goals than it has."""
    mesh = block((2, 2, 2), (0.2, 0.2, 0.2), (0.0, 0.0, 0.0))
    # Two samples a frame: the way turns round in the middle of frame 9.
    times = np.arange(33) / 2.0
    way = 0.04 * (times - 8.5) ** 2
    targets = np.repeat(mesh.vertices[None], len(times), axis=0)
    targets[:, :, 0] += way[:, None]
    goals = Goals(
        np.arange(len(mesh.vertices)), Channel(targets, per_frame=2), 1.0, 6.0, sag_free=True
    )
    body = SoftBody(
        mesh, StableNeoHookean(1e4, 0.45), goals=goals, velocity=(-0.68 * 24.0, 0.0, 0.0)
    )
    simulator = Simulator(Scene([body]), Automatic())
    reports = [frame.report for frame in simulator.run(16)]
    assert {report.integrator for report in reports} == {"Symplectic Euler"}
    assert len({report.substeps for report in reports}) == 1
