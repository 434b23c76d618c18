# SPDX-License-Identifier: GPL-3.0-or-later
"""The viscosity of a body for which nobody has chosen one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from supple.core import Scene, Simulator, SoftBody
from supple.core.integrators import Adaptive
from supple.core.materials import Linear
from supple.core.preparation.sag import default_viscosity
from supple.verification.meshes import block

YOUNG, DENSITY, HEIGHT, SWINGS = 2e4, 1000.0, 1.0, 3


def energy_left(loss_factor: float) -> float:
    """The energy of a wide block that shears from its foot, after some swings, in joules."""
    mesh = block((10, 1, 5), (10.0, 1.0, HEIGHT))
    heights = mesh.vertices[:, 2]
    bent = mesh.vertices.copy()
    bent[:, 0] += 1e-3 * np.sin(0.5 * math.pi * heights / HEIGHT)
    body = SoftBody(
        mesh,
        Linear(YOUNG, 0.0),
        DENSITY,
        pinned=np.flatnonzero(heights == 0.0).astype(np.int32),
        viscosity=default_viscosity(HEIGHT, YOUNG, 0.0, DENSITY, loss_factor),
        initial_positions=bent,
    )
    swing = 4.0 * HEIGHT / math.sqrt(0.5 * YOUNG / DENSITY)
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    (frame,) = Simulator(scene, Adaptive(), frame_time=SWINGS * swing).run(1)
    return frame.report.energies.kinetic + frame.report.energies.elastic


def test_the_slowest_wobble_loses_what_the_loss_factor_says() -> None:
    # Its free ends bend a little, too.
    left = energy_left(0.03) / energy_left(0.0)
    assert left == pytest.approx(math.exp(-2.0 * math.pi * 0.03 * SWINGS), rel=0.05)


def test_what_is_larger_stiffer_or_heavier_is_more_viscous() -> None:
    one = default_viscosity(1.0, 1e4, 0.25, 1000.0)
    assert one == pytest.approx(0.02 * math.sqrt(4e3 * 1000.0) * 2.0 / math.pi)
    assert default_viscosity(2.0, 1e4, 0.25, 1000.0) == pytest.approx(2.0 * one)
    assert default_viscosity(1.0, 4e4, 0.25, 1000.0) == pytest.approx(2.0 * one)
    assert default_viscosity(1.0, 1e4, 0.25, 4000.0) == pytest.approx(2.0 * one)
    assert default_viscosity(1.0, 1e4, 0.25, 1000.0, 0.04) == pytest.approx(2.0 * one)
