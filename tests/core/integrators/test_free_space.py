# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that nothing moves: rounding is not motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import Automatic, Integrator, RungeKutta4, SymplecticEuler
from supple.core.materials import MODELS, Material, StableNeoHookean

WEIGHTLESS = (0.0, 0.0, 0.0)
CORNERS = np.array([[0.1, 0, 0], [1, 0.3, 0], [0, 1.1, 0], [0.1, 0.3, 0.7]])
EXPLICIT = [Automatic(), SymplecticEuler(), RungeKutta4()]

# What is out of the ordinary about a cube of 1.1 m, 162 tets, E = 1e5, ν = 0.3 at the origin.
CUBES: dict[str, dict[str, Any]] = {
    "an ordinary one": {},
    "of next to no mass": {"density": 1e-2},
    "of next to no stiffness": {"young": 1e-6},
    "that keeps its volume": {"poisson": 0.499},
    "of 1 mm": {"size": 1e-3, "young": 3e3},
    "of 1 km": {"size": 1e3},
    "far from the origin": {"away": 1e6, "young": 1e4},
}


@pytest.mark.parametrize("integrator", EXPLICIT, ids=lambda i: type(i).__name__)
@pytest.mark.parametrize("name", CUBES)
def test_a_cube_at_rest_takes_no_more_steps_from_frame_to_frame(
    make_block, integrator: Integrator, name: str
) -> None:
    asked = {"size": 1.0, "young": 1e5, "poisson": 0.3, "density": 1000.0, "away": 0.0}
    asked |= CUBES[name]
    body = SoftBody(
        # Coordinates that have no end in binary.
        make_block((3, 3, 3), (1.1 * asked["size"],) * 3, (asked["away"],) * 3),
        StableNeoHookean(asked["young"], asked["poisson"]),
        asked["density"],
    )
    _assert_calm(body, integrator)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_nor_does_a_single_tet_of_any_model(model: type[Material]) -> None:
    body = SoftBody(TetMesh(CORNERS, [[0, 1, 2, 3]]), model(1e5, 0.3))
    _assert_calm(body, SymplecticEuler())


def _assert_calm(body: SoftBody, integrator: Integrator) -> None:
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), integrator)
    chosen = simulator.stepper.substeps
    mesh = body.mesh
    assert isinstance(mesh, TetMesh)
    for frame in simulator.run(10):
        assert frame.report.substeps == chosen
    # Left alone it stays, but for what rounding makes of its wobble.
    known = torch.finfo(torch.float64).eps * float(np.abs(mesh.vertices).max())
    error = (frame.positions[0].double() - torch.as_tensor(mesh.vertices)).abs().max()
    assert float(error) < 1e6 * known
