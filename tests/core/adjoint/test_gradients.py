# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients of energies on autograd's tape beside those that steps take."""

from __future__ import annotations

import pytest
import torch

from supple.core import Scene, SoftBody
from supple.core.adjoint.gradients import Gradients
from supple.core.materials import StableNeoHookean
from supple.core.potentials import TimeStep
from supple.core.potentials.height_floor import HeightFloor
from supple.core.system import System
from supple.verification.meshes import block


@pytest.mark.parametrize("height", [1.0, 0.3, 0.1, -0.1])
def test_flat_tets_are_pressed_as_steps_press_them(height: float) -> None:
    body = SoftBody(block((2, 2, 2)), StableNeoHookean(1e4, 0.4))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    gradients, part = Gradients(system, solved=True), system.solved_elasticities[0]
    count = len(part.tets)
    given = {
        "gravity": torch.zeros(1, 3, dtype=torch.float64),
        "mass": system.mass,
        "factor 0": torch.ones(1, dtype=torch.float64),
        "mu 0": torch.full((count,), float(part.material.mu), dtype=torch.float64),
        "lam 0": torch.full((count,), float(part.material.lam), dtype=torch.float64),
    }
    at = system.rest_positions() * torch.tensor([[1.3], [1.6], [height]], dtype=torch.float64)
    found = gradients.step_gradient(at, TimeStep(at, at, 1.0, 1.0, is_static=True), given, 0, 0.0)
    floor = HeightFloor(
        system.solved_elasticities, system.initial_positions, system.initially_inverted
    )
    expected = part.gradient(at) + floor.gradient(at)
    assert bool(floor.gradient(at).any()) == (height < 0.2)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-8)
