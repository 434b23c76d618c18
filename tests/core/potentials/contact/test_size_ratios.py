# SPDX-License-Identifier: GPL-3.0-or-later
"""Test small bodies beside large ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.tests.core.touching import checked
from supple.verification.meshes import block

SIDE, LARGE = 0.01, 10.0
REACH = 3e-3 * SIDE * 3.0**0.5
TABLE = Collider(np.array([[-50.0, -50, 0], [50, -50, 0], [0, 90, 0]]), [[0, 1, 2]])


def cube(side: float, young: float, origin: tuple[float, float, float], **options) -> SoftBody:
    return SoftBody(block((2, 2, 2), (side,) * 3, origin), StableNeoHookean(young, 0.3), **options)


def held(origin: tuple[float, float, float]) -> SoftBody:
    """A large cube that moves only at its lower side, and little."""
    vertices = cube(LARGE, 1e9, origin).mesh.vertices
    return cube(LARGE, 1e9, origin, pinned=np.flatnonzero(vertices[:, 2] > vertices[:, 2].min()))


def rested(others: list[SoftBody], colliders: list[Collider]) -> tuple[float, float]:
    """The height at which a small cube comes to rest above zero, and its creep to the side, in
    metres: it was let go a little above, and pulled aside by less than friction holds.
    """
    small = cube(SIDE, 1e5, (0.3, 0.4, 1.2 * REACH), damping=20.0)
    scene = Scene(
        [small, *others], colliders=colliders, contact=Contact(friction=0.5, stiffness=1e4)
    )
    scene.gravity = (0.2 * 9.81, 0.0, -9.81)
    simulator = Simulator(scene, ImplicitEuler(), device="cpu")
    aside = [float(frame.positions[0][:, 0].mean()) for frame in checked(simulator, 12)]
    lowest: torch.Tensor = simulator.state.positions[2, : len(small.mesh.vertices)].min()
    return float(lowest), aside[-1] - aside[-7]


#: What sticks creeps by less than 3e-4 diagonals a second; this is over six frames.
CREEP = 3e-4 * SIDE * 3.0**0.5 * 6.0 / 24.0


@pytest.fixture(scope="module")
def alone() -> float:
    height, crept = rested([], [TABLE])
    assert 0.5 * REACH < height < REACH
    assert 0.0 < crept < CREEP
    return height


@pytest.mark.parametrize("where", ["beside", "on"])
def test_a_small_body_rests_as_close_beside_and_on_a_large_one_as_alone(where, alone) -> None:
    if where == "beside":
        height, crept = rested([held((2.0, 0.0, 0.2))], [TABLE])
    else:
        height, crept = rested([held((-5.0, -5.0, -LARGE))], [])
    assert height == pytest.approx(alone, rel=5e-3)
    assert 0.0 < crept < CREEP


def test_a_small_body_lands_beside_a_large_one_without_being_pressed_flat() -> None:
    large = cube(LARGE, 1e7, (20.0, 0.0, 0.5), density=100.0)
    # It falls further in a step than it is high.
    small = cube(SIDE, 1e5, (0.0, 0.0, 0.02))
    scene = Scene([large, small], ground=Ground(), contact=Contact())
    frames = list(Simulator(scene, ImplicitEuler(), device="cpu").run(7))
    landed = frames[2:]
    # Searches from flat tets took hundreds each, and ended with rounding.
    assert all(frame.report.solver_statistics.converged for frame in frames)
    assert sum(frame.report.solver_statistics.iterations for frame in frames) <= 250
    heights = [frame.positions[1][:, 2] for frame in landed]
    assert all(float(z.max() - z.min()) > 0.95 * SIDE for z in heights)
