# SPDX-License-Identifier: GPL-3.0-or-later
"""Plastic flow: the change of tets' rest shapes, and the elasticity of steps in which they flow.

F = F_e F_p with det F_p = 1, and only F_e is elastic: a tet that has flowed is a tet of the same
volume whose shape gradients are ∇N F_p⁻¹. With the principal stretches λ_i of F_e, the logarithmic
strains e_i = ln λ_i − ⅓ ln J and the stress q = 2μ √(3/2 Σ e_i²), the equivalent plastic strain α
grows where q > Y + H α by

    Δα = (q − Y − H α) (1 − e^(−h/τ)) / (3μ + H)

in h seconds, τ the creep time, and F_p⁻¹ ← F_p⁻¹ V diag(e^(−3μ Δα e_i / q)) Vᵀ in the principal
axes V of F_eᵀ F_e. At a constant shape the excess of q thus falls by e^(−h/τ), for steps of any
size. If the bar strain √⅔ |ln U_p| of F_p = R_p U_p would exceed the limit, ln U_p is scaled back
to it.

For small elastic strains q is the von Mises stress of every model, with any plastic strain.

Sources: Simo and Hughes, "Computational Inelasticity", sections 1.7 (viscoplasticity by Perzyna,
and by Duvaut and Lions) and 9.3 (return maps in logarithmic strains); Irving, Teran and Fedkiw,
"Invertible Finite Elements for Robust Simulation of Large Deformation", Symposium on Computer
Animation 2004, on rest shapes that flow and their limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import CachedAt
from ..assembly.tets import Tets
from ..compiled import runs_loops
from ..geometry.tet_mesh import TetMesh
from ..kernels.plastic_flow import MIN_SQUARED_STRETCH, FlowKernel
from ..materials import InvariantMaterial, Material, StretchMaterial
from ..materials.material import PARAMETERS
from ..math3.torch_matrices import (
    Eigensystem,
    det3,
    diagonal,
    diagonalize,
    in_stretches,
    matmul3,
    signed_svd,
)
from ..scene.soft_body import PerTet, SoftBody
from .elasticity import Elasticity, write_blocks
from .potential import TimeStep


class TorchFlow:
    """The return map of the tets of one elasticity.

    Args:
        tets: the tets that flow; their rest-shape data are overwritten.
        constants: (5, M), as ``TetFlow`` takes them.
    """

    def __init__(self, tets: Tets, constants: Tensor) -> None:
        self._tets, self._constants = tets, constants
        self._rest = tets.shape_gradients[1:].clone()

    def set_rest_shapes(self, plastic: Tensor) -> None:
        """Gives the tets the rest shapes that (10, M) plastic strains say."""
        flowed = matmul3(self._rest, plastic[:9].view(3, 3, -1))
        self._tets.set_rest_gradients(torch.where(plastic[9] > 0.0, flowed, self._rest))

    def flow(self, positions: Tensor, seconds: float, plastic: Tensor) -> bool:
        """Lets them flow at (3, N) positions, in place; whether any may have."""
        mu, yield_stress, hardening, creep_time, limit = self._constants
        f = self._tets.deformation_gradients(positions)
        squares, v = diagonalize(matmul3(f.transpose(0, 1), f))
        is_solid = (squares.amin(0) >= MIN_SQUARED_STRETCH) & (det3(f) > 0.0)
        strain = 0.5 * squares.clamp(min=MIN_SQUARED_STRETCH).log()
        strain -= strain.mean(0)
        stress = 2.0 * mu * (1.5 * strain.square().sum(0)).sqrt()
        excess = stress - (yield_stress + hardening * plastic[9])
        relaxed = -torch.expm1(-seconds / creep_time)
        growth = is_solid * relaxed * excess.clamp(min=0.0) / (3.0 * mu + hardening)
        flows = growth > 0.0
        factors = torch.exp(-3.0 * mu * growth / torch.where(flows, stress, 1.0) * strain)
        old = plastic[:9].view(3, 3, -1)
        new = matmul3(old, _scaled(v, factors))
        new *= det3(new).pow(-1.0 / 3.0)
        size, values, axes = _principal(new)
        is_over = size > limit
        back = values.pow(0.5 * (torch.where(is_over, limit / size, 1.0) - 1.0))
        new = torch.where(is_over, matmul3(_scaled(axes, back), new), new)
        left = torch.minimum(growth, (limit - _principal(old)[0]).clamp(min=0.0))
        plastic[9] += torch.where(is_over, left, growth)
        plastic[:9] = torch.where(flows, new, old).view(9, -1)
        self.set_rest_shapes(plastic)
        return True


def plastic_size(plastic: Tensor) -> Tensor:
    """(M,) √⅔ |ln U_p| of (10, M) plastic strains, which is the strain of a bar."""
    return _principal(plastic[:9].view(3, 3, -1))[0]


def _principal(inverse: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(M,) √⅔ |ln U_p|, and U_p⁻² = F_p⁻¹ F_p⁻ᵀ in principal axes: values and axes."""
    values, axes = diagonalize(matmul3(inverse, inverse.transpose(0, 1)))
    return (values.log().square().sum(0) / 6.0).sqrt(), values, axes


def _scaled(axes: Tensor, factors: Tensor) -> Tensor:
    return matmul3(axes * factors, axes.transpose(0, 1))


#: Rows of a plastic strain: F_p⁻¹ row by row, and α.
ROWS = 10


class TetFlow:
    """Plastic flow of tets: compiled loops on a CPU, torch passes on CUDA.

    A stiffness that is keyed to k makes the moduli k times as large, and no tet stronger. The flow
    depends on ratios only, so yield stress and hardening are divided by k instead.

    Args:
        elasticity: the elasticity of the tets.
        constants: (5, M) shear modulus, yield stress and hardening in pascal, creep time in
            seconds, limit of the plastic strain, at a stiffness of 1.
    """

    def __init__(self, elasticity: Elasticity, constants: Tensor) -> None:
        #: (5, M) constants; ``follow_stiffness`` updates them.
        self.tets, self.constants = elasticity.tets, constants
        self._elasticity, self._strengths = elasticity, constants[1:3].clone()
        self.constants[1:3] /= elasticity.stiffness
        #: (10, M), written to.
        self.plastic = self.tets.template.new_empty(ROWS, len(self.tets))
        kind = FlowKernel if runs_loops(self.tets.template) else TorchFlow
        #: Lets them flow.
        self.map: FlowKernel | TorchFlow = kind(self.tets, constants)
        self.set_plastic(None)

    def set_plastic(self, plastic: Tensor | None) -> None:
        """Gives the tets the rest shapes of a (10, M) plastic strain."""
        self.plastic.copy_(self.unstrained() if plastic is None else plastic)
        self.map.set_rest_shapes(self.plastic)

    def unstrained(self) -> Tensor:
        """The (10, M) plastic strain of tets that have not flowed."""
        plastic = torch.zeros_like(self.plastic)
        plastic[:9:4] = 1.0
        return plastic

    def follow_stiffness(self) -> None:
        """Takes yield stress and hardening over the stiffness of now."""
        if not self._elasticity.is_constant:
            self.constants[1:3] = self._strengths / self._elasticity.stiffness

    def flow(self, positions: Tensor, seconds: float) -> bool:
        """Lets them flow at (3, N) positions; whether any may have."""
        self.follow_stiffness()
        return self.map.flow(positions, seconds, self.plastic)


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
        elastic: the elasticity of the tets; it is left as it is.
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
        total, yielding = super().energy(positions), self._yielding(positions)
        if yielding is None:
            return total
        change = yielding.law.energy - _density(yielding.material, yielding.sigma)
        return total + self.stiffness * torch.dot(change, self.tets.volumes[yielding.which])

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        super().add_gradient(positions, out)
        yielding = self._yielding(positions)
        if yielding is None:
            return
        change = yielding.law.gradient - _principal_stresses(yielding.material, yielding.sigma)
        sizes = self.stiffness * self.tets.volumes[yielding.which]
        stress = matmul3(yielding.u * (sizes * change), _transposed(yielding.v))
        gradients = self.tets.shape_gradients[1:, :, yielding.which]
        forces = matmul3(stress, gradients.transpose(0, 1))
        forces = torch.cat([-forces.sum(1, keepdim=True), forces], dim=1)
        out.index_add_(1, self.corners[:, yielding.which].ravel(), forces.flatten(1))

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        blocks, yielding = self.tets.blocks, self._yielding(positions)
        self._hessian.blocks(positions, blocks, projected)
        if yielding is not None:
            hessian = yielding.law.eigensystem(yielding.u, yielding.sigma, yielding.v)
            yielding_blocks = blocks.new_empty(len(yielding.which), *blocks.shape[1:])
            gradients = self.tets.shape_gradients[:, :, yielding.which]
            volumes = self.tets.volumes[yielding.which]
            write_blocks(
                hessian.projected() if projected else hessian, volumes, gradients, yielding_blocks
            )
            blocks[yielding.which] = yielding_blocks
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
        material = _material_part(self.material, which)
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
    """Return the law at (3, A) stretches; ``flexibility`` is κ in 1/Pa, ``max_growth`` the most
    that Δα may be."""
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
    # Kirchhoff stresses after the flow, and the dissipation by r.
    stress = returned * _principal_stresses(material, returned)
    shear = stress - stress.mean(0)
    power = (shear * d).sum(0)
    resistance = (yield_stress + hardening * growth) * growth_rate
    gradient = stress.mean(0) + ratio * shear + (bend * power + resistance) * along
    # The derivative by logarithmic stretches; the stretches after the flow are a function of them.
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


def _material_part(material: Material, which: Tensor) -> Material:
    """The material of some tets."""
    parameters = {
        name: value[which]
        for name in PARAMETERS
        if isinstance(value := getattr(material, name), Tensor) and value.ndim > 0
    }
    return replace(material, **parameters)


def _transposed(matrices: Tensor) -> Tensor:
    return matrices.transpose(0, 1)


# The constants of a body without plasticity, see ``TetFlow``.
_ELASTIC = (math.inf, 0.0, 0.0, math.inf)


class PlasticFlow:
    """The plastic strains of a system's tets, as its elasticities see them.

    A plastic strain is a (10, P) tensor of the tets of all elasticities that have a body with
    plasticity, one after the other; None is none anywhere. The tets have one plastic strain at a
    time, since loops and recorded graphs read their rest shapes in place. Set ``plastic`` to that
    of a state before evaluating energies there.

    Args:
        elasticities: of the system.
        members: for each of them, its bodies and their meshes.
        changed: is called when tets have other rest shapes.
    """

    def __init__(
        self,
        elasticities: Sequence[Elasticity],
        members: Sequence[Sequence[tuple[SoftBody, TetMesh]]],
        changed: Callable[[], None],
    ) -> None:
        self._changed = changed
        #: The flow of each elasticity with plasticity, in the order of plastic strains.
        self.parts: list[TetFlow] = []
        for part, pairs in zip(elasticities, members, strict=True):
            if all(body.plasticity is None for body, _ in pairs):
                continue
            self.parts.append(TetFlow(part, _constants(part, pairs)))
        self._squared_speeds = [
            (part, _squared_speeds(part, pairs))
            for part, pairs in zip(elasticities, members, strict=True)
            if self
        ]
        self._fastest_before = self._fastest() if self else 1.0
        # The plastic strain of the parts, valid while ``_is_known``.
        self._plastic: Tensor | None = None
        self._is_known = True

    def __bool__(self) -> bool:
        """Whether any body has plasticity."""
        return len(self.parts) > 0

    @property
    def count(self) -> int:
        """P, of the tets that plastic strains are of."""
        return sum(len(part.tets) for part in self.parts)

    def take_note(self, plastic: Tensor | None) -> None:
        """Takes note that the tets have got the rest shapes of a plastic strain."""
        self._plastic, self._is_known = plastic, True
        self._changed()

    def pieces(self, plastic: Tensor | None) -> Sequence[Tensor | None]:
        """Split a plastic strain into the parts of each elasticity."""
        counts = [len(part.tets) for part in self.parts]
        return [None] * len(counts) if plastic is None else torch.split(plastic, counts, dim=1)

    def flow(self, positions: Tensor, seconds: float) -> None:
        """Lets the tets flow for some seconds at (3, N) positions."""
        flowed = [part.flow(positions, seconds) for part in self.parts]
        if any(flowed):
            self._is_known = False
            self._changed()

    @property
    def plastic(self) -> Tensor | None:
        """The present plastic strain of the tets, as a read-only tensor."""
        if not self._is_known:
            self._plastic = torch.cat([part.plastic for part in self.parts], dim=1)
            self._is_known = True
        return self._plastic

    @plastic.setter
    def plastic(self, plastic: Tensor | None) -> None:
        if self._is_known and plastic is self._plastic:
            return
        for part, piece in zip(self.parts, self.pieces(plastic), strict=True):
            part.set_plastic(piece)
        self.take_note(plastic)

    def in_steps(self, elastic: Elasticity) -> Elasticity:
        """Return the elasticity for implicit steps: it includes the flow of its tets."""
        flow = next((part for part in self.parts if part.tets is elastic.tets), None)
        return elastic if flow is None else YieldingElasticity(elastic, flow)

    @property
    def total_strain(self) -> float:
        """Σ α over all tets."""
        return sum(float(part.plastic[9].sum()) for part in self.parts)

    def strains_of(self, elasticity: Elasticity, plastic: Tensor | None) -> Tensor:
        """(M,) α of the tets of one of the elasticities; zeros where they cannot flow."""
        start = 0
        for part in self.parts:
            end = start + len(part.tets)
            if part.tets is elasticity.tets and plastic is not None:
                return plastic[9, start:end]
            start = end
        return elasticity.tets.template.new_zeros(len(elasticity.tets))

    @property
    def frequency_ratio(self) -> float:
        """Return the ratio of a tet's highest frequency to its value before all flow."""
        return math.sqrt(self._fastest() / self._fastest_before) if self else 1.0

    def _fastest(self) -> float:
        """The largest of (λ + 2μ)/ρ times the squared shape gradients of a tet, in 1/s²."""
        return max(
            float((squares * part.tets.shape_gradients.square().sum((0, 1))).max())
            for part, squares in self._squared_speeds
        )


def _squared_speeds(part: Elasticity, pairs: Sequence[tuple[SoftBody, TetMesh]]) -> Tensor:
    """Return the (M,) squared speeds of the fastest waves, in m²/s²."""
    density = np.concatenate([np.full(len(mesh.tets), body.density) for body, mesh in pairs])
    modulus = part.material.lam + 2.0 * part.material.mu
    return torch.as_tensor(modulus / torch.as_tensor(density).to(part.tets.volumes))


def _constants(part: Elasticity, pairs: Sequence[tuple[SoftBody, TetMesh]]) -> Tensor:
    """Return the (5, M) constants of ``TetFlow``: a tet that is partly filled yields at the same
    strain."""
    rows = []
    for body, mesh in pairs:
        plasticity, fill = (
            body.plasticity,
            np.ones(len(mesh.tets)) if mesh.fill is None else mesh.fill,
        )
        numbers: tuple[PerTet, ...] = _ELASTIC
        if plasticity is not None:
            numbers = (
                plasticity.yield_stress,
                plasticity.hardening,
                plasticity.creep_time,
                plasticity.limit,
            )
        rows.append(np.stack([np.broadcast_to(number, len(fill)) for number in numbers]))
        rows[-1][:2] *= fill
    mu = torch.as_tensor(part.material.mu, dtype=torch.float64)
    mu = mu.to(part.tets.volumes).expand(len(part.tets))
    others = torch.as_tensor(np.concatenate(rows, axis=1)).to(mu)
    return torch.cat([mu[None], others]).contiguous()
