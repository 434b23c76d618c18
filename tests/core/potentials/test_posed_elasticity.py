# SPDX-License-Identifier: GPL-3.0-or-later
"""Elasticity whose rest shape follows a pose, against that of a mesh made in the pose."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Goals, Scene, Simulator, SoftBody, TetMesh
from supple.core.assembly.tensor_channel import TensorChannel
from supple.core.integrators import SymplecticEuler
from supple.core.materials import CorotatedLinear, NeoHookean, StableNeoHookean
from supple.core.potentials import Elasticity
from supple.core.potentials.posed_elasticity import MIN_REST_STRETCH, PosedElasticity
from supple.verification.meshes import block

MESH = block((2, 2, 2), (0.5, 0.4, 0.3), (0.0, 0.0, 0.0))
COUNT = len(MESH.vertices)
TEMPLATE = torch.zeros(COUNT + 1, dtype=torch.float64)
MATERIALS = [StableNeoHookean(1e4, 0.4), NeoHookean(1e4, 0.4), CorotatedLinear(1e4, 0.4)]


def bent(angle: float) -> np.ndarray:
    """The mesh around an axis along y, and stretched a little."""
    x, y, z = MESH.vertices.T
    radius, turn = 0.6 - z, angle * x
    return np.stack([radius * np.sin(turn), 1.1 * y, 0.6 - radius * np.cos(turn)], axis=1)


def posed(*poses: np.ndarray, material=MATERIALS[0]) -> PosedElasticity:
    samples = torch.as_tensor(np.stack(poses).swapaxes(1, 2))
    # A vertex of another body comes first.
    return PosedElasticity(material, 1, MESH, TEMPLATE, TensorChannel(samples))


def placed(points: np.ndarray) -> torch.Tensor:
    positions = torch.full((3, COUNT + 1), 7.0, dtype=torch.float64)
    positions[:, 1:] = torch.as_tensor(points.T)
    return positions


def shaken(points: np.ndarray, size: float = 0.02) -> torch.Tensor:
    return placed(points + size * np.random.default_rng(1).standard_normal(points.shape))


@pytest.mark.parametrize("material", MATERIALS, ids=lambda one: type(one).__name__)
def test_it_is_that_of_a_body_that_was_made_in_the_pose(material) -> None:
    energy = posed(MESH.vertices, bent(1.5), material=material)
    energy.go_to(1, 0.0)
    made = Elasticity(material, [(1, TetMesh(bent(1.5), MESH.tets))], TEMPLATE)
    positions = shaken(bent(1.5))
    assert float(energy.energy(positions)) == pytest.approx(float(made.energy(positions)))
    found, expected = energy.gradient(positions), made.gradient(positions)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9 * float(expected.abs().max()))
    assert float(energy.tets.volume_ratios(placed(bent(1.5))).sub(1.0).abs().max()) < 1e-12
    # What CUDA would take.
    passes = torch.zeros_like(found)
    energy.passes.add_gradient(positions, passes)
    torch.testing.assert_close(passes, expected, rtol=1e-9, atol=1e-9 * float(passes.abs().max()))


def test_passes_over_arrays_make_the_same_rest_shapes(monkeypatch) -> None:
    positions, squeezed = shaken(bent(1.5)), bent(1.5) * [0.1, 1.0, 1.0]
    for pose in (bent(1.5), squeezed):
        expected = posed(MESH.vertices, pose)
        expected.go_to(1, 0.0)
        with monkeypatch.context() as patch:
            patch.setattr("supple.core.assembly.tets.runs_loops", lambda _: False)
            patch.setattr("supple.core.potentials.elasticity.has_kernel", lambda *_: False)
            found = posed(MESH.vertices, pose)
            found.go_to(1, 0.0)
            torch.testing.assert_close(
                found.gradient(positions), expected.gradient(positions), rtol=1e-9, atol=1e-9
            )
            assert float(found.energy(positions)) == pytest.approx(
                float(expected.energy(positions))
            )


@pytest.mark.parametrize("squash", [1.0, 0.1, 0.0, -0.7], ids=str)
def test_a_pose_is_an_equilibrium_however_it_squeezes_tets(squash: float) -> None:
    pose = bent(1.5) * [squash, 1.0, 1.0]
    energy = posed(MESH.vertices, pose)
    energy.go_to(1, 0.0)
    size = float(energy.gradient(shaken(pose)).abs().max())
    assert float(energy.gradient(placed(pose)).abs().max()) < 1e-10 * size
    rest = energy.tets.volumes / torch.as_tensor(MESH.rest_volumes)
    assert float(rest.min()) > 0.9 * MIN_REST_STRETCH**2


def test_a_change_of_the_pose_brings_in_the_difference_of_the_energies() -> None:
    energy = posed(MESH.vertices, bent(1.0))
    positions = shaken(bent(0.5))
    before, after = energy.at(0, 0.25), energy.at(0, 0.5)
    energy.go_to(0, 0.25)
    first = float(energy.energy(positions))
    change = float(energy.energy_change(before, after, positions))
    # It is as it was.
    assert float(energy.energy(positions)) == first
    energy.go_to(0, 0.5)
    assert change == pytest.approx(float(energy.energy(positions)) - first)
    assert change != 0.0


@pytest.mark.parametrize("squash", [1.0, 0.1, -0.7], ids=str)
def test_a_change_between_two_poses_is_the_difference_of_two_energies(squash: float) -> None:
    energy = posed(MESH.vertices, bent(1.5) * [squash, 1.0, 1.0])
    positions = shaken(bent(0.5))
    ends = energy.at(0, 0.9), energy.at(0, 1.0)
    first, second = (float(energy.energy_with(end, positions)) for end in ends)
    assert second != first
    change = float(energy.change(*ends, positions))
    assert change == pytest.approx(second - first, rel=1e-9, abs=1e-12 * abs(first))


def test_half_as_large_it_vibrates_twice_as_fast() -> None:
    assert posed(MESH.vertices, 2.0 * MESH.vertices).frequency_ratio == 1.0
    ratio = posed(MESH.vertices, 0.5 * MESH.vertices).frequency_ratio
    assert ratio == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("squash", [1.0, 0.25, 0.1, 0.0, -0.7], ids=str)
@pytest.mark.parametrize("material", MATERIALS[:2], ids=lambda one: type(one).__name__)
def test_rest_shapes_that_are_never_written_are_the_same(material, squash: float) -> None:
    pose = bent(1.5) * [squash, 1.0, 1.0]
    energy = posed(MESH.vertices, pose, material=material)
    energy.go_to(1, 0.0)
    positions = shaken(pose, 0.01)
    unwritten, gradient = float(energy.energy(positions)), energy.gradient(positions)
    assert energy.kernel is not None and energy.tets.rest_changes > 0
    assert unwritten == pytest.approx(float(energy.energy(positions)), rel=1e-10)
    written = torch.zeros_like(positions)
    energy.kernel.add_gradient(positions, written)
    if energy._held is not None:
        written -= energy._balance
    size = float(gradient.abs().max())
    torch.testing.assert_close(gradient, written, rtol=1e-9, atol=1e-10 * size)


def test_a_change_of_one_pose_for_another_counts_held_tets(monkeypatch) -> None:
    squeezed = bent(1.0) * [0.05, 1.0, 1.0]
    energy = posed(MESH.vertices, squeezed)
    positions = shaken(0.5 * (MESH.vertices + squeezed), 0.01)
    before, after = energy.at(0, 0.5), energy.at(0, 1.0)
    change = float(energy.change(before, after, positions))
    energies = []
    for parameters in (before, after):
        energy.act(parameters)
        assert energy.tets.rest_changes > 0  # written, as other integrators have them
        energies.append(float(energy.energy(positions)))
    assert change == pytest.approx(energies[1] - energies[0], rel=1e-9)


@pytest.mark.parametrize("material", MATERIALS, ids=lambda one: type(one).__name__)
def test_where_poissons_ratio_is_limited_forces_stay_the_slope_of_the_energy(material) -> None:
    pose = bent(1.5) * [0.1, 1.0, 1.0]
    energy = posed(MESH.vertices, pose, material=material)
    energy.go_to(1, 0.0)
    assert energy.tets.rest_changes > 0
    energy.limit_poisson(torch.ones(len(MESH.tets), dtype=torch.bool), 0.1)
    positions = shaken(pose, 0.002)
    direction = placed(np.random.default_rng(2).standard_normal(pose.shape))
    direction[:, 0] = 0.0
    for _ in range(2):
        slope = float((energy.gradient(positions) * direction).sum())
        ends = [float(energy.energy(positions + sign * 1e-6 * direction)) for sign in (1.0, -1.0)]
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope, rel=1e-5)
        assert energy.tets.rest_changes > 0  # written: as implicit steps have them
    force = energy.gradient(placed(pose))
    assert float(force.abs().max()) < 1e-10 * float(energy.gradient(positions).abs().max())


@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_viscosity_reads_the_rest_shapes_of_the_pose_without_asking(damping: float) -> None:
    path = np.stack([MESH.vertices, 2.0 * MESH.vertices])
    goals = Goals(np.arange(COUNT), path, 1.0, 3.0, sag_free=True)
    body = SoftBody(MESH, MATERIALS[0], goals=goals, stiffness_damping=damping)
    system = Simulator(Scene([body]), SymplecticEuler(), device="cpu").system
    (elasticity,) = system.elasticities
    assert isinstance(elasticity, PosedElasticity)
    elasticity.act(elasticity.at(1, 0.0))
    volumes = float(elasticity._tets.volumes.sum())
    assert volumes == pytest.approx((8.0 if damping else 1.0) * MESH.rest_volumes.sum())
    assert float(elasticity.tets.volumes.sum()) == pytest.approx(8.0 * MESH.rest_volumes.sum())
