# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes whose surfaces come so close that numbers hardly tell them apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.tests.core.touching import check_apart
from supple.verification.meshes import block

pytest.importorskip("ipctk")

TET = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def run(scene: Scene, frames: int) -> Simulator:
    """Every frame ends, and in none anything intersects."""
    simulator = Simulator(scene, ImplicitEuler(), device="cpu")
    for frame in simulator.run(frames):
        check_apart(simulator)
        assert torch.isfinite(simulator.state.positions).all()
        # Retries included, the work of a frame is bounded.
        assert frame.report.substeps <= 8
    return simulator


@pytest.mark.parametrize("young", [1e3, 5e4])
def test_a_small_cube_falls_on_one_a_thousand_times_as_wide(young) -> None:
    material = StableNeoHookean(young, 0.4)
    large = block((1, 1, 1), (1.0, 1.0, 1.0), (-0.5, -0.5, 0.01))
    small = block((1, 1, 1), (1e-3, 1e-3, 1e-3), (0.1, 0.05, 1.02))
    assert len(small.tets) == 6
    bodies = [SoftBody(large, material), SoftBody(small, material)]
    run(Scene(bodies, ground=Ground(), contact=Contact()), 8)


def test_a_heap_of_single_tets_falls_together() -> None:
    random = np.random.default_rng(5)
    bodies = []
    for index in range(5):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        corners = 0.2 * (TET - 0.25) @ turn + [0.03 * index, 0.02 * index, 0.3 + 0.3 * index]
        bodies.append(SoftBody(TetMesh(corners, [[0, 1, 2, 3]]), StableNeoHookean(5e4, 0.4)))
    run(Scene(bodies, ground=Ground(), contact=Contact()), 14)


@pytest.mark.parametrize("gap", [1e-10, 1e-8])
def test_a_point_all_but_in_a_triangle_is_pushed_out(gap) -> None:
    corners = np.array([[0.0, 0, gap], [0.3, 0, 1], [-0.2, 0.3, 1], [-0.2, -0.3, 1]])
    floor = Collider(np.array([[-5.0, -5, 0], [5, -5, 0], [0, 9, 0]]), [[0, 1, 2]])
    body = SoftBody(TetMesh(corners, [[0, 1, 2, 3]]), StableNeoHookean(5e4, 0.4))
    simulator = run(Scene([body], colliders=[floor], contact=Contact(friction=0.0)), 6)
    assert float(simulator.state.positions[2].min()) > 1e-5
