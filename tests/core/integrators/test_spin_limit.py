# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft bodies that spin fast turn only so far in a step."""

from __future__ import annotations

import math

import pytest
import torch

from supple.core import Scene, Simulator, SoftBody
from supple.core.integrators import SDIRK2
from supple.core.integrators.rigid_frames import RigidFrames
from supple.core.integrators.spin_limit import MAX_STEPS, MAX_TURN_RAD, SPEED_RATIO, SpinLimit
from supple.core.materials import StableNeoHookean
from supple.core.system import System
from supple.verification.meshes import block

SIZE, YOUNG, DENSITY = 0.2, 3e4, 1000.0
# Shear waves of a solid that keeps its volume, and the ball with the moments of inertia of the
# cube, whose squared arms are SIZE²/4 in the mean.
WAVE_SPEED = math.sqrt(YOUNG / (3.0 * DENSITY))
RADIUS = math.sqrt(5.0 / 3.0 * SIZE**2 / 4.0)
LIMIT = SPEED_RATIO * WAVE_SPEED / RADIUS


def cube(rate: float) -> SoftBody:
    return SoftBody(
        block((4, 4, 4), (SIZE, SIZE, SIZE)),
        StableNeoHookean(YOUNG, 0.45),
        density=DENSITY,
        angular_velocity=(0.0, rate, 0.0),
    )


@pytest.mark.parametrize(
    ("rate", "seconds", "parts"),
    [
        # The cube's lattice has some more inertia at its rim than a solid cube.
        (0.8 * LIMIT, 100.0, 1),
        (1.2 * LIMIT, 0.99 * MAX_TURN_RAD / (1.2 * LIMIT), 1),
        (1.2 * LIMIT, 2.5 * MAX_TURN_RAD / (1.2 * LIMIT), 3),
        (1.2 * LIMIT, 1e3, MAX_STEPS),
    ],
)
def test_a_step_is_as_long_as_its_fastest_soft_piece_turns(
    rate: float, seconds: float, parts: int
) -> None:
    scene = Scene([cube(rate)], gravity=(0.0, 0.0, 0.0))
    system = System(scene, torch.device("cpu"), torch.float64)
    limit = SpinLimit(system, RigidFrames(system))
    assert limit.step_size(system.initial_state(), seconds) == pytest.approx(1.0 / parts)


def test_a_frame_is_taken_in_equal_parts_unless_the_number_of_steps_is_given() -> None:
    rate = 24.0 * 2.5 * MAX_TURN_RAD
    assert rate > LIMIT
    scene = Scene([cube(rate)], gravity=(0.0, 0.0, 0.0))
    simulator = Simulator(scene, SDIRK2())
    (frame,) = simulator.run(1)
    assert frame.report.solver_statistics.steps == 3
    assert simulator.stepper.sample_fractions == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0])
    (given,) = Simulator(scene, SDIRK2(), substeps=1).run(1)
    assert given.report.solver_statistics.steps == 1
