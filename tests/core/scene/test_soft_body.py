# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the start of a body."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Scene, SceneError, Simulator, SoftBody
from supple.core.integrators import SymplecticEuler
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block

NOWHERE = (0.0, 0.0, 0.0)


def started(body: SoftBody, integrator=None) -> Simulator:
    return Simulator(Scene([body], gravity=NOWHERE), integrator, device="cpu")


def test_a_body_starts_with_its_velocity_and_spin_about_its_centre() -> None:
    """v + ω × (x − c): about z, what is ahead along x goes along y."""
    mesh = block((1, 1, 1), (2.0, 2.0, 2.0), (4.0, 0.0, 0.0))
    body = SoftBody(mesh, velocity=(1.0, 0.0, 0.5), angular_velocity=(0.0, 0.0, 3.0))
    velocities = started(body).frame().velocities[0].numpy()
    arms = mesh.vertices - (5.0, 1.0, 1.0)
    expected = np.stack([1.0 - 3.0 * arms[:, 1], 3.0 * arms[:, 0], 0.5 + 0.0 * arms[:, 0]], axis=1)
    np.testing.assert_allclose(velocities, expected, atol=1e-12)


def test_spin_is_about_the_centre_of_mass_of_the_shape_it_starts_in() -> None:
    mesh = block((2, 1, 1))
    moved = mesh.vertices * (2.0, 1.0, 1.0) + (0.0, 0.0, 7.0)
    body = SoftBody(mesh, angular_velocity=(1.0, 2.0, 3.0), initial_positions=moved)
    run = started(body)
    momentum = (run.system.mass * run.state.velocities).sum(1)
    torch.testing.assert_close(momentum, torch.zeros_like(momentum), rtol=0.0, atol=1e-9)


def test_a_body_that_spins_goes_on_turning() -> None:
    """About the diagonal that its tets share, an axis of its inertia."""
    mesh, axis = block((1, 1, 1)), np.ones(3) / math.sqrt(3.0)
    stiff, spin = StableNeoHookean(1e7, 0.3), tuple(2.0 * axis)
    *_, last = started(SoftBody(mesh, stiff, angular_velocity=spin), SymplecticEuler()).run(24)
    before, after = (x[1] - x.mean(axis=0) for x in (mesh.vertices, last.positions[0].numpy()))
    across = [arm - axis * (axis @ arm) for arm in (before, after)]
    turned = math.atan2(axis @ np.cross(*across), across[0] @ across[1])
    assert turned == pytest.approx(2.0, abs=0.02)


def test_pinned_vertices_do_not_spin() -> None:
    body = SoftBody(block((1, 1, 1)), angular_velocity=(0.0, 0.0, 2.0), pinned=np.array([0, 7]))
    speeds = started(body).frame().velocities[0].norm(dim=1)
    assert speeds[[0, 7]].tolist() == [0.0, 0.0]
    assert float(speeds.max()) > 1.0


def test_a_spin_that_is_no_vector_is_refused() -> None:
    with pytest.raises(SceneError, match="Soft body: the angular velocity must be three"):
        SoftBody(block(), angular_velocity=(0.0, float("nan"), 0.0))


def test_a_file_has_the_spin_and_none_where_there_is_none(tmp_path) -> None:
    path, mesh = tmp_path / "scene.json", block((1, 1, 1))
    save_scene(path, Scene([SoftBody(mesh, angular_velocity=(0.0, 0.0, 2.0))]), {})
    assert load_scene(path)[0].bodies[0].angular_velocity == (0.0, 0.0, 2.0)
    save_scene(path, Scene([SoftBody(mesh)]), {})
    assert "angular" not in path.read_text()
