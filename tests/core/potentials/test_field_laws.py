# SPDX-License-Identifier: GPL-3.0-or-later
"""The laws of force fields in other units, without loops, on a device, and how they are linear."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch

from supple.core import Falloff, ForceField, Scene, SoftBody, VelocityGrid
from supple.core.materials import StableNeoHookean
from supple.core.potentials.field_force import FieldForce
from supple.core.potentials.field_laws import FieldLaw, GradientNoise
from supple.core.potentials.registry import potentials_of
from supple.core.scene.force_fields import FieldKind
from supple.core.system import System
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.verification.meshes import block


def body(cells: int = 1) -> SoftBody:
    mesh = block((cells,) * 3, (0.2,) * 3, (-0.1, -0.1, -0.1))
    return SoftBody(mesh, StableNeoHookean(1e4, 0.3))


@pytest.mark.parametrize("kind", ["force", "vortex", "harmonic", "turbulence", "drag", "wind"])
def test_a_field_in_centimetres_does_in_centimetres_what_one_in_metres_does(kind) -> None:
    generator = torch.Generator().manual_seed(0)
    points, speeds = torch.randn(2, 3, 20, generator=generator, dtype=torch.float64)

    def acceleration(unit: float) -> torch.Tensor:
        falloff = Falloff("tube", 1.5, 0.2, 2.0, 0.7)
        origin = tuple(unit * np.array([0.3, 0.1, -0.2]))
        field = ForceField(
            kind, 3.0, origin, flow=0.3, damping=0.4, size=0.5, falloff=falloff, unit=unit
        )
        parameters = torch.as_tensor(field.parameters.samples[0])
        law = FieldLaw(field, points)
        return law(parameters, unit * points).acceleration(unit * speeds)

    metres, centimetres = acceleration(1.0), acceleration(0.01)
    assert float(metres.abs().max()) > 0.1
    torch.testing.assert_close(centimetres, 0.01 * metres)


@pytest.mark.parametrize("kind", get_args(FieldKind))
def test_on_cuda_fields_are_the_same_and_no_step_waits_for_them(kind) -> None:
    falloff = Falloff("cone", 1.5, 0.2, 2.0, 0.7, side="positive")
    still = VelocityGrid(np.ones((1, 1, 1, 3)), np.eye(3, 4))
    grid = still if kind == "fluid_flow" else None
    field = ForceField(kind, 3.0, (0.0, 0.1, -0.5), flow=0.3, size=0.5, falloff=falloff, grid=grid)
    scene = Scene([body(2)], forces=[field])

    def forces(device: str, count: list[int]) -> torch.Tensor:
        system = System(scene, torch.device(device), torch.float64)
        potential, positions = potentials_of(field, system)[0], system.rest_positions()
        out, before = torch.zeros_like(positions), pretended.waits
        potential.add_rate_forces(positions, positions - 0.3, out)
        count.append(pretended.waits - before)
        return out

    waits: list[int] = []
    with pretended_cuda() as pretended:
        expected, found = forces("cpu", waits), forces("cuda", waits).cpu()
    assert waits == [0, 0]
    assert float(expected.abs().max()) > 0.01
    torch.testing.assert_close(found, expected)


def test_passes_of_noise_are_the_compiled_loops() -> None:
    generator = torch.Generator().manual_seed(0)
    points = 9.0 * torch.randn(3, 50, generator=generator, dtype=torch.float64)
    weights = torch.randn(3, 50, generator=generator, dtype=torch.float64)
    found = []
    for name in ("vectors", "torch_vectors"):
        at = points.clone().requires_grad_()
        noise = getattr(GradientNoise(at), name)(at)
        (slopes,) = torch.autograd.grad((weights * noise).sum(), at)
        found.append((noise.detach(), slopes))
    for loop, passed in zip(*found, strict=True):
        torch.testing.assert_close(loop, passed, rtol=0.0, atol=1e-12)
    assert 0.3 < float(found[0][0].abs().max()) <= 1.0


def test_the_lagged_response_falls_off_where_points_go_and_never_pushes_on() -> None:
    """The stiffness is what pulls back of the law's slope: of a repelling one nothing."""
    points = torch.tensor([[0.5, 0.0, 0.0], [0.0, 0.7, 0.2]], dtype=torch.float64).T
    system = System(Scene([body()]), torch.device("cpu"), torch.float64)
    for strength, least in ((4.0, 4.0), (-4.0, 0.0)):
        potential = potentials_of(ForceField("harmonic", strength), system)[0]
        assert isinstance(potential, FieldForce)
        _, stiffness = potential._linear_at(points)
        values = torch.linalg.eigvalsh(stiffness.permute(2, 0, 1))
        torch.testing.assert_close(values, torch.full_like(values, least), atol=1e-12, rtol=0.0)
