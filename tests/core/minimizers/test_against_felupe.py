# SPDX-License-Identifier: GPL-3.0-or-later
"""Static cantilevers on one mesh, by this code and by felupe, an independent one."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core import Scene, Simulator, SoftBody
from supple.core.materials import MODELS, Linear
from supple.verification.felupe_rest import rest_positions
from supple.verification.laws import law_of

DENSITY, GRAVITY = 1000.0, 9.81


@pytest.mark.parametrize("poisson", [0.3, 0.45])
@pytest.mark.parametrize("model", MODELS)
def test_a_cantilever_bends_as_it_does_in_an_independent_code(
    make_block, model: str, poisson: float
) -> None:
    mesh = make_block((8, 2, 2), (0.8, 0.2, 0.2))
    clamped = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    body = SoftBody(mesh, MODELS[model](2e5, poisson), DENSITY, pinned=clamped)
    rest = Simulator(Scene([body], gravity=(0.0, 0.0, -GRAVITY))).settle()
    weight = (0.0, 0.0, -DENSITY * GRAVITY)
    expected = rest_positions(mesh, clamped, law_of(model, 2e5, poisson), weight)
    deflection = float(np.abs(expected - mesh.vertices).max())
    assert deflection > 0.2  # far from small strain
    np.testing.assert_allclose(rest.positions[0].numpy(), expected, atol=1e-6 * deflection)


def test_the_linear_cantilever_sinks_as_in_another_independent_code(make_block) -> None:
    # On this mesh, of its tip on average, in metres.
    mesh = make_block((8, 2, 2), (0.8, 0.2, 0.2))
    clamped = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    body = SoftBody(mesh, Linear(2e5, 0.3), DENSITY, pinned=clamped)
    rest = Simulator(Scene([body], gravity=(0.0, 0.0, -GRAVITY))).settle()
    tip = mesh.vertices[:, 0] == 0.8
    sunk = (mesh.vertices - rest.positions[0].numpy())[tip, 2]
    assert sunk.mean() == pytest.approx(0.412614559, rel=1e-6)
