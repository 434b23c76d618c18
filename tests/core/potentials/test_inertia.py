# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core.potentials import Inertia, TimeStep

MASS = torch.tensor([2.0, 3.0, 0.0], dtype=torch.float64)
SECONDS, IMPULSE_TIME = 0.1, 0.04


@pytest.mark.parametrize("impulse_time", [IMPULSE_TIME, torch.full((3,), IMPULSE_TIME).double()])
def test_a_vertex_is_held_by_its_mass_over_the_step_and_the_time_of_impulses(impulse_time) -> None:
    inertia, predicted = Inertia(MASS), torch.ones(3, 3, dtype=torch.float64)
    inertia.begin_time_step(TimeStep(predicted - 1.0, predicted, SECONDS, impulse_time))
    away = torch.tensor([[0.0, 3.0, 0.0], [0.0, 0.0, 1.0], [0.0, 4.0, 0.0]], dtype=torch.float64)
    # 3 kg, 5 m from where it would be: m d / τσ in N, half of that times d in J.
    stiffness = 3.0 / 0.004
    assert float(inertia.energy(predicted + away)) == pytest.approx(0.5 * stiffness * 25.0)
    expected = torch.zeros_like(away)
    expected[:, 1] = stiffness * away[:, 1]
    torch.testing.assert_close(inertia.gradient(predicted + away), expected)
