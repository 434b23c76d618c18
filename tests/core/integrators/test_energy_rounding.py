# SPDX-License-Identifier: GPL-3.0-or-later
"""To how much an energy is known, of a tet whose every term has a closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Scene, SoftBody, TetMesh
from supple.core.integrators.stability import MARGIN_FACTOR, EnergyRounding
from supple.core.materials import StVenantKirchhoff
from supple.core.state import Energies
from supple.core.system import System

# μ = 1e5 and λ = 1.5e5 Pa; a corner cut off a cube of 2 m.
YOUNG, POISSON, MU, LAMBDA, VOLUME, DENSITY = 2.6e5, 0.3, 1e5, 1.5e5, 4.0 / 3.0, 30.0
# Of the gradients of its four shape functions, in 1/m².
SQUARES = 6.0 / 4.0
NOTHING = Energies(0.0, 0.0, 0.0, 0.0)


EPSILON = torch.finfo(torch.float64).eps


def rounding(tets: int = 1) -> EnergyRounding:
    corners = 2.0 * np.vstack([np.zeros(3), np.eye(3)])
    mesh = TetMesh(np.tile(corners, (tets, 1)), np.arange(4 * tets).reshape(tets, 4))
    body = SoftBody(mesh, StVenantKirchhoff(YOUNG, POISSON), DENSITY)
    scene = Scene([body], gravity=(0.0, 6.0, -8.0))
    return EnergyRounding(System(scene, torch.device("cpu"), torch.float64))


def at(farthest: float) -> torch.Tensor:
    return torch.tensor([[1.0, 0.0], [0.0, 0.5], [-farthest, 0.0]]).double() * (farthest > 0)


def test_what_cancels_at_rest_and_all_that_is_added_up_are_known_to_a_rounding() -> None:
    unit = MARGIN_FACTOR * EPSILON
    for tets in (1, 3):
        rest = rounding(tets).joules(NOTHING, at(0.0), 5)
        assert rest == pytest.approx(unit * tets * 2.0 * MU * VOLUME, rel=1e-6)
    more = rounding().joules(Energies(3e6, -5e6, 7e9, 11e6), at(0.0), 5)
    assert more == pytest.approx(unit * (2.0 * MU * VOLUME + 19e6), rel=1e-6)


def test_far_away_weight_and_strain_are_known_to_a_rounding_of_the_place() -> None:
    unit, far = MARGIN_FACTOR * EPSILON, 1e3
    weight, strained = 10.0 * DENSITY * VOLUME, 2.0 * MU * VOLUME * math.sqrt(SQUARES)
    near, away = (rounding().joules(NOTHING, at(x), 0) for x in (0.0, far))
    assert away - near == pytest.approx(unit * far * (weight + strained), rel=1e-6)


def test_each_step_moves_vertices_by_a_rounding_of_the_place() -> None:
    still, moved = (rounding().joules(NOTHING, at(1e12), k) for k in (0, 7))
    step = EPSILON * 1e12
    energy = (LAMBDA + 2.0 * MU) * VOLUME * SQUARES * step * step
    assert moved - still == pytest.approx(7 * MARGIN_FACTOR * energy, rel=1e-5)


@pytest.mark.parametrize("kinetic", [math.inf, math.nan])
def test_what_has_no_number_hides_no_growth(kinetic) -> None:
    energies = Energies(kinetic, 0.0, 0.0, 0.0)
    assert rounding().joules(energies, at(1.0), 5) == 0.0
