# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces of tetrahedra that autograd differentiates, by positions, moduli and viscosities."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..assembly.tets import Tets
from ..kernels.elastic_derivatives import ElasticDerivativesKernel
from ..kernels.elasticity import ElasticityKernel
from ..kernels.laws import Constants
from ..kernels.torch_matrices import matmul3, trace3
from ..materials import Material
from ..potentials import Elasticity, Viscosity


class TapeElasticity:
    """The gradient of an elasticity, as a function on autograd's tape.

    A compiled loop gives its exact second derivative where there is one for the material; autograd
    goes through its stresses elsewhere.
    """

    def __init__(self, part: Elasticity) -> None:
        self.part, self._corners = part, part.tets.corners.long().reshape(-1)
        #: None where autograd goes through the stresses.
        self.derivatives: ElasticDerivativesKernel | None = None
        if isinstance(part.kernel, ElasticityKernel):
            constants = Constants(part.material, part.tets.volumes)
            self.derivatives = ElasticDerivativesKernel(constants, part.tets)

    def gradient(self, positions: Tensor, mu: Tensor, lam: Tensor, tets: Tets) -> Tensor:
        """(3, N) in newtons, with Lamé's (M,) moduli, of tets that are its own or the same
        ``with_rest``."""
        part = self.part
        if self.derivatives is not None and tets is part.tets:
            apply: Callable[..., Tensor] = _ElasticGradient.apply
            own = apply(positions, mu, lam, self)
        else:
            material = material_of(part.material, mu, lam)
            f = tets.deformation_gradients(positions)
            stress = material.first_piola(f.permute(2, 0, 1)).permute(1, 2, 0)
            own = pulled_back(tets, self._corners, stress, positions)
        return own


class _ElasticGradient(torch.autograd.Function):
    """Of positions (3, N), μ and λ (M,)."""

    @staticmethod
    def forward(
        ctx: Any, positions: Tensor, mu: Tensor, lam: Tensor, own: TapeElasticity
    ) -> Tensor:
        ctx.save_for_backward(positions)
        ctx.own = own
        out = torch.zeros_like(positions)
        assert own.part.kernel is not None
        own.part.kernel.add_gradient(positions, out)
        return out

    @staticmethod
    def backward(ctx: Any, displacement: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (positions,) = ctx.saved_tensors
        assert ctx.own.derivatives is not None
        # The second derivative is symmetric.
        along, works = ctx.own.derivatives.along(positions, displacement.contiguous())
        return along, works[0], works[1], None


class TapeViscosity:
    """The forces of a viscosity, as functions on autograd's tape."""

    def __init__(self, part: Viscosity) -> None:
        self.part, self._corners = part, part.tets.corners.long().reshape(-1)

    def step_gradient(
        self,
        positions: Tensor,
        shear: Tensor,
        bulk: Tensor,
        past: list[tuple[float, Tensor]],
        span: float,
        tets: Tets,
    ) -> Tensor:
        """(3, N) of the energy of an implicit step of ``span`` seconds.

        Args:
            past: weights and (3, N) positions whose strains add up to that of the start.
            tets: its own, or the same ``with_rest``.
        """
        f = tets.deformation_gradients(positions)
        strains = (weight * _green(tets.deformation_gradients(at)) for weight, at in past)
        rate = (_green(f) - sum(strains, torch.zeros_like(f))) / span
        return self._gradient(positions, f, rate, shear, bulk, tets)

    def rate_gradient(
        self, positions: Tensor, velocities: Tensor, shear: Tensor, bulk: Tensor, tets: Tets
    ) -> Tensor:
        """(3, N) that velocities pull against."""
        f = tets.deformation_gradients(positions)
        change = matmul3(f.transpose(0, 1), tets.deformation_gradients(velocities))
        rate = 0.5 * (change + change.transpose(0, 1))
        return self._gradient(positions, f, rate, shear, bulk, tets)

    def _gradient(
        self, positions: Tensor, f: Tensor, rate: Tensor, shear: Tensor, bulk: Tensor, tets: Tets
    ) -> Tensor:
        identity = torch.eye(3, dtype=f.dtype)[:, :, None]
        stress = 2.0 * shear * rate + bulk * trace3(rate) * identity
        return pulled_back(tets, self._corners, matmul3(f, stress), positions)


def material_of(material: Material, mu: Tensor, lam: Tensor) -> Material:
    """The same model with Lamé's moduli."""
    young = mu * (3.0 * lam + 2.0 * mu) / (lam + mu)
    return replace(material, young=young, poisson=0.5 * lam / (lam + mu))


def with_rest(tets: Tets, volumes: Tensor, gradients: Tensor) -> Tets:
    """The same tets, of which passes on autograd's tape read other rest shapes.

    Args:
        volumes: (M,) in m³.
        gradients: (3, 3, M) of the shape functions of corners 1 to 3, in 1/m.
    """
    own = copy(tets)
    own.volumes = volumes
    own.shape_gradients = torch.cat([-gradients.sum(0, keepdim=True), gradients])
    return own


def _green(f: Tensor) -> Tensor:
    """(3, 3, M) E = (FᵀF − I)/2."""
    identity = torch.eye(3, dtype=f.dtype)[:, :, None]
    return 0.5 * (matmul3(f.transpose(0, 1), f) - identity)


def pulled_back(tets: Tets, corners: Tensor, stress: Tensor, template: Tensor) -> Tensor:
    """(3, N) V P ∇N summed at vertices, of (3, 3, M) first Piola–Kirchhoff stresses P.

    Args:
        corners: (4M,) vertices of all corners, corner first.
        template: (3, N).
    """
    weighted = tets.volumes * stress
    forces = torch.stack([(weighted * g).sum(1) for g in tets.shape_gradients], dim=1)
    return torch.zeros_like(template).index_add(1, corners, forces.reshape(3, -1))
