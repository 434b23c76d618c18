# SPDX-License-Identifier: GPL-3.0-or-later
"""Test that the filled part of a tet scales its mass, stiffness and viscosity, in every kind of
step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import XPBD, ImplicitEuler, SymplecticEuler
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import CorotatedLinear, Linear, StableNeoHookean
from supple.core.system import System


def half_filled(mesh: TetMesh) -> TetMesh:
    return TetMesh(mesh.vertices, mesh.tets, np.full(len(mesh.tets), 0.5))


def final_positions(mesh: TetMesh, material, integrator) -> np.ndarray:
    pinned = np.flatnonzero(mesh.vertices[:, 0] == 0.0).astype(np.int32)
    body = SoftBody(mesh, material, pinned=pinned, viscosity=20.0, stiffness_damping=1e-3)
    if isinstance(integrator, XPBD):
        body = replace(body, viscosity=0.0, stiffness_damping=0.0)
    *_, last = Simulator(Scene([body]), integrator, device="cpu").run(4)
    return last.positions[0].numpy()


@pytest.mark.parametrize("material", [StableNeoHookean(1e4, 0.4), CorotatedLinear(1e4, 0.3)])
@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler()])
def test_a_body_filled_by_half_moves_as_a_full_one(make_block, material, integrator) -> None:
    mesh = make_block((4, 2, 2), (1.0, 0.3, 0.3))
    full = final_positions(mesh, material, integrator)
    assert np.abs(full - mesh.vertices).max() > 0.01
    half = final_positions(half_filled(mesh), material, integrator)
    np.testing.assert_allclose(half, full, atol=1e-6)


def test_constraints_of_a_body_filled_by_half_are_as_soft(make_block) -> None:
    mesh, material = make_block((4, 2, 2), (1.0, 0.3, 0.3)), StableNeoHookean(1e4, 0.4)
    full = final_positions(mesh, material, XPBD())
    half = final_positions(half_filled(mesh), material, XPBD())
    np.testing.assert_allclose(half, full, atol=1e-9)


@pytest.mark.parametrize("model", [StableNeoHookean, CorotatedLinear, Linear])
def test_each_tet_is_as_stiff_as_it_is_filled(make_block, model) -> None:
    mesh = make_block((3, 2, 2))
    fill = np.random.default_rng(7).uniform(0.1, 1.0, len(mesh.tets))
    filled = TetMesh(mesh.vertices, mesh.tets, fill)
    moved = mesh.vertices + 0.05 * np.random.default_rng(8).normal(size=mesh.vertices.shape)
    positions = torch.as_tensor(np.ascontiguousarray(moved.T))
    gradients = []
    for own, young in ((filled, 1e4), (mesh, 1e4 * fill)):
        scene = Scene([SoftBody(own, model(young, 0.4))], gravity=(0.0, 0.0, 0.0))
        out = torch.zeros_like(positions)
        System(scene, torch.device("cpu"), torch.float64).add_gradient(positions, out)
        gradients.append(out.numpy())
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-9, atol=1e-9)


def test_a_file_keeps_what_of_each_tet_is_filled(make_block, tmp_path) -> None:
    mesh = half_filled(make_block())
    save_scene(tmp_path / "scene.json", Scene([SoftBody(mesh)]), {})
    scene, _ = load_scene(tmp_path / "scene.json")
    np.testing.assert_array_equal(scene.bodies[0].mesh.fill, mesh.fill)


def test_a_mesh_with_other_vertices_is_filled_as_much(make_block) -> None:
    mesh = half_filled(make_block((2, 1, 1)))
    twice = mesh.with_vertices(2.0 * mesh.vertices)
    np.testing.assert_allclose(twice.material_volumes, 8.0 * mesh.material_volumes)
    np.testing.assert_array_equal(twice.tets, mesh.tets)
