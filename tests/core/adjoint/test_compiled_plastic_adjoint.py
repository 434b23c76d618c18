# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled way back through plastic flow beside that of autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Plasticity, Scene, SoftBody
from supple.core.adjoint.force_adjoint import CompiledPlasticAdjoint, PlasticAdjoint
from supple.core.adjoint.quantities import Derivation
from supple.core.materials import StableNeoHookean
from supple.core.system import System
from supple.verification.meshes import block

MESH = block((1, 1, 2), (0.1, 0.1, 0.2))
SECONDS = 0.01
#: Limit, creep time, and by how much the tets have flowed before, in turn.
CASES = {
    "flowing": (1.5, 0.02, 0.05),
    "at once": (1.5, 0.0, 0.05),
    "at the limit": (0.07, 0.02, 0.05),
    "beyond what is left": (0.0525, 0.0, 0.05),
    "from rest": (1.5, 0.02, 0.0),
}


def gradients(
    kind: type[PlasticAdjoint] | type[CompiledPlasticAdjoint], case: str
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Return gradients with respect to positions, plastic strain and all quantities of the flow;
    and which tets flow.
    """
    limit, creep, before = CASES[case]
    plasticity = Plasticity(np.linspace(5e2, 5e4, len(MESH.tets)), 2e4, creep, limit)
    body = SoftBody(MESH, StableNeoHookean(2e5, 0.35), plasticity=plasticity)
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    leaves = {
        "bodies[0].material.young": torch.tensor(2e5, dtype=torch.float64, requires_grad=True),
        "bodies[0].mesh.vertices": torch.tensor(MESH.vertices, requires_grad=True),
    }
    given = Derivation(system, leaves).quantities()
    given = {name: own.detach().requires_grad_(own.requires_grad) for name, own in given.items()}
    found = {name: torch.zeros_like(own) for name, own in given.items() if own.requires_grad}
    random = torch.Generator().manual_seed(1)
    stretch = torch.eye(3, dtype=torch.float64)
    stretch += 0.12 * torch.randn(3, 3, generator=random).double()
    positions = stretch @ torch.as_tensor(MESH.vertices.T.copy())
    turned = torch.randn(len(MESH.tets), 3, 3, generator=random).double()
    turned = torch.linalg.matrix_exp(turned - turned.mT) @ torch.diag(
        torch.tensor([before, -before / 4, -before * 3 / 4], dtype=torch.float64).exp()
    )
    if before == 0.0:
        turned = torch.eye(3, dtype=torch.float64).expand_as(turned)
    # The strain of a bar has come to 0.052, on a longer way.
    alpha = turned.new_full((len(MESH.tets), 1), 1.2 * before)
    plastic = torch.cat([turned.flatten(1), alpha], dim=1).T.contiguous()
    own = kind(system, given, found)
    wanted = torch.randn(plastic.shape, generator=random).double()
    if isinstance(own, CompiledPlasticAdjoint):
        own._grad_plastic[0].copy_(wanted)
    else:
        own.grad_plastic = wanted.clone()
    by_positions = own.enter(positions, plastic, SECONDS)
    own.leave()
    own.settle()
    own.finish()
    names = ("flow 0", "shape gradients 0")
    flows = (own.grad_plastic - wanted).abs().sum(0) > 0.0
    return [by_positions, own.grad_plastic, *(found[name] for name in names)], flows


@pytest.mark.parametrize("case", CASES)
def test_flow_goes_back_as_autograd_says(case: str) -> None:
    compiled, flows = gradients(CompiledPlasticAdjoint, case)
    taped, _ = gradients(PlasticAdjoint, case)
    assert float(flows.double().mean()) > 0.3
    for own, expected in zip(compiled, taped, strict=True):
        assert float(expected.norm()) > 0.0
        rows, others = (part.reshape(-1, part.shape[-1]) for part in (own, expected))
        assert bool(((rows - others).norm(dim=1) <= 1e-7 * others.norm(dim=1)).all())
