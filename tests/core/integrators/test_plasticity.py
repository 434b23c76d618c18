# SPDX-License-Identifier: GPL-3.0-or-later
"""Bars that are pulled beyond their yield stress and let go, and what a run keeps of that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from supple.core import Ground, JobError, Plasticity, Scene, Simulator, SoftBody
from supple.core.assembly.block_matrix import BlockMatrix
from supple.core.assembly.tensor_channel import TensorChannel
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Adaptive,
    Automatic,
    ImplicitEuler,
    Integrator,
    SymplecticEuler,
)
from supple.core.integrators.explicit_stepper import ExplicitStepper
from supple.core.materials import StableNeoHookean
from supple.core.potentials import Potential, PrescribedPotential
from supple.core.system import System
from supple.verification.meshes import block

#: What is pulled so little beyond its yield stress tells whether hardening counts.
YOUNG, YIELD, HARDENING = 1e6, 5e3, 3e5
LENGTH, DAMPING = 0.2, 1e-3


@dataclass(frozen=True)
class Grips:
    """Springs that draw the ends of a bar along x, free across it, by strains: a sample a frame."""

    strains: tuple[float, ...]

    def potential(self, system: System) -> Potential:
        return _Held(torch.tensor(self.strains).to(system.mass), system)


class _Held(PrescribedPotential):
    def __init__(self, strains: Tensor, system: System) -> None:
        super().__init__(TensorChannel(strains[:, None]))
        self._rest = system.rest_positions()[0]
        tets = system.elasticities[0].tets
        # In proportion to the area that each pulls at, so that all of the bar stretches alike.
        areas = torch.zeros_like(self._rest)
        areas.index_add_(
            0, tets.corners.ravel(), (tets.volumes * tets.shape_gradients[:, 0]).ravel()
        )
        self._stiffness = 4e8 * areas.abs()

    def _way(self, positions: Tensor) -> Tensor:
        return positions[0] - self._rest * (1.0 + self.parameters[0])

    def energy(self, positions: Tensor) -> Tensor:
        return 0.5 * (self._stiffness * self._way(positions).square()).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out[0] += self._stiffness * self._way(positions)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        blocks = torch.zeros(len(self._rest), 9).to(positions)
        blocks[:, 0] = self._stiffness
        matrix.add_diagonal_blocks(torch.arange(len(self._rest)), blocks)


def bar(*strains: float, **settings: Any) -> Scene:
    mesh = block((2, 1, 1), (LENGTH, 0.1, 0.1), (0, 0, 0))
    plasticity = Plasticity(**{"yield_stress": YIELD, "hardening": HARDENING, **settings})
    material = StableNeoHookean(YOUNG, 0.3)
    body = SoftBody(mesh, material, stiffness_damping=DAMPING, plasticity=plasticity)
    return Scene([body], gravity=(0.0, 0.0, 0.0), forces=[Grips(strains)] if strains else [])


def simulator(scene: Scene, integrator: Integrator, **options: Any) -> Simulator:
    return Simulator(scene, integrator, frame_time=0.02, device="cpu", **options)


def strain_of(frame: Any) -> float:
    """Logarithmic, of the bar, which may have turned."""
    x = block((2, 1, 1), (LENGTH, 0.1, 0.1), (0, 0, 0)).vertices[:, 0]
    points = frame.positions[0].double().numpy()
    way = points[x > LENGTH - 1e-6].mean(axis=0) - points[x < 1e-6].mean(axis=0)
    return math.log(float(np.linalg.norm(way)) / LENGTH)


def held_and_left(strain: float, integrator: Integrator, **options: Any) -> tuple[float, float]:
    """The strain of a bar that is slowly pulled and held, and after it is let go."""
    pulled = simulator(bar(*np.linspace(0.0, strain, 9), strain), integrator, **options)
    *_, held = pulled.run(9)
    free = simulator(bar(), integrator, **options)
    free.state = replace(pulled.state, previous=None)
    *_, left = free.run(3)
    return strain_of(held), strain_of(left)


def plastic_strain(strain: float) -> float:
    """The plastic strain α of a bar that is held at a strain: α where E (|ε| − α) = Y + H α,
    with the sign of ε."""
    return math.copysign((YOUNG * abs(strain) - YIELD) / (YOUNG + HARDENING), strain)


@pytest.mark.parametrize(
    "integrator",
    [SymplecticEuler(), ImplicitEuler(), BDF2(), SDIRK2()],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("strain", [0.05, -0.05], ids=["pulled", "pressed"])
def test_a_bar_keeps_the_strain_beyond_its_yield_stress(integrator, strain) -> None:
    held, left = held_and_left(strain, integrator)
    assert left == pytest.approx(plastic_strain(held), rel=0.025)
    # 30 % of it would have been elastic.
    assert 0.6 < left / held < 0.8


def test_the_static_solve_flows_too() -> None:
    run = simulator(bar(0.05), ImplicitEuler())
    expected = plastic_strain(strain_of(run.settle()))
    (part,) = run.system.elasticities
    strains = run.system.plastic_flow.strains_of(part, run.state.plastic).numpy()
    np.testing.assert_allclose(strains, expected, rtol=0.01)
    released = simulator(bar(), ImplicitEuler())
    released.state = run.state
    assert strain_of(released.settle()) == pytest.approx(expected, rel=0.01)


INTEGRATORS = [SymplecticEuler(), ImplicitEuler(), BDF2(), SDIRK2(), Adaptive(), Automatic()]


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda value: type(value).__name__)
def test_below_the_yield_stress_the_bits_are_those_of_an_elastic_body(integrator) -> None:
    scene = bar(0.0, 0.5 * YIELD / YOUNG)
    elastic = Scene(
        [replace(scene.bodies[0], plasticity=None)], gravity=scene.gravity, forces=scene.forces
    )
    ends = []
    for each in (scene, elastic):
        *_, last = simulator(each, integrator).run(3)
        ends.append(last.positions[0])
    assert ends[0].equal(ends[1])
    assert strain_of(last) > 0.2 * YIELD / YOUNG


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda value: type(value).__name__)
def test_a_run_that_is_resumed_has_the_same_bits(integrator) -> None:
    at_once = Simulator(clay_that_falls(), integrator, device="cpu")
    *_, whole = at_once.run(6)
    before = Simulator(clay_that_falls(), integrator, device="cpu")
    for _ in before.run(3):
        pass
    arrays = {name: values.copy() for name, values in before.state.to_arrays().items()}
    assert arrays["plastic"][9].max() > 0.01
    after = Simulator(clay_that_falls(), integrator, device="cpu")
    after.restore(3, arrays)
    assert after.frame().report.energies == before.frame().report.energies
    *_, resumed = after.run(3)
    assert resumed.positions[0].equal(whole.positions[0])
    # What other bodies flow by is refused.
    with pytest.raises(JobError, match="plastic"):
        after.restore(3, {**arrays, "plastic": arrays["plastic"][:, 1:]})


def clay_that_falls() -> Scene:
    mesh = block((2, 2, 2), (0.1, 0.1, 0.1), (0, 0, 0.01))
    body = SoftBody(
        mesh,
        StableNeoHookean(1e5, 0.4),
        velocity=(0.0, 0.0, -1.5),
        plasticity=Plasticity(1e3, creep_time=0.005),
    )
    return Scene([body], ground=Ground())


def test_what_a_frame_flowed_by_is_taken_back_where_it_is_taken_again(monkeypatch) -> None:
    once = Simulator(clay_that_falls(), SymplecticEuler(), device="cpu")
    steps = once.state.substeps
    once.state = replace(once.state, substeps=2 * steps)
    *_, expected = once.run(2)
    again = Simulator(clay_that_falls(), SymplecticEuler(), device="cpu")
    excess_energy = ExplicitStepper._excess_energy
    answers = iter([1.0])
    monkeypatch.setattr(
        ExplicitStepper,
        "_excess_energy",
        lambda self, *a: next(answers, None) or excess_energy(self, *a),
    )
    *_, found = again.run(2)
    assert found.report.substeps >= 2 * steps
    assert found.positions[0].equal(expected.positions[0])
    assert again.state.plastic.equal(once.state.plastic)


def test_what_has_flowed_flat_takes_more_steps() -> None:
    run = simulator(bar(), SymplecticEuler())
    steps, count = run.state.substeps, len(run.system.meshes[0].tets)
    flat = np.diag([5.0, 0.447213595499958, 0.447213595499958]).reshape(9, 1)
    plastic = torch.as_tensor(np.vstack([np.repeat(flat, count, 1), np.full(count, 1.6)]))
    run.system.plastic_flow.plastic = plastic
    assert run.system.plastic_flow.frequency_ratio == pytest.approx(2.9, rel=0.02)
    rest = run.state.positions * torch.tensor([[0.2], [5.0**0.5], [5.0**0.5]])
    run.state = replace(run.state, positions=rest, plastic=plastic)
    (frame,) = run.run(1)
    assert frame.report.substeps >= 2.8 * steps
    assert frame.report.energies.total == pytest.approx(0.0, abs=1e-6)


def test_plastic_flow_only_takes_energy() -> None:
    run = Simulator(clay_that_falls(), SymplecticEuler(), device="cpu")
    energies = [run.frame().report.energies.total]
    energies += [frame.report.energies.total for frame in run.run(8)]
    assert all(after <= before + 1e-3 for before, after in pairwise(energies))
    assert energies[-1] < 0.3 * energies[0]


def test_xpbd_says_that_it_knows_none() -> None:
    with pytest.raises(ValueError, match="XPBD does not support plasticity"):
        Simulator(clay_that_falls(), XPBD(), device="cpu")
