# SPDX-License-Identifier: GPL-3.0-or-later
"""The Hessian of an isotropic energy density by F, in closed form and made positive semi-definite.

With F = U diag(σ) Vᵀ and δ = Uᵀ dF V, the second derivative of Ψ(I_C, J) falls apart into the
stretches δ₀₀, δ₁₁, δ₂₂ and three pairs δ_ij, δ_ji. For (i, j, k) any order of the axes and
c_i = σ_j σ_k, the stretches have the matrix

    ∂²Ψ/∂σ_i∂σ_i = 2Ψ_I + 4Ψ_II σ_i² + 4Ψ_IJ σ_i c_i + Ψ_JJ c_i²
    ∂²Ψ/∂σ_i∂σ_j = 4Ψ_II σ_i σ_j + 2Ψ_IJ (σ_i c_j + σ_j c_i) + Ψ_JJ c_i c_j + Ψ_J σ_k

and each pair has two eigenvalues: 2Ψ_I − σ_k Ψ_J of the flip δ_ij = δ_ji, and 2Ψ_I + σ_k Ψ_J of
the twist δ_ij = −δ_ji. Written in the stretches themselves the
eigenvalues are (Ψ_i − Ψ_j)/(σ_i − σ_j) and (Ψ_i + Ψ_j)/(σ_i + σ_j). To make the Hessian positive
semi-definite, a 3 × 3 matrix is projected and six numbers are clamped.

Source: Smith, de Goes and Kim, "Analytic Eigensystems for Isotropic Distortion Energies", ACM
Transactions on Graphics 38(1), 2019.

Nothing here branches or looks at values, so that CUDA never waits. The compiled counterpart is
``hessian.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from .torch_matrices import diagonal, diagonalize, matmul3, off_diagonal, signed_svd


@runtime_checkable
class StretchLaw(Protocol):
    """The functions of a ``StretchMaterial``, whose methods call those of these files."""

    @property
    def mu(self) -> Any: ...

    @property
    def lam(self) -> Any: ...

    @property
    def compression_resistance(self) -> float: ...

    @staticmethod
    def strain_energy_density(a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float) -> Any: ...

    @staticmethod
    def first_derivatives(
        a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
    ) -> tuple[Any, Any, Any]: ...

    @staticmethod
    def second_derivatives(
        a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
    ) -> tuple[Any, ...]: ...


@dataclass(frozen=True, eq=False)
class Eigensystem:
    """∂²Ψ/∂F² in the frame of the singular vectors, in pascal.

    Args:
        u, v: (3, 3, M) rotations, one singular vector a column.
        stretch: (3, 3, M) ∂²Ψ/∂σ_i∂σ_j.
        flip, twist: (3, M) eigenvalues of the pairs, by the axis k they leave out.
    """

    u: Tensor
    v: Tensor
    stretch: Tensor
    flip: Tensor
    twist: Tensor

    def projected(self) -> Eigensystem:
        """The nearest positive semi-definite one."""
        values, vectors = diagonalize(self.stretch)
        return replace(
            self,
            stretch=matmul3(vectors * values.clamp(min=0.0), vectors.transpose(0, 1)),
            flip=self.flip.clamp(min=0.0),
            twist=self.twist.clamp(min=0.0),
        )

    def contract(self, a: Tensor, b: Tensor) -> Tensor:
        """(3, 3, M) matrices Σ_kl a_k ∂²Ψ/∂F_ik∂F_jl b_l for (3, M) vectors."""
        a, b = _to_frame(self.v, a), _to_frame(self.v, b)
        outer = a[:, None] * b
        block = self.stretch * outer
        block.addcmul_(self._across, outer.transpose(0, 1))
        diagonal(block).add_((self._along * diagonal(outer)).sum(1))
        return matmul3(matmul3(self.u, block), self.u.transpose(0, 1))

    def apply(self, matrices: Tensor) -> Tensor:
        """(3, 3, M) matrices ∂²Ψ/∂F∂F : A for (3, 3, M) matrices A."""
        inside = matmul3(matmul3(self.u.transpose(0, 1), matrices), self.v)
        block = self._along * inside + self._across * inside.transpose(0, 1)
        diagonal(block).copy_((self.stretch * diagonal(inside)).sum(1))
        return matmul3(matmul3(self.u, block), self.v.transpose(0, 1))

    @cached_property
    def _along(self) -> Tensor:
        """(3, 3, M): what δ_ij has to do with itself."""
        return off_diagonal(0.5 * (self.flip + self.twist))

    @cached_property
    def _across(self) -> Tensor:
        """(3, 3, M): what δ_ij has to do with δ_ji."""
        return off_diagonal(0.5 * (self.flip - self.twist))


def eigensystem(material: Any, deformation_gradient: Tensor) -> Eigensystem:
    """Return that of (3, 3, M) deformation gradients, as it is: not projected.

    Args:
        material: an ``InvariantMaterial`` or a ``StretchMaterial``.
    """
    u, sigma, v = signed_svd(deformation_gradient)
    return Eigensystem(u, v, *in_stretches(material, sigma))


def in_stretches(material: Any, sigma: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Stretch, flip and twist of an ``Eigensystem`` at (3, M) stretches."""
    if not isinstance(material, StretchLaw):
        return _of_invariants(material, sigma)
    a, b, c = sigma
    numbers = torch.stack(
        material.second_derivatives(
            a, b, c, material.mu, material.lam, material.compression_resistance
        )
    )
    stretch = off_diagonal(numbers[3:6])
    diagonal(stretch).copy_(numbers[:3])
    return stretch, numbers[6:9], numbers[9:]


def _of_invariants(material: Any, sigma: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Stretch, flip and twist."""
    cofactor = sigma.roll(-1, 0) * sigma.roll(-2, 0)
    i_c, j = sigma.square().sum(0), sigma[0] * cofactor[0]
    inside = j.clamp(*material.valid_j_range())
    along_f, along_cofactor = material.first_derivatives(i_c, inside, material.mu, material.lam)
    by_i, mixed, by_j = material.second_derivatives(i_c, inside, material.mu, material.lam)
    # Beyond its limits Ψ goes on along its tangent in J.
    within = (j == inside).to(j.dtype)
    turned = along_cofactor * sigma
    cross = mixed * within * (sigma[:, None] * cofactor)
    stretch = by_i * (sigma[:, None] * sigma) + cross + cross.transpose(0, 1)
    stretch += by_j * within * (cofactor[:, None] * cofactor) + off_diagonal(turned)
    diagonal(stretch).add_(along_f)
    return stretch, along_f - turned, along_f + turned


def _to_frame(v: Tensor, vectors: Tensor) -> Tensor:
    """Vᵀ times (3, M) vectors."""
    return (v * vectors[:, None]).sum(0)
