# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic energy of an implicit step in which tets flow: what they take up by flowing counts.

Flow after the step alone would let a landing be stopped by elastic forces far beyond the yield
stress. With x_i = ln σ_i of the principal stretches since the last flow, d their deviator, r = |d|
and q = √6 μ r, a tet whose q is beyond the yield stress Y has the energy density

    W = Ψ(e^x′) + Y Δα + ½ (1/κ − 3μ) Δα²,    x′ = x − √(3/2) Δα d/r,    Δα = κ (q − Y),

κ = (1 − e^(−h/τ))/(3μ + H): what is elastic after the return map, and what flow takes up on the
way. It is what variational updates minimise, for a Ψ that is quadratic in x exactly, and so near it
for others as their elastic strains are small. A keyed stiffness k has k W, with Y/k and H/k in it.

Source: Ortiz and Stainier, "The Variational Formulation of Viscoplastic Constitutive Updates",
Computer Methods in Applied Mechanics and Engineering 171, 1999.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..cached_at import CachedAt
from ..kernels.eigensystem import Eigensystem, in_stretches
from ..kernels.plastic_flow import MIN_SQUARED_STRETCH
from ..kernels.torch_matrices import diagonal, matmul3, signed_svd
from ..materials import InvariantMaterial, Material, StretchMaterial
from ..materials.material import PARAMETERS
from .elasticity import Elasticity
from .potential import TimeStep
from .tet_flow import TetFlow
from .torch_hessian import write_blocks
from .torch_plastic_flow import plastic_size


@dataclass(frozen=True, eq=False)
class _Yielding:
    """The A tets of an elasticity that flow.

    Args:
        which: (A,) their indices.
        u, v: (3, 3, A) rotations, sigma (3, A) stretches: F_e = U diag(σ) Vᵀ.
        material: theirs.
        law: W and its derivatives.
    """

    which: Tensor
    u: Tensor
    sigma: Tensor
    v: Tensor
    material: Material
    law: _Law


class YieldingElasticity(Elasticity):
    """Σ W V over the tets that flow in a step, Σ Ψ V over the others.

    Args:
        elastic: whose tets they are; it is left as it is.
        flow: of these tets.
    """

    def __init__(self, elastic: Elasticity, flow: TetFlow) -> None:
        vars(self).update(vars(elastic))
        self._flow, self._seconds = flow, 0.0
        self._max_growth = torch.full_like(self.tets.volumes, math.inf)
        self._yielding = CachedAt(self._find_yielding)

    def begin_time_step(self, step: TimeStep) -> None:
        self._seconds = step.length
        self._flow.follow_stiffness()
        limit = self._flow.constants[4]
        self._max_growth = (limit - plastic_size(self._flow.plastic)).clamp(min=0.0)
        self._yielding.forget()

    def energy(self, positions: Tensor) -> Tensor:
        total, found = super().energy(positions), self._yielding(positions)
        if found is None:
            return total
        change = found.law.energy - _density(found.material, found.sigma)
        return total + self.stiffness * torch.dot(change, self.tets.volumes[found.which])

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        super().add_gradient(positions, out)
        found = self._yielding(positions)
        if found is None:
            return
        change = found.law.gradient - _principal_stresses(found.material, found.sigma)
        sizes = self.stiffness * self.tets.volumes[found.which]
        stress = matmul3(found.u * (sizes * change), _transposed(found.v))
        gradients = self.tets.shape_gradients[1:, :, found.which]
        forces = matmul3(stress, gradients.transpose(0, 1))
        forces = torch.cat([-forces.sum(1, keepdim=True), forces], dim=1)
        out.index_add_(1, self.corners[:, found.which].ravel(), forces.flatten(1))

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        blocks, found = self.tets.blocks, self._yielding(positions)
        self._hessian.blocks(positions, blocks, projected)
        if found is not None:
            hessian = found.law.eigensystem(found.u, found.sigma, found.v)
            own = blocks.new_empty(len(found.which), *blocks.shape[1:])
            gradients = self.tets.shape_gradients[:, :, found.which]
            volumes = self.tets.volumes[found.which]
            write_blocks(hessian.projected() if projected else hessian, volumes, gradients, own)
            blocks[found.which] = own
        matrix.add_elements(self.tets.element_map(matrix.pattern), self.stiffness * blocks)

    def _find_yielding(self, positions: Tensor) -> _Yielding | None:
        mu, yield_stress, hardening = self._flow.constants[:3]
        threshold = yield_stress + hardening * self._flow.plastic[9]
        f = self.tets.deformation_gradients(positions)
        which = torch.nonzero(_may_yield(f, threshold / mu)).ravel()
        if len(which) == 0:
            return None
        u, sigma, v = signed_svd(f[:, :, which])
        is_solid = sigma[2] > math.sqrt(MIN_SQUARED_STRETCH)
        strain = sigma.clamp(min=math.sqrt(MIN_SQUARED_STRETCH)).log()
        deviator = strain - strain.mean(0)
        stress = math.sqrt(6.0) * mu[which] * deviator.norm(dim=0)
        flows = torch.nonzero(is_solid & (stress > threshold[which])).ravel()
        if len(flows) == 0:
            return None
        which, u, sigma, v = which[flows], u[:, :, flows], sigma[:, flows], v[:, :, flows]
        material = _of_some(self.material, which)
        mu, _, hardening, creep_time, _ = self._flow.constants[:, which]
        relaxed = -torch.expm1(-self._seconds / creep_time)
        flexibility = relaxed / (3.0 * mu + hardening)
        law = _law(material, sigma, mu, threshold[which], flexibility, self._max_growth[which])
        return _Yielding(which, u, sigma, v, material, law)


@dataclass(frozen=True, eq=False)
class _Law:
    """W in J/m³ of A tets and its derivatives.

    Args:
        energy: (A,).
        gradient: (3, A) by the stretches.
        hessian: (3, 3, A) by them.
    """

    energy: Tensor
    gradient: Tensor
    hessian: Tensor

    def eigensystem(self, u: Tensor, sigma: Tensor, v: Tensor) -> Eigensystem:
        """∂²W/∂F²."""
        flip, twist = torch.empty_like(sigma), torch.empty_like(sigma)
        tolerance = torch.finfo(sigma.dtype).eps ** 0.4
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            difference, total = sigma[i] - sigma[j], sigma[i] + sigma[j]
            is_alike = difference.abs() <= tolerance * total
            limit = 0.5 * (self.hessian[i, i] + self.hessian[j, j]) - self.hessian[i, j]
            quotient = (self.gradient[i] - self.gradient[j]) / torch.where(
                is_alike, total, difference
            )
            flip[k] = torch.where(is_alike, limit, quotient)
            twist[k] = (self.gradient[i] + self.gradient[j]) / total
        return Eigensystem(u, v, self.hessian, flip, twist)


def _law(
    material: Material,
    sigma: Tensor,
    mu: Tensor,
    yield_stress: Tensor,
    flexibility: Tensor,
    max_growth: Tensor,
) -> _Law:
    """Of (3, A) stretches; ``flexibility`` is κ in 1/Pa, ``max_growth`` the most that Δα may be."""
    x, one = sigma.log(), torch.eye(3).to(sigma)[:, :, None]
    deviatoric = one - 1.0 / 3.0
    d = x - x.mean(0)
    r = d.norm(dim=0)
    along = d / r
    slope = math.sqrt(6.0) * mu
    growth = flexibility * (slope * r - yield_stress)
    is_free = growth < max_growth
    growth = torch.minimum(growth, max_growth)
    hardening = 1.0 / flexibility - 3.0 * mu
    growth_rate = torch.where(is_free, flexibility * slope, 0.0)
    # The deviator after is its length times the ratio; its length grows with r by the rate.
    ratio = 1.0 - math.sqrt(1.5) * growth / r
    rate = torch.where(is_free, 1.0 - 3.0 * mu * flexibility, 1.0)
    bend = (rate - ratio) / r
    returned = torch.exp(x - d + ratio * d)
    energy = _density(material, returned)
    energy = energy + yield_stress * growth + 0.5 * hardening * growth.square()
    # Kirchhoff stresses after, and what flow takes up by r.
    stress = returned * _principal_stresses(material, returned)
    shear = stress - stress.mean(0)
    power = (shear * d).sum(0)
    resistance = (yield_stress + hardening * growth) * growth_rate
    gradient = stress.mean(0) + ratio * shear + (bend * power + resistance) * along
    # By logarithms, of which the stretches after are a function with this derivative.
    both = along[:, None] * along
    turn = 1.0 / 3.0 + ratio * deviatoric + bend * r * both
    inner = in_stretches(material, returned)[0] * (returned[:, None] * returned) + one * stress
    hessian = matmul3(matmul3(turn, inner), turn)
    mixed = shear[:, None] * along
    hessian = hessian - 2.0 * bend / r * power * both + bend * (mixed + _transposed(mixed))
    hessian = hessian + (bend * power + resistance) / r * (deviatoric - both)
    hessian = hessian + torch.where(is_free, hardening * growth_rate.square(), 0.0) * both
    return _Law(energy, gradient / sigma, (hessian - one * gradient) / (sigma[:, None] * sigma))


def _density(material: Material, sigma: Tensor) -> Tensor:
    """(A,) Ψ in J/m³ at (3, A) stretches."""
    if isinstance(material, InvariantMaterial):
        return material.energy(sigma.square().sum(0), sigma.prod(0))
    assert isinstance(material, StretchMaterial)
    return material.energy(sigma)


def _principal_stresses(material: Material, sigma: Tensor) -> Tensor:
    """(3, A) ∂Ψ/∂σ in pascal at (3, A) stretches."""
    if isinstance(material, InvariantMaterial):
        along_f, along_cofactor = material.derivatives(sigma.square().sum(0), sigma.prod(0))
        cofactor = sigma.roll(-1, 0) * sigma.roll(-2, 0)
        return along_f * sigma + along_cofactor * cofactor
    assert isinstance(material, StretchMaterial)
    return torch.stack(material.derivatives(sigma))


def _may_yield(f: Tensor, yield_strain: Tensor) -> Tensor:
    """(M,) whether (3, 3, M) gradients can be beyond (M,) q/μ: a bound, without eigenvalues, as the
    compiled flow has it."""
    c = matmul3(_transposed(f), f)
    mean = diagonal(c).sum(0) / 3.0
    size = (c.square().sum((0, 1)) - 3.0 * mean.square()).clamp(min=0.0).sqrt()
    return size * math.sqrt(1.5) > yield_strain * (mean - math.sqrt(2.0 / 3.0) * size)


def _of_some(material: Material, which: Tensor) -> Material:
    """The material of some tets."""
    own = {
        name: value[which]
        for name in PARAMETERS
        if isinstance(value := getattr(material, name), Tensor) and value.ndim > 0
    }
    return replace(material, **own)


def _transposed(matrices: Tensor) -> Tensor:
    return matrices.transpose(0, 1)
