# SPDX-License-Identifier: GPL-3.0-or-later
"""Derivatives of every energy that there is, all of them at work in one scene."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from inspect import isabstract
from typing import Any

import numpy as np
import pytest
import torch

from supple.core import (
    Attachment,
    Channel,
    Contact,
    Falloff,
    Fluid,
    ForceField,
    Goals,
    Ground,
    Plasticity,
    RestShape,
    Scene,
    SoftBody,
    Stitches,
)
from supple.core.assembly.block_matrix import BlockMatrix
from supple.core.materials import Linear, NeoHookean, StableNeoHookean
from supple.core.minimizers.incremental_potential import IncrementalPotential
from supple.core.potentials import Potential
from supple.core.potentials.carried_damping import CarriedDamping
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.core.potentials.potential import Past, TimeStep
from supple.core.system import System
from supple.tests.core.dense import dense
from supple.tests.core.tether import Tether, TetherEnergy
from supple.verification.meshes import block

pytest.importorskip("ipctk")

STEP = 1.0 / 24.0
REACH = 0.05
FIELD = ForceField(
    "vortex", 30.0, (1.0, 0.5, 0.2), (0.1, 0.2, 1.0), "plane", falloff=Falloff(power=1.5)
)
#: Some of its threads are tight, others are not.
SEAM = Stitches(2, [1, 3, 5], 4, closed=Channel([0.05, 1.0]), gap=0.2)
CPU = torch.device("cpu")
#: The second derivative of a barrier between surfaces is replaced by sums of squares.
BOUNDED_HESSIANS = (MeshContact,)


def subclasses(kind: Any) -> Iterator[Any]:
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


ENERGIES = (
    kind
    for kind in set(subclasses(Potential))
    if kind.__module__.startswith("supple.core.") and not isabstract(kind)
)
# Loaded only where something moves what it damps.
ALL = [*sorted({*ENERGIES, CarriedDamping}, key=lambda kind: kind.__name__), TetherEnergy]


def near(positions: torch.Tensor, spread: float, seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return positions + spread * torch.randn(positions.shape, generator=random, dtype=torch.float64)


def everything() -> Scene:
    """Two blocks on each other on rough ground, two that are attached, one of them with
    goals, and one to be pressed."""
    soft = StableNeoHookean(1e5, 0.4)
    size = (0.5, 0.5, 0.5)
    grown = block((1, 1, 1), size).vertices * [[0.3, 0.1, 0.2]]
    reshaped = RestShape(grown[None], np.array([[0.5], [0.8]]))
    keyed = SoftBody(
        *(block((1, 1, 1), size, (0, 0, 0.5 * REACH)), soft),
        stiffness_damping=1e-4,
        viscosity=5.0,
        stiffness=Channel([1.5, 2.0]),
        rest_shape=reshaped,
    )
    # It goes by a pose that is all but flat.
    posed = SoftBody(block((1, 1, 1), size, (0.1, 0.1, 0.5 + 0.9 * REACH)), soft)
    posed = replace(posed, pose=posed.mesh.vertices * [1.0, 0.1, 1.1])
    # What they carry is damped relative to their motion.
    targets = np.array([[3.0, 0.0, 0.0], [3.5, 0.2, 1.0]])
    goals = Goals([1, 6], np.stack([targets, targets + np.array([0.1, 0.2, 0.05])]), [0.2, 0.9])
    return Scene(
        [
            keyed,
            posed,
            SoftBody(
                *(block((1, 1, 1), size, (3.0, 0.0, 1.0)), Linear(1e5, 0.3)),
                goals=goals,
                rest_shape=reshaped,
                damping=0.7,
            ),
            SoftBody(
                block((1, 1, 1), size, (3.3, 0.1, 1.1)),
                NeoHookean(1e5, 0.3),
                plasticity=Plasticity(50.0, creep_time=0.1),
            ),
            SoftBody(
                block((1, 1, 1), size, (6.0, 0.0, 1.0)),
                soft,
                name="pressed",
                pressure=3e4,
                target_volume=1.5,
                drag=[3.0, 4.0],
                accelerations=np.linspace(-1.0, 2.0, 24).reshape(8, 3),
            ),
        ],
        ground=Ground(distance=REACH),
        contact=Contact(distance=REACH, kinetic_friction=0.3),
        attachments=[Attachment(3, np.array([0, 2]), 2)],
        forces=[Tether(vertex=3, stiffness=2e3), FIELD, Fluid(level=0.47, drag=2.0), SEAM],
    )


@cache
def in_a_step() -> tuple[IncrementalPotential, torch.Tensor]:
    """And where it has come to: some points stick, others slide, and tets are all but flat."""
    objective = IncrementalPotential(System(everything(), CPU, torch.float64))
    system = objective.system
    rest = system.rest_positions()
    positions = near(rest, 0.02 * REACH, 1)
    pulled, pressed = system.body_slices()[3], system.body_slices()[-1]
    positions[1, pulled] = 0.1 + 1.1 * (positions[1, pulled] - 0.1)
    positions[2, pressed] = 1.0 + 0.1 * (positions[2, pressed] - 1.0)
    start = positions.clone()
    ways = 1e-4 * STEP * torch.logspace(-1.0, 2.0, system.vertex_count, dtype=torch.float64)
    start[:2] += ways * near(torch.zeros_like(start), 1.0, 2)[:2]
    assert objective.contact is not None
    objective.contact.begin(None)
    system.go_to(0, 1.0)
    past = Past(4.0 / 3.0, start, 1.5 * STEP), Past(-1.0 / 3.0, near(start, 0.01, 4), 3.0 * STEP)
    objective.begin(TimeStep(start, near(positions, 0.1, 3), STEP, STEP, past))
    objective.contact.build_static_candidates(positions)
    return objective, positions


def energy_of(kind: type[Potential]) -> Potential:
    objective, _ = in_a_step()
    found = [part for part in objective.potentials if type(part) is kind]
    assert found, f"{kind.__name__} is at work nowhere: add what makes one to everything()."
    return found[0]


def full(potential: Potential, projected: bool) -> torch.Tensor:
    """(3N, 3N) second derivative, vertex by vertex."""
    objective, positions = in_a_step()
    matrix = BlockMatrix(objective.pattern, positions.dtype)
    potential.add_hessian(positions, matrix, projected)
    blocks, coupled = dense(matrix).transpose(1, 2).contiguous(), matrix.off_pattern
    blocks[coupled.rows, coupled.columns] += torch.as_tensor(coupled.values).view(-1, 3, 3)
    return blocks.transpose(1, 2).reshape(3 * len(blocks), -1)


@pytest.fixture(params=ALL, ids=lambda kind: kind.__name__)
def potential(request) -> Potential:
    return energy_of(request.param)


def test_the_gradient_is_the_finite_difference_of_the_energy(potential) -> None:
    _, positions = in_a_step()
    gradient, h = potential.gradient(positions), 2e-8
    assert bool(gradient.any())
    for seed in range(4):
        direction = near(torch.zeros_like(positions), 1.0, seed)
        after, before, further, earlier = (
            float(potential.energy(positions + s * h * direction)) for s in (1, -1, 2, -2)
        )
        slope = (8.0 * (after - before) - (further - earlier)) / (12.0 * h)
        assert slope == pytest.approx(float((gradient * direction).sum()), rel=1e-5)


@pytest.mark.parametrize(
    "kind", [k for k in ALL if k not in BOUNDED_HESSIANS], ids=lambda kind: kind.__name__
)
def test_the_hessian_is_the_finite_difference_of_the_gradient(kind) -> None:
    potential = energy_of(kind)
    (objective, positions), h = in_a_step(), 1e-8
    hessian = full(potential, projected=False)
    for seed in range(4):
        direction = near(torch.zeros_like(positions), 1.0, seed)
        change = potential.gradient(positions + h * direction)
        change -= potential.gradient(positions - h * direction)
        expected = objective.unknowns(change / (2.0 * h))
        found = (hessian @ objective.unknowns(direction).ravel()).view(-1, 3)
        scale = float(expected.abs().max())
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5 * scale)


def test_the_projected_hessian_is_symmetric_and_positive_semi_definite(potential) -> None:
    hessian = full(potential, projected=True)
    size = float(hessian.abs().max())
    torch.testing.assert_close(hessian, hessian.T, rtol=0.0, atol=1e-9 * size)
    assert float(torch.linalg.eigvalsh(hessian)[0]) >= -1e-9 * size


def test_what_every_step_asks_for_is_answered(potential) -> None:
    objective, positions = in_a_step()
    assert 0.0 < potential.max_step(positions, 1e-6 * positions) <= 1.0
    assert potential.cancellation >= 0.0
    assert potential.stick_drift(positions, positions) == 0.0
    assert potential.update_lagged(positions, settled=False)[0] >= 0.0
    assert objective.after_iteration(positions) is False
