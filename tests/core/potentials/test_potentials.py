# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Ground, Scene, SoftBody, TetMesh
from supple.core.materials import MODELS, Linear, NeoHookean, StableNeoHookean
from supple.core.potentials import Elasticity, Inertia, Potential, TimeStep
from supple.core.system import System

CPU = torch.device("cpu")


def _system(mesh: TetMesh, material=None, **options) -> System:
    body = SoftBody(mesh, material or StableNeoHookean(1e4, 0.4))
    return System(Scene([body], **options), CPU, torch.float64)


def _shaken(system: System, spread: float = 0.03) -> torch.Tensor:
    rest = system.rest_positions()
    generator = torch.Generator().manual_seed(3)
    return rest + spread * torch.randn(rest.shape, generator=generator, dtype=torch.float64)


def _assert_gradient_matches_energy(potential: Potential, positions: torch.Tensor) -> None:
    gradient = potential.gradient(positions)
    generator = torch.Generator().manual_seed(4)
    for _ in range(5):
        direction = torch.randn(positions.shape, generator=generator, dtype=torch.float64)
        h = 1e-6
        rise = potential.energy(positions + h * direction) - potential.energy(
            positions - h * direction
        )
        slope = float((gradient * direction).sum())
        assert float(rise) / (2 * h) == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("model", MODELS.values())
def test_elastic_gradient_is_the_finite_difference_of_its_energy(make_block, model) -> None:
    system = _system(make_block(), model(1e4, 0.4))
    _assert_gradient_matches_energy(system.elasticities[0], _shaken(system))


def test_gravity_gradient_is_the_finite_difference_of_its_energy(make_block) -> None:
    system = _system(make_block())
    _assert_gradient_matches_energy(system.gravity, _shaken(system))


def test_ground_gradient_is_the_finite_difference_of_its_energy(make_block) -> None:
    system = _system(make_block(), ground=Ground(-0.05, distance=0.2))
    assert system.ground_barrier is not None
    positions = system.rest_positions()
    assert float(system.ground_barrier.energy(positions)) > 0
    _assert_gradient_matches_energy(system.ground_barrier, positions)


@pytest.mark.parametrize("model", MODELS.values())
def test_elastic_energy_and_forces_match_a_tet_by_tet_reference(make_block, model) -> None:
    mesh, material = make_block((2, 1, 1)), model(1e4, 0.4)
    system = _system(mesh, material)
    positions = _shaken(system)
    x = positions.T.numpy()
    energy, gradient = 0.0, np.zeros_like(x)
    for tet, volume in zip(mesh.tets, mesh.rest_volumes, strict=True):
        rest, now = (p[tet[1:]] - p[tet[0]] for p in (mesh.vertices, x))
        f = np.linalg.solve(rest, now).T
        stress = material.first_piola(torch.as_tensor(f)[None])[0].numpy()
        energy += volume * float(material.energy_density(torch.as_tensor(f)[None]))
        pulls = volume * stress @ np.linalg.inv(rest)
        gradient[tet[1:]] += pulls.T
        gradient[tet[0]] -= pulls.sum(axis=1)
    elastic: Elasticity = system.elasticities[0]
    assert float(elastic.energy(positions)) == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(elastic.gradient(positions).T.numpy(), gradient, atol=1e-8)


@pytest.mark.parametrize("model", [model for model in MODELS.values() if model is not Linear])
def test_the_compiled_loop_agrees_with_the_passes_to_rounding(make_block, model) -> None:
    system = _system(make_block(), model(123456.7, 0.4321))
    positions, elastic = _shaken(system), system.elasticities[0]
    assert elastic.kernel is not None
    compiled = elastic.gradient(positions)
    elastic.kernel = None
    passes = elastic.gradient(positions)
    assert float((compiled - passes).abs().max() / passes.abs().max()) < 1e-13


def test_elastic_forces_neither_push_nor_turn_the_body(make_block) -> None:
    system = _system(make_block())
    positions = _shaken(system)
    force = -system.elasticities[0].gradient(positions)
    torque = torch.linalg.cross(positions, force, dim=0).sum(1)
    assert float(force.sum(1).abs().max()) < 1e-8
    assert float(torque.abs().max()) < 1e-8


def test_bodies_of_one_model_share_one_potential_and_keep_their_own_stiffness(make_block) -> None:
    soft = SoftBody(make_block((1, 1, 1)), StableNeoHookean(1e3, 0.3))
    hard = SoftBody(make_block((1, 1, 1)), StableNeoHookean(1e6, 0.45))
    both = System(Scene([soft, hard]), CPU, torch.float64)
    assert len(both.elasticities) == 1
    alone = [System(Scene([body]), CPU, torch.float64) for body in (soft, hard)]
    positions = [_shaken(system) for system in alone]
    expected = torch.cat(
        [s.elasticities[0].gradient(x) for s, x in zip(alone, positions, strict=True)], dim=1
    )
    found = both.elasticities[0].gradient(torch.cat(positions, dim=1))
    torch.testing.assert_close(found, expected)


def test_bodies_of_different_models_each_get_their_own_potential(make_block) -> None:
    bodies = [SoftBody(make_block(), model(1e4, 0.3)) for model in (StableNeoHookean, NeoHookean)]
    assert len(System(Scene(bodies), CPU, torch.float64).elasticities) == 2


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
