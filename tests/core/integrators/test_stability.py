# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Scene, SoftBody, TetMesh
from supple.core.integrators.stability import spectrum, spectrum_at
from supple.core.materials import StableNeoHookean
from supple.core.minimizers.incremental_potential import IncrementalPotential
from supple.core.system import System
from supple.tests.core.dense import dense
from supple.verification.meshes import block

CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.45])
def test_the_highest_frequency_is_the_root_of_the_largest_dense_eigenvalue(poisson: float) -> None:
    material = StableNeoHookean(1e5, poisson)
    mesh = TetMesh(CORNER, [[0, 1, 2, 3]])
    system = System(Scene([SoftBody(mesh, material)]), torch.device("cpu"), torch.float64)
    b = mesh.shape_gradients[0]
    mu, lam = material.mu, material.lam
    stiffness = np.zeros((4, 3, 4, 3))
    for p in range(4):
        for q in range(4):
            stiffness[p, :, q, :] = mesh.rest_volumes[0] * (
                lam * np.outer(b[p], b[q])
                + mu * np.outer(b[q], b[p])
                + mu * (b[p] @ b[q]) * np.eye(3)
            )
    mass = 1000.0 * mesh.rest_volumes[0] / 4
    highest = np.linalg.eigvalsh(stiffness.reshape(12, 12))[-1] / mass
    assert spectrum(system).frequency == pytest.approx(math.sqrt(highest), rel=1e-3)


def test_the_longest_wave_period_scales_with_edge_over_wave_speed(make_block) -> None:
    def period(size: float, young: float) -> float:
        body = SoftBody(make_block(size=(size, size, size)), StableNeoHookean(young, 0.3))
        return 1.0 / spectrum(System(Scene([body]), torch.device("cpu"), torch.float64)).frequency

    assert period(2.0, 1e4) / period(1.0, 1e4) == pytest.approx(2.0, rel=1e-3)
    assert period(1.0, 1e4) / period(1.0, 1e6) == pytest.approx(10.0, rel=1e-3)


@pytest.mark.parametrize("stretch", [0.5, 1.0, 2.0])
def test_what_is_deformed_vibrates_as_its_dense_hessian_there_says(stretch: float) -> None:
    body = SoftBody(block((3, 2, 2), (0.3, 0.2, 0.2), (0.0, 0.0, 0.0)), StableNeoHookean(1e5, 0.4))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    positions = system.rest_positions()
    positions[0] *= stretch
    objective = IncrementalPotential(system, with_contact=False)
    # Of so long a step that inertia adds nothing.
    objective.begin_static_step(positions, 1e9, 1e9)
    hessian = objective.hessian(positions, False)
    mass = system.mass[objective.pattern.vertices].repeat_interleave(3)
    scaled = dense(hessian).reshape(len(mass), len(mass)) / (mass[:, None] * mass).sqrt()
    highest = float(torch.linalg.eigvalsh(scaled)[-1])
    assert spectrum_at(system, positions).frequency == pytest.approx(math.sqrt(highest), rel=0.06)


def test_viscous_forces_of_what_is_stretched_grow_with_the_square_of_its_length() -> None:
    """The rate of Green's strain goes with the stretch, and so does the force that answers it."""
    body = SoftBody(
        block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.0)),
        StableNeoHookean(1e5, 0.0),
        viscosity=50.0,
    )
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    rest = system.rest_positions()
    ratio = spectrum_at(system, 2.0 * rest).viscous_rate / spectrum_at(system, rest).viscous_rate
    assert ratio == pytest.approx(4.0, rel=0.05)
