# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy of tets that flow in an implicit step, of every model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Channel, Plasticity, Scene, SoftBody
from supple.core.assembly.block_matrix import BlockMatrix, BlockPattern
from supple.core.materials import MODELS, StVenantKirchhoff
from supple.core.potentials import TimeStep
from supple.core.potentials.plastic_flow import YieldingElasticity, _principal_stresses
from supple.core.system import System
from supple.tests.core.dense import dense
from supple.verification.meshes import block

YOUNG, YIELD, STEP = 1e5, 1e3, 0.04
KINDS = [kind for name, kind in MODELS.items() if name != "linear"]


def spread(like: torch.Tensor, seed: int, size: float) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return size * torch.randn(like.shape, generator=random, dtype=torch.float64)


def in_a_step(
    kind, young: float = YOUNG, keyed: Channel | None = None, **settings
) -> tuple[YieldingElasticity, torch.Tensor]:
    """A cube that has flowed before, and where it has come to."""
    more = {"compression_resistance": young} if kind is StVenantKirchhoff else {}
    material, plasticity = kind(young, 0.3, **more), Plasticity(YIELD, **settings)
    mesh = block((1, 1, 1), (1, 1, 1), (0, 0, 0))
    body = SoftBody(mesh, material, plasticity=plasticity, stiffness=keyed)
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    system.go_to(0, 1.0)
    rest = system.rest_positions()
    system.plastic_flow.flow(rest + spread(rest, 1, 0.05), STEP)
    (part,) = system.solved_elasticities
    assert isinstance(part, YieldingElasticity)
    part.begin_time_step(TimeStep(rest, rest, STEP, STEP))
    return part, rest + spread(rest, 2, 0.06)


def hessian(part: YieldingElasticity, x: torch.Tensor) -> torch.Tensor:
    """The (3N, 3N) Hessian, not projected."""
    count = x.shape[1]
    pattern = BlockPattern(part.corners.numpy(), np.arange(count), count, x.device)
    matrix = BlockMatrix(pattern, x.dtype)
    part.add_hessian(x, matrix, projected=False)
    return dense(matrix).reshape(3 * count, -1)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "settings", [{}, {"hardening": 2e4, "creep_time": 0.1}, {"limit": 0.02}], ids=str
)
def test_derivatives_are_finite_differences(kind, settings) -> None:
    part, x = in_a_step(kind, **settings)
    h, direction = 1e-6, spread(x, 3, 1.0)
    after, before = x + h * direction, x - h * direction
    slope = float(part.energy(after) - part.energy(before)) / (2.0 * h)
    assert slope == pytest.approx(float((part.gradient(x) * direction).sum()), rel=1e-7)
    found = hessian(part, x) @ direction.T.ravel()
    expected = (part.gradient(after) - part.gradient(before)) / (2.0 * h)
    size = float(expected.abs().max())
    torch.testing.assert_close(found.view(-1, 3).T, expected, rtol=0.0, atol=1e-8 * size)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_keyed_stiffness_is_a_factor_on_youngs_modulus(kind) -> None:
    numbers = {"hardening": 2e4, "creep_time": 0.1}
    keyed, x = in_a_step(kind, keyed=Channel([1.0, 3.0]), **numbers)
    stiff, _ = in_a_step(kind, 3.0 * YOUNG, **numbers)
    assert keyed._yielding(x) is not None
    assert float(keyed.energy(x)) == pytest.approx(float(stiff.energy(x)), rel=1e-12)
    found, expected = keyed.gradient(x), stiff.gradient(x)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-12 * float(expected.abs().max()))
    found, expected = hessian(keyed, x), hessian(stiff, x)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-11 * float(expected.abs().max()))


def test_equal_stretches_have_derivatives() -> None:
    part, _ = in_a_step(KINDS[0])
    rest = torch.as_tensor(part.tets.meshes[0][1].vertices.T)
    part._flow.set_plastic(None)
    part._yielding.forget()
    pulled = torch.diag(torch.tensor([1.3, 0.9, 0.9], dtype=torch.float64))
    x, h, direction = pulled @ rest, 1e-6, spread(rest, 3, 1.0)
    found = hessian(part, x) @ direction.T.ravel()
    expected = part.gradient(x + h * direction) - part.gradient(x - h * direction)
    expected /= 2.0 * h
    size = float(expected.abs().max())
    torch.testing.assert_close(found.view(-1, 3).T, expected, rtol=0.0, atol=1e-6 * size)


def test_stresses_of_a_step_are_those_after_its_flow() -> None:
    """The flow at its end therefore leaves the forces as they were."""
    part, x = in_a_step(KINDS[0])
    # A small elastic strain at yield: what differs is of its second order.
    before = part.gradient(x)
    part._flow.flow(x, STEP)
    part.begin_time_step(TimeStep(x, x, STEP, STEP))
    after = part.gradient(x)
    assert float((after - before).abs().max()) < 0.02 * float(after.abs().max())


def test_below_the_yield_stress_it_has_the_bits_of_the_elastic_energy() -> None:
    part, x = in_a_step(KINDS[0])
    part._flow.set_plastic(None)
    part._yielding.forget()
    rest = torch.as_tensor(part.tets.meshes[0][1].vertices.T)
    near = rest + 1e-3 * (x - rest)
    assert part._yielding(near) is None
    assert float(part.energy(near)) == part.kernel.energy(near)


def test_a_tet_at_its_limit_is_elastic_and_others_flow() -> None:
    """Whatever the first of them has come to."""
    limit = 0.02
    part, x = in_a_step(KINDS[0], limit=limit)
    plastic = part._flow.plastic.clone()
    size = limit * torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0, 1.0])[: plastic.shape[1]].double()
    plastic[:9] = torch.eye(3, dtype=torch.float64).ravel()[:, None]
    # F_p of a bar that has been pulled by so much for good, which keeps its volume.
    plastic[0], plastic[4], plastic[8] = (-size).exp(), (0.5 * size).exp(), (0.5 * size).exp()
    part._flow.set_plastic(plastic)
    part.begin_time_step(TimeStep(x, x, STEP, STEP))
    found = part._yielding(x)
    assert found is not None
    growth = found.law.gradient - _principal_stresses(found.material, found.sigma)
    flows = growth.abs().amax(0) > 1.0
    assert torch.equal(flows, size[found.which] == 0.0) and 0 < int(flows.sum()) < len(flows)
