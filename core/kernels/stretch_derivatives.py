# SPDX-License-Identifier: GPL-3.0-or-later
"""Laws in the principal stretches as autograd sees them.

U and V of a singular value decomposition have no derivative where two stretches are alike, but
energy and stress do. So their derivatives are those in closed form: of the energy the stress, of
the stress the Hessian of ``eigensystem``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .eigensystem import StretchLaw, eigensystem
from .torch_matrices import matmul3, signed_svd


def energy_density(material: StretchLaw, f: Tensor) -> Tensor:
    """See ``Material.energy_density``. Can be differentiated twice, by F and by the moduli."""
    return _apply(_EnergyDensity, f, _moduli(material, f), material)


def first_piola(material: StretchLaw, f: Tensor) -> Tensor:
    """See ``Material.first_piola``. Can be differentiated once, by F and by the moduli."""
    return _apply(_FirstPiola, f, _moduli(material, f), material)


def _apply(function: Any, *arguments: Any) -> Tensor:
    result: Tensor = function.apply(*arguments)
    return result


def _moduli(material: StretchLaw, f: Tensor) -> Tensor:
    """(2, M) μ and λ."""
    moduli = (
        torch.as_tensor(modulus, dtype=f.dtype, device=f.device)
        for modulus in (material.mu, material.lam)
    )
    return torch.stack([modulus.expand(len(f)) for modulus in moduli])


class _Stretches(torch.autograd.Function):
    """(3, M) of (M, 3, 3) gradients, for what is symmetric in them."""

    @staticmethod
    def forward(ctx: Any, f: Tensor) -> Tensor:
        u, sigma, v = signed_svd(f.permute(1, 2, 0))
        ctx.save_for_backward(u, v)
        return sigma

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, principal_stresses: Tensor) -> Tensor:
        u, v = ctx.saved_tensors
        return _rotated(u, principal_stresses, v)


class _EnergyDensity(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, moduli: Tensor, material: StretchLaw) -> Tensor:
        ctx.material = material
        ctx.save_for_backward(f, moduli)
        return _density(material, f, moduli)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        f, moduli = ctx.saved_tensors
        by_f = upstream[:, None, None] * _apply(_FirstPiola, f, moduli, ctx.material)
        if not ctx.needs_input_grad[1]:
            return by_f, None, None
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            density = ctx.material.strain_energy_density(
                *_apply(_Stretches, f), *moduli, kappa=ctx.material.compression_resistance
            )
            (by_moduli,) = torch.autograd.grad(density, moduli, upstream, create_graph=again)
        return by_f, by_moduli, None


class _FirstPiola(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, moduli: Tensor, material: StretchLaw) -> Tensor:
        u, sigma, v = signed_svd(f.permute(1, 2, 0))
        ctx.material = material
        ctx.save_for_backward(f, moduli, u, sigma, v)
        return _rotated(u, _principal_stresses(material, sigma, moduli), v)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        f, moduli, u, sigma, v = ctx.saved_tensors
        along = upstream.permute(1, 2, 0)
        by_f = eigensystem(ctx.material, f.permute(1, 2, 0)).apply(along).permute(2, 0, 1)
        if not ctx.needs_input_grad[1]:
            return by_f, None, None
        with torch.enable_grad():
            moduli = moduli.detach().requires_grad_()
            principal_stresses = _principal_stresses(ctx.material, sigma, moduli)
            (by_moduli,) = torch.autograd.grad(
                principal_stresses, moduli, (u * matmul3(along, v)).sum(0)
            )
        return by_f, by_moduli, None


def _density(material: StretchLaw, f: Tensor, moduli: Tensor) -> Tensor:
    (a, b, c), (mu, lam) = _apply(_Stretches, f), moduli
    density: Tensor = material.strain_energy_density(
        a, b, c, mu, lam, material.compression_resistance
    )
    return density


def _principal_stresses(material: StretchLaw, sigma: Tensor, moduli: Tensor) -> Tensor:
    """(3, M) principal stresses."""
    (a, b, c), (mu, lam) = sigma, moduli
    return torch.stack(
        material.first_derivatives(a, b, c, mu, lam, material.compression_resistance)
    )


def _rotated(u: Tensor, principal_stresses: Tensor, v: Tensor) -> Tensor:
    """(M, 3, 3) U diag(slopes) Vᵀ."""
    return matmul3(u * principal_stresses, v.transpose(0, 1)).permute(2, 0, 1)
