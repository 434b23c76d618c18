# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the distance of XPBD from the solution that it approximates; docs/physics.md has the
figures.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import XPBD
from supple.core.materials import StableNeoHookean, StVenantKirchhoff

WEIGHTLESS = (0.0, 0.0, 0.0)
BOTH = pytest.mark.parametrize("model", [StableNeoHookean, StVenantKirchhoff])


def _stretched(make_block, model, young: float = 1e4, amount: float = 0.05, **options) -> SoftBody:
    mesh = make_block()
    start = mesh.vertices * [1.0 + amount, 1.0, 1.0]
    return SoftBody(mesh, model(young, 0.3), initial_positions=start, **options)


def _energy(model, mesh: TetMesh, young: float, poisson: float, x: torch.Tensor) -> torch.Tensor:
    """The energy of elasticity and weight in J, as the papers write it, without the code's
    functions.
    """
    rest = torch.as_tensor(mesh.vertices)
    tets = torch.as_tensor(mesh.tets, dtype=torch.int64)
    at_rest, now = (p[tets[:, 1:]] - p[tets[:, :1]] for p in (rest, x))
    f = torch.linalg.solve(at_rest, now).mT
    volumes = torch.linalg.det(at_rest) / 6.0
    mu = young / 2.0 / (1.0 + poisson)
    lam = young * poisson / (1.0 + poisson) / (1.0 - 2.0 * poisson)
    if model is StVenantKirchhoff:
        strain = 0.5 * (f.mT @ f - torch.eye(3, dtype=x.dtype))
        trace = strain.diagonal(dim1=1, dim2=2).sum(1)
        density = mu * strain.square().sum((1, 2)) + 0.5 * lam * trace.square()
    else:
        a, b, c = f.unbind(2)
        hydrostatic = (torch.linalg.cross(a, b) * c).sum(1) - 1.0 - mu / (lam + mu)
        density = 0.5 * mu * f.square().sum((1, 2)) + 0.5 * (lam + mu) * hydrostatic.square()
    height = x[tets][:, :, 2].mean(1)
    return (volumes * (density + 1000.0 * 9.81 * height)).sum()


def _least(model, mesh: TetMesh, young: float, poisson: float, held: np.ndarray) -> np.ndarray:
    """The minimum by Newton's method on the dense Hessian."""
    x = torch.as_tensor(mesh.vertices)
    free = torch.as_tensor(np.setdiff1d(np.arange(len(x)), held))

    def energy(moving: torch.Tensor) -> torch.Tensor:
        return _energy(model, mesh, young, poisson, x.index_put((free,), moving.view(-1, 3)))

    moving = x[free].reshape(-1)
    for _ in range(20):
        gradient = torch.autograd.functional.jacobian(energy, moving)
        if float(gradient.abs().max()) < 1e-8:
            return x.index_put((free,), moving.view(-1, 3)).numpy()
        hessian = torch.autograd.functional.hessian(energy, moving)
        moving = moving - torch.linalg.solve(hessian, gradient)
    raise AssertionError("Newton's method has not converged")


@BOTH
@pytest.mark.parametrize("poisson", [0.0, 0.4])
def test_short_steps_hang_where_the_energy_is_least(make_block, model, poisson: float) -> None:
    mesh = make_block((1, 1, 3), (0.3, 0.3, 0.9))
    held = np.flatnonzero(mesh.vertices[:, 2] > 0.89)
    expected = _least(model, mesh, 3e4, poisson, held)
    sag = float(np.abs(expected - mesh.vertices).max())
    assert sag > 0.1
    body = SoftBody(mesh, model(3e4, poisson), pinned=held, damping=8.0)

    def error(substeps: int) -> float:
        *_, last = Simulator(Scene([body]), XPBD(), substeps=substeps).run(96)
        assert last.report.energies.kinetic < 1e-12
        return float(np.abs(last.positions[0].numpy() - expected).max()) / sag

    coarse, fine = error(50), error(400)
    assert fine < 1e-4
    # Too soft by the square of the step.
    assert coarse / fine == pytest.approx(64.0, rel=0.1)


# Sag of the cantilever over that of ``settle``.
SAGS = [
    (StableNeoHookean, 2e5, 0.3, (1.085, 1.012, 1.007)),
    (StableNeoHookean, 2e6, 0.45, (2.681, 1.128, 1.008)),
    (StVenantKirchhoff, 2e5, 0.3, (1.033, 1.002, 1.000)),
    (StVenantKirchhoff, 2e6, 0.45, (2.209, 1.088, 1.005)),
]


@pytest.mark.parametrize(("model", "young", "poisson", "expected"), SAGS)
def test_a_cantilever_sags_more_than_it_should_at_long_steps(
    make_block, model, young: float, poisson: float, expected: tuple[float, ...]
) -> None:
    mesh = make_block((8, 2, 2), (0.8, 0.2, 0.2))
    clamped = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    tip = mesh.vertices[:, 0] == 0.8
    body = SoftBody(mesh, model(young, poisson), pinned=clamped, damping=10.0)

    def sag(positions: torch.Tensor) -> float:
        return float((mesh.vertices - positions.numpy())[tip, 2].mean())

    exact = sag(Simulator(Scene([body])).settle().positions[0])
    found = []
    for substeps in (20, 80, 320):
        *_, last = Simulator(Scene([body]), XPBD(), substeps=substeps).run(36)
        found.append(sag(last.positions[0]) / exact)
    assert found == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("young", "ratio"), [(1e4, 0.72), (1e5, 0.11), (1e6, 0.0)])
def test_an_undamped_vibration_loses_energy_the_stiffer_the_sooner(
    make_block, young: float, ratio: float
) -> None:
    body = _stretched(make_block, StableNeoHookean, young)
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD(), substeps=20)
    before = simulator.system.energies(simulator.state).total
    *_, last = simulator.run(24)
    assert last.report.energies.total / before == pytest.approx(ratio, abs=0.005)


@BOTH
def test_the_turning_that_comes_from_nowhere_falls_with_the_step(make_block, model) -> None:
    # Each tet takes the others' moves of the same step for where it was.
    def turning(substeps: int) -> float:
        body = _stretched(make_block, model, amount=0.3)
        simulator = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD(), substeps=substeps)
        *_, last = simulator.run(4)
        momentum = simulator.system.mass[:, None] * last.velocities[0]
        return float(torch.linalg.cross(last.positions[0], momentum).sum(0).norm())

    coarse, fine = turning(20), turning(320)
    assert fine < coarse / 8.0
