# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from supple.core import Channel, Scene, Simulator, SoftBody, TetMesh
from supple.core.materials import (
    MODELS,
    CorotatedLinear,
    Linear,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.verification.meshes import block

YOUNG, POISSON = 2e5, 0.3
MU = YOUNG / (2.0 * (1.0 + POISSON))


def stress_at(gradient, material, mesh: TetMesh | None = None) -> np.ndarray:
    """(M,) the von Mises stress of a box under a deformation gradient."""
    mesh = mesh or block((2, 1, 1))
    deformed = mesh.vertices @ np.asarray(gradient, dtype=float).T
    scene = Scene([SoftBody(mesh, material, initial_positions=deformed)])
    return Simulator(scene, results=("von_mises",)).frame().fields["von_mises"][0].numpy()


def turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ np.array(
        [[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]
    )


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_stress_of_a_bar_pulled_a_little_is_young_times_strain(model) -> None:
    strain = 1e-5
    gradient = np.diag([1.0 + strain, 1.0 - POISSON * strain, 1.0 - POISSON * strain])
    stress = stress_at(gradient, model(YOUNG, POISSON))
    np.testing.assert_allclose(stress, YOUNG * strain, rtol=1e-4)


def test_the_stress_of_what_is_held_goes_with_its_keyed_stiffness() -> None:
    strain, factors = 1e-5, [2.0, 3.0, 0.5]
    mesh, material = block((2, 1, 1)), StableNeoHookean(YOUNG, 0.0)
    along = mesh.vertices[:, 0]
    body = SoftBody(
        *(mesh, material),
        pinned=np.flatnonzero((along == along.min()) | (along == along.max())),
        initial_positions=mesh.vertices * [1.0 + strain, 1.0, 1.0],
        stiffness=Channel(factors),
    )
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    simulator = Simulator(scene, results=("von_mises",), device="cpu")
    start = simulator.state
    for factor, frame in zip(factors, [simulator.frame(), *simulator.run(2)], strict=True):
        stress = frame.fields["von_mises"][0].numpy()
        np.testing.assert_allclose(stress, factor * YOUNG * strain, rtol=1e-4)
    # A state is stressed by the stiffness that it had.
    simulator.state = start
    found = simulator.frame().fields["von_mises"][0].numpy()
    np.testing.assert_allclose(found, factors[0] * YOUNG * strain, rtol=1e-4)


@pytest.mark.parametrize("stretch", [0.6, 1.7])
def test_the_stress_of_a_bar_pulled_far_is_that_of_the_closed_form(stretch) -> None:
    # Free sides: μ (t² − 1) + λ ln J = 0; then σ = μ (s² − t²) / J along the bar.
    lam = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))
    across = brentq(lambda t: MU * (t * t - 1.0) + lam * np.log(stretch * t * t), 0.3, 2.0)
    expected = MU * abs(stretch**2 - across**2) / (stretch * across**2)
    gradient = turn(0.7) @ np.diag([stretch, across, across])
    stress = stress_at(gradient, NeoHookean(YOUNG, POISSON))
    np.testing.assert_allclose(stress, expected, rtol=1e-10)


def test_a_small_shear_has_the_root_of_three_times_its_stress() -> None:
    gradient = np.eye(3)
    gradient[0, 1] = 1e-3
    stress = stress_at(gradient, Linear(YOUNG, POISSON))
    np.testing.assert_allclose(stress, np.sqrt(3.0) * MU * 1e-3, rtol=1e-10)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_pressure_alone_is_no_von_mises_stress(model) -> None:
    assert stress_at(1.1 * np.eye(3), model(YOUNG, POISSON)).max() < 1e-8 * YOUNG


@pytest.mark.parametrize("model", [CorotatedLinear, NeoHookean, StableNeoHookean])
def test_a_turned_body_has_no_stress(model) -> None:
    assert stress_at(turn(1.2), model(YOUNG, POISSON)).max() < 1e-8 * YOUNG


def test_what_is_filled_by_half_is_stressed_as_what_is_full() -> None:
    mesh, gradient = block((2, 1, 1)), np.diag([1.4, 0.9, 0.8])
    fill = np.linspace(0.1, 1.0, len(mesh.tets))
    own = TetMesh(mesh.vertices, mesh.tets, fill)
    material = StableNeoHookean(YOUNG, POISSON)
    full = stress_at(gradient, material, mesh)
    np.testing.assert_allclose(stress_at(gradient, material, own), full, rtol=1e-12)


def test_a_flat_tet_has_a_finite_stress() -> None:
    stress = stress_at(np.diag([1.2, 1.0, 0.0]), StVenantKirchhoff(YOUNG, POISSON))
    assert np.isfinite(stress).all()
    assert stress.min() > 0.0
