# SPDX-License-Identifier: GPL-3.0-or-later
"""Elastic energies and forces of tets, by the laws of materials.

Torch's operations on whole arrays are bound by memory: fused, a tet's intermediate values never
leave the registers.

Hessians are written by pairs of a tet's corners. With the edges D from corner 0, C = cof D, V the
volume at rest and S the products of the shape gradients, so that I_C = D : D S and J = det D / 6V,
the gradient of V Ψ by D is p V D S + q C / 6, p = 2 Ψ_I and q = Ψ_J. Its derivative by column b of
D, in column a, with A = V D S, is

    p V S_ab I + (4 Ψ_II A_a A_bᵀ + Ψ_IJ (A_a C_bᵀ + C_a A_bᵀ) / 3 + Ψ_JJ C_a C_bᵀ / 36) / V
    + q ∂C_a/∂D_b / 6,

∂C_a/∂D_b being ±[D_c]× of the third column. Singular vectors are needed only to project it.

As it is, that of a law in I_C and J needs no singular vectors. Formulas
and sources of the others: ``torch_matrices.py``, which writes the same for torch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, runs_loops, shared_range, use_threads
from ..materials import (
    AsRigidAsPossible,
    CorotatedLinear,
    Material,
    NeoHookean,
    StableNeoHookean,
    StretchMaterial,
    StVenantKirchhoff,
)
from ..math3.logarithm import logarithm
from ..math3.matrices import (
    add3,
    cofactors,
    column_of,
    contracted,
    determinant,
    dot,
    from_columns,
    full,
    matmul3,
    matrix,
    matrix_of,
    scaled,
    set_column,
    squared,
    symmetric,
    symmetric_in,
    tet_edges,
    transposed,
)
from ..math3.vectors import scaled as scaled_vector
from ..math3.vectors import weighted
from .deformation import AXES, diagonalized, signed_svd

if TYPE_CHECKING:
    from ..assembly.tets import Tets


#: The laws that the compiled loops know, by the number they are given.
LAWS: list[type[Material]] = [
    StableNeoHookean,
    NeoHookean,
    CorotatedLinear,
    AsRigidAsPossible,
    StVenantKirchhoff,
]
#: From here on they are written in the principal stretches.
FIRST_STRETCH_LAW = LAWS.index(CorotatedLinear)
_STABLE_NEO_HOOKEAN = LAWS.index(StableNeoHookean)
_ST_VENANT_KIRCHHOFF = LAWS.index(StVenantKirchhoff)


def has_kernel(material: Material, template: Tensor) -> bool:
    """Whether compiled loops can take the tets of this material on the device of ``template``."""
    return runs_loops(template) and type(material) in LAWS


class Constants:
    """Constants of each tet that compiled kernels read.

    Args:
        material: with parameters that are numbers or (M,) tensors.
        volumes: (M,) in m³, on the CPU.
    """

    def __init__(self, material: Material, volumes: Tensor) -> None:
        self.law = LAWS.index(type(material))
        precision = volumes.numpy().dtype.type
        self.low, self.high = (precision(limit) for limit in material.valid_j_range())
        #: κ in pascal.
        self.kappa = 0.0
        if isinstance(material, StretchMaterial):
            self.kappa = float(material.compression_resistance)
        #: (2, M) Lamé's μ and λ in pascal.
        self.moduli: NDArray[Any] = np.stack(
            [
                torch.as_tensor(modulus, dtype=volumes.dtype).expand(len(volumes)).numpy()
                for modulus in (material.mu, material.lam)
            ]
        )


_stable_first = compiled()(StableNeoHookean.first_derivatives)
_stable_second = compiled()(StableNeoHookean.second_derivatives)
_stable_density = compiled()(StableNeoHookean.strain_energy_density)
_neo_first = compiled()(NeoHookean.first_derivatives)
_neo_second = compiled()(NeoHookean.second_derivatives)
_neo_density = compiled()(NeoHookean.strain_energy_density)
_corotated_first = compiled()(CorotatedLinear.first_derivatives)
_corotated_second = compiled()(CorotatedLinear.second_derivatives)
_corotated_density = compiled()(CorotatedLinear.strain_energy_density)
_green_first = compiled()(StVenantKirchhoff.first_derivatives)
_green_second = compiled()(StVenantKirchhoff.second_derivatives)
_green_density = compiled()(StVenantKirchhoff.strain_energy_density)


@compiled()
def first_derivatives(law: int, i_c: Any, j: Any, mu: Any, lam: Any) -> Any:
    """See ``InvariantMaterial.first_derivatives``."""
    if law == _STABLE_NEO_HOOKEAN:
        return _stable_first(i_c, j, mu, lam)
    return _neo_first(i_c, j, mu, lam)


@compiled()
def second_derivatives(law: int, i_c: Any, j: Any, mu: Any, lam: Any) -> Any:
    """See ``InvariantMaterial.second_derivatives``."""
    if law == _STABLE_NEO_HOOKEAN:
        return _stable_second(i_c, j, mu, lam)
    return _neo_second(i_c, j, mu, lam)


@compiled(inline=True)
def strain_energy_density(law: int, i_c: Any, j: Any, mu: Any, lam: Any) -> Any:
    """See ``InvariantMaterial.strain_energy_density``."""
    if law == _STABLE_NEO_HOOKEAN:
        return _stable_density(i_c, j, mu, lam, logarithm)
    return _neo_density(i_c, j, mu, lam, logarithm)


@compiled()
def principal_stresses(law: int, a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float) -> Any:
    """See ``StretchMaterial.first_derivatives``."""
    if law == _ST_VENANT_KIRCHHOFF:
        return _green_first(a, b, c, mu, lam, kappa)
    return _corotated_first(a, b, c, mu, lam, kappa)


@compiled()
def stretch_second_derivatives(
    law: int, a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
) -> Any:
    """See ``StretchMaterial.second_derivatives``."""
    if law == _ST_VENANT_KIRCHHOFF:
        return _green_second(a, b, c, mu, lam, kappa)
    return _corotated_second(a, b, c, mu, lam, kappa)


@compiled()
def stretch_energy_density(
    law: int, a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
) -> Any:
    """See ``StretchMaterial.strain_energy_density``."""
    if law == _ST_VENANT_KIRCHHOFF:
        return _green_density(a, b, c, mu, lam, kappa)
    return _corotated_density(a, b, c, mu, lam, kappa)


#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 6000


class ElasticityKernel:
    """Energy and gradient of the tets of one material.

    Args:
        constants: of the tets.
    """

    def __init__(self, constants: Constants, tets: Tets) -> None:
        self._constants, self._corners = constants, tets.corners.numpy()
        self._metric = tets.metric_by_tet
        #: Number of the law, and the range of J in which it holds.
        self.law = constants.law, constants.low, constants.high
        #: (2, M) Lamé's μ and λ in pascal.
        self.moduli = constants.moduli
        self._tets = self._corners, self._metric, constants.moduli, *self.law
        self._forces: NDArray[Any] = np.empty((9, len(tets)), dtype=self._metric.dtype)
        self._vertex_sums = tets.vertex_sums

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        self._vertex_sums.add(self.edge_forces(positions), out.numpy())

    def edge_forces(self, positions: Tensor) -> NDArray[Any]:
        """(9, M) gradient by the edges of tets, in newtons; the next call writes over it."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        _edge_forces(positions.numpy(), *self._tets, self._forces)
        return self._forces

    def energy(self, positions: Tensor) -> float:
        """In joules; the sum is the same whatever the number of threads."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        energies = self._forces[0]
        _energies(positions.numpy(), *self._tets, energies)
        return float(energies.sum())


@compiled(parallel=True)
def _edge_forces(
    positions: Any, corners: Any, metric: Any, moduli: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """The energy's gradient by the three edges of each tet, ``out`` (9, M): see ``Elasticity``."""
    sixth = out.dtype.type(1.0 / 6.0)
    for e in shared_range(corners.shape[1]):
        d, s = tet_edges(positions, corners, e), symmetric_in(metric, e)
        mu, lam = moduli[0, e], moduli[1, e]
        set_column(out, e, tet_forces(d, s, metric[6, e], law, low, high, mu, lam, sixth))


@compiled(inline=True)
def tet_forces(
    d: Any,
    metric: Any,
    inverse_volume: Any,
    law: int,
    low: Any,
    high: Any,
    mu: Any,
    lam: Any,
    sixth: Any,
) -> Any:
    """The energy's gradient by the three edges of a tet, nine numbers.

    Args:
        d: edges, as ``tet_edges`` has them.
        metric: V S of six numbers, with the metric S of the rest shape.
        low, high: the range of J in which the law holds.
        mu, lam: Lamé's, in pascal.
        sixth: 1/6 in the precision of the others.
    """
    # V D S and cof D
    a, c = matmul3(d, full(metric)), cofactors(d)
    i_c = inverse_volume * (
        d[0] * a[0]
        + d[1] * a[1]
        + d[2] * a[2]
        + d[3] * a[3]
        + d[4] * a[4]
        + d[5] * a[5]
        + d[6] * a[6]
        + d[7] * a[7]
        + d[8] * a[8]
    )
    j = sixth * inverse_volume * determinant(d, c)
    p, q = first_derivatives(law, i_c, min(max(j, low), high), mu, lam)
    return add3(scaled(p, a), scaled(sixth * q, c))


@compiled(parallel=True)
def _energies(
    positions: Any, corners: Any, metric: Any, moduli: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """(M,) energies, in J."""
    for e in shared_range(corners.shape[1]):
        d, s = tet_edges(positions, corners, e), symmetric_in(metric, e)
        mu, lam = moduli[0, e], moduli[1, e]
        out[e] = tet_energy(d, s, metric[6, e], law, low, high, mu, lam)


@compiled(inline=True)
def tet_energy(
    d: Any, metric: Any, inverse_volume: Any, law: int, low: Any, high: Any, mu: Any, lam: Any
) -> Any:
    """In joules; arguments as ``tet_forces`` has them."""
    c = cofactors(d)
    i_c = inverse_volume * contracted(squared(d), metric)
    j = inverse_volume * (d[0] * c[0] + d[1] * c[1] + d[2] * c[2]) / 6.0
    inside = min(max(j, low), high)
    _, derivative = first_derivatives(law, i_c, inside, mu, lam)
    density = strain_energy_density(law, i_c, inside, mu, lam) + derivative * (j - inside)
    return density / inverse_volume


#: Fewer tets than this a thread cost more to hand out than to compute.
STRETCH_TETS_PER_THREAD = 1000
#: Energies are added up in chunks of this many tets, so that the sum is always the same.
TETS_PER_CHUNK = 128


class StretchKernel:
    """Energy and gradient of the tets of one material.

    The sum i of the stretches is the largest root of i⁴ − 2 I i² − 8 J i + 2 K − I², with
    I = tr C, K = tr C² and C = Fᵀ F: the roots are the sums with an even number of signs changed.
    So these laws are functions of I, J and K too, and the gradient of V Ψ by D is
    p A + q cof D / 6 + r A M, with A = V D S, M = DᵀD S, p = 2 Ψ_I, q = Ψ_J and r = 4 Ψ_K. That
    takes a tenth of the time of singular vectors, which are left to nearly flat tets.

    Args:
        constants: of the tets.
    """

    def __init__(self, constants: Constants, tets: Tets) -> None:
        self._corners, self._volumes = tets.corners.numpy(), tets.volumes.numpy()
        law = constants.moduli, constants.law, constants.kappa
        self._tets = self._corners, tets.gradients_by_tet, self._volumes, *law
        self._metric, self._moduli = tets.metric_by_tet, constants.moduli
        self._kappa = constants.kappa if constants.law == _ST_VENANT_KIRCHHOFF else None
        self._forces = np.empty((9, len(tets)), dtype=self._volumes.dtype)
        self._vertex_sums = tets.vertex_sums
        self._separations = np.empty(len(tets))
        self._energies = np.empty(-(-len(tets) // TETS_PER_CHUNK))

    def energy(self, positions: Tensor) -> float:
        """In joules; the sum is the same whatever the number of threads."""
        use_threads(len(self._volumes), STRETCH_TETS_PER_THREAD)
        _stretch_energy_sums(positions.numpy(), *self._tets, self._energies)
        return float(self._energies.sum())

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        self._vertex_sums.add(self.edge_forces(positions), out.numpy())

    def edge_forces(self, positions: Tensor) -> NDArray[Any]:
        """As ``ElasticityKernel`` has them."""
        use_threads(len(self._volumes), TETS_PER_THREAD)
        at = positions.numpy(), self._corners, self._metric, self._moduli
        if self._kappa is not None:
            _green_edge_forces(*at, self._kappa, self._forces)
            return self._forces
        _corotated_edge_forces(*at, self._separations, self._forces)
        if self._separations.min() < MIN_SEPARATION:
            use_threads(len(self._volumes), STRETCH_TETS_PER_THREAD)
            _write_separated(positions.numpy(), *self._tets, self._separations, self._forces)
        return self._forces


#: The slope of the polynomial of i at i, over i³, below which singular vectors are computed. It is
#: 8 (a + b) (b + c) (c + a) of the stretches; undeformed tets have 64/27.
MIN_SEPARATION = 0.02


@compiled(parallel=True)
def _corotated_edge_forces(
    positions: Any, corners: Any, metric: Any, moduli: Any, separations: Any, out: Any
) -> None:
    """V P times the shape gradients of corners 1 to 3, into (9, M), for the corotated linear and
    the as-rigid-as-possible law; and the (M,) slopes of which ``MIN_SEPARATION`` is one."""
    for e in shared_range(corners.shape[1]):
        d, s = tet_edges(positions, corners, e), symmetric_in(metric, e)
        a, c, m = matmul3(d, full(s)), cofactors(d), _strain_product(d, s, metric[6, e])
        i_c, j = m[0] + m[4] + m[8], metric[6, e] * determinant(d, c) / 6.0
        k = m[0] * m[0] + m[4] * m[4] + m[8] * m[8]
        k += 2.0 * (m[1] * m[3] + m[2] * m[6] + m[5] * m[7])
        # Six steps from √3I, the largest that i may be, without a loop, which would keep tets from
        # being taken four at a time. The error is below 1e-13 where singular vectors are not
        # computed; three steps serve while stretches are between 0.5 and 1.5.
        last, i = 2.0 * k - i_c * i_c, math.sqrt(3.0 * i_c)
        i = _nearer_sum(_nearer_sum(i, i_c, j, last), i_c, j, last)
        i = _nearer_sum(_nearer_sum(i, i_c, j, last), i_c, j, last)
        i = _nearer_sum(_nearer_sum(i, i_c, j, last), i_c, j, last)
        slope = (i * i - i_c) * i - 2.0 * j
        mu, push = moduli[0, e], (moduli[1, e] * (i - 3.0) - 2.0 * moduli[0, e]) / slope
        p, q, r = 2.0 * mu + push * (i * i + i_c), 2.0 * push * i, -2.0 * push
        separations[e] = 4.0 * slope / (i * i * i)
        set_column(out, e, _edge_gradient(a, c, m, p, q / 6.0, r))


@compiled(parallel=True)
def _green_edge_forces(
    positions: Any, corners: Any, metric: Any, moduli: Any, kappa: float, out: Any
) -> None:
    """As ``_corotated_edge_forces``, for St. Venant–Kirchhoff."""
    for e in shared_range(corners.shape[1]):
        d, s = tet_edges(positions, corners, e), symmetric_in(metric, e)
        a, c, m = matmul3(d, full(s)), cofactors(d), _strain_product(d, s, metric[6, e])
        i_c, j = m[0] + m[4] + m[8], metric[6, e] * determinant(d, c) / 6.0
        mu, lam = moduli[0, e], moduli[1, e]
        compression = max(0.0, 1.0 - j)
        p, q = 0.5 * lam * (i_c - 3.0) - mu, -kappa / 864.0 * compression * compression
        set_column(out, e, _edge_gradient(a, c, m, p, q / 6.0, mu))


@compiled(inline=True)
def _strain_product(d: Any, metric: Any, inverse_volume: Any) -> Any:
    """M = DᵀD S, whose trace is that of C."""
    return scaled(inverse_volume, matmul3(full(squared(d)), full(metric)))


@compiled(inline=True)
def _nearer_sum(i: Any, i_c: Any, j: Any, last: Any) -> Any:
    """Take one of Laguerre's steps to the sum of the stretches, the largest of four real roots."""
    squared_sum = i * i
    value = ((squared_sum - 2.0 * i_c) * i - 8.0 * j) * i + last
    slope, bend = 4.0 * (squared_sum - i_c) * i - 8.0 * j, 12.0 * squared_sum - 4.0 * i_c
    discriminant = max(0.0, 9.0 * slope * slope - 12.0 * value * bend)
    return i - 4.0 * value / (slope + math.sqrt(discriminant))


@compiled(inline=True)
def _edge_gradient(a: Any, c: Any, m: Any, p: Any, q: Any, r: Any) -> Any:
    """p A + q cof D + r A M."""
    return add3(add3(scaled(p, a), scaled(q, c)), scaled(r, matmul3(a, m)))


@compiled(parallel=True)
def _write_separated(
    positions: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    moduli: Any,
    law: int,
    kappa: float,
    separations: Any,
    out: Any,
) -> None:
    """Write the gradients of tets below ``MIN_SEPARATION`` by their singular vectors."""
    for e in shared_range(corners.shape[1]):
        if separations[e] >= MIN_SEPARATION:
            continue
        g, volume = matrix_of(gradients[e]), volumes[e]
        u, s, v = signed_svd(matmul3(tet_edges(positions, corners, e), g))
        a, b, c = principal_stresses(law, s[0], s[1], s[2], moduli[0, e], moduli[1, e], kappa)
        stretched = (
            scaled_vector(volume * a, u[0]),
            scaled_vector(volume * b, u[1]),
            scaled_vector(volume * c, u[2]),
        )
        frame = from_columns(stretched[0], stretched[1], stretched[2])
        stress = matmul3(frame, transposed(from_columns(v[0], v[1], v[2])))
        set_column(out, e, matmul3(stress, transposed(g)))


@compiled(parallel=True)
def _stretch_energy_sums(
    positions: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    moduli: Any,
    law: int,
    kappa: float,
    out: Any,
) -> None:
    """Energies of chunks of tets, in J."""
    for chunk in shared_range(out.shape[0]):
        total = 0.0
        for e in range(chunk * TETS_PER_CHUNK, min(corners.shape[1], (chunk + 1) * TETS_PER_CHUNK)):
            f = matmul3(tet_edges(positions, corners, e), matrix_of(gradients[e]))
            _, s, _ = signed_svd(f)
            mu, lam = moduli[0, e], moduli[1, e]
            total += volumes[e] * stretch_energy_density(law, s[0], s[1], s[2], mu, lam, kappa)
        out[chunk] = total


if TYPE_CHECKING:
    from ..assembly.tets import Tets


@compiled()
def products(u: Any, v: Any, w: Any, x: Any) -> Any:
    """u vᵀ + w xᵀ of vectors."""
    return (
        u[0] * v[0] + w[0] * x[0],
        u[0] * v[1] + w[0] * x[1],
        u[0] * v[2] + w[0] * x[2],
        u[1] * v[0] + w[1] * x[0],
        u[1] * v[1] + w[1] * x[1],
        u[1] * v[2] + w[1] * x[2],
        u[2] * v[0] + w[2] * x[0],
        u[2] * v[1] + w[2] * x[1],
        u[2] * v[2] + w[2] * x[2],
    )


@compiled()
def write_corner_blocks(
    h11: Any, h12: Any, h13: Any, h22: Any, h23: Any, h33: Any, out: Any
) -> None:
    """Writes (10, 9) blocks in the order of ``CORNER_PAIRS``.

    Moving all corners alike changes nothing, which gives the blocks of corner 0.

    Args:
        h11, …: blocks of corners 1 to 3, nine numbers each.
    """
    b01 = _negative_sum(h11, transposed(h12), transposed(h13))
    b02 = _negative_sum(h12, h22, transposed(h23))
    b03 = _negative_sum(h13, h23, h33)
    _write(transposed(_negative_sum(b01, b02, b03)), out[0])
    _write(b01, out[1])
    _write(b02, out[2])
    _write(b03, out[3])
    _write(h11, out[4])
    _write(h12, out[5])
    _write(h13, out[6])
    _write(h22, out[7])
    _write(h23, out[8])
    _write(h33, out[9])


@compiled()
def _negative_sum(a: Any, b: Any, c: Any) -> Any:
    return scaled(-1.0, add3(a, add3(b, c)))


@compiled()
def _write(m: Any, out: Any) -> None:
    out[0], out[1], out[2] = m[0], m[1], m[2]
    out[3], out[4], out[5] = m[3], m[4], m[5]
    out[6], out[7], out[8] = m[6], m[7], m[8]


@compiled()
def invariant_derivatives(i_c: Any, j: Any, material: Any, mu: Any, lam: Any) -> Any:
    """2 Ψ_I, Ψ_J, 4 Ψ_II, 2 Ψ_IJ and Ψ_JJ in pascal; beyond its limits Ψ goes on along its tangent
    in J.

    Args:
        material: number of the law, its kappa, and between which J it holds.
    """
    law, _, low, high = material
    inside = min(max(j, low), high)
    p, q = first_derivatives(law, i_c, inside, mu, lam)
    d2_i, mixed, d2_j = second_derivatives(law, i_c, inside, mu, lam)
    if inside != j:
        mixed, d2_j = 0.0 * mixed, 0.0 * d2_j
    return p, q, d2_i, mixed, d2_j


@compiled()
def edge_blocks(d: Any, s: Any, material: Any, tet_constants: Any) -> Any:
    """The blocks 11, 12, 13, 22, 23 and 33 in N/m.

    Args:
        d, s: D and V S.
        material: as of ``invariant_derivatives``.
        tet_constants: μ, λ and 1/V of the tet.
    """
    mu, lam, inverse_volume = tet_constants
    a, c = matmul3(d, s), cofactors(d)
    i_c, j = inverse_volume * dot(d, a), inverse_volume * determinant(d, c) / 6.0
    p, q, d2_i, mixed, d2_j = invariant_derivatives(i_c, j, material, mu, lam)
    d2_i, mixed, d2_j = d2_i * inverse_volume, mixed * inverse_volume / 6.0, d2_j * inverse_volume
    d2_j, turn = d2_j / 36.0, q / 6.0
    a1, a2, a3 = column_of(a, 0), column_of(a, 1), column_of(a, 2)
    c1, c2, c3 = column_of(c, 0), column_of(c, 1), column_of(c, 2)
    d1, d2, d3 = column_of(d, 0), column_of(d, 1), column_of(d, 2)
    x1, y1 = weighted(d2_i, a1, mixed, c1), weighted(mixed, a1, d2_j, c1)
    x2, y2 = weighted(d2_i, a2, mixed, c2), weighted(mixed, a2, d2_j, c2)
    x3, y3 = weighted(d2_i, a3, mixed, c3), weighted(mixed, a3, d2_j, c3)
    return (
        _with_rotation(products(x1, a1, y1, c1), p * s[0], 0.0, d1),
        _with_rotation(products(x1, a2, y1, c2), p * s[1], -turn, d3),
        _with_rotation(products(x1, a3, y1, c3), p * s[2], turn, d2),
        _with_rotation(products(x2, a2, y2, c2), p * s[4], 0.0, d2),
        _with_rotation(products(x2, a3, y2, c3), p * s[5], -turn, d1),
        _with_rotation(products(x3, a3, y3, c3), p * s[8], 0.0, d3),
    )


@compiled()
def _with_rotation(m: Any, along: Any, turn: Any, v: Any) -> Any:
    """M + along I + turn [v]×."""
    x, y, z = turn * v[0], turn * v[1], turn * v[2]
    return (
        m[0] + along,
        m[1] - z,
        m[2] + y,
        m[3] + z,
        m[4] + along,
        m[5] - x,
        m[6] - y,
        m[7] + x,
        m[8] + along,
    )


HESSIAN_TETS_PER_THREAD = 500


class HessianKernel:
    """Hessians of the tets of one material.

    Args:
        constants: of the tets.
    """

    def __init__(self, constants: Constants, tets: Tets) -> None:
        self._constants, self._tets = constants, tets

    def blocks(self, positions: Tensor, out: Tensor, projected: bool = True) -> None:
        """Writes the (M, 10, 9) blocks of ``CORNER_PAIRS``, row by row, in N/m."""
        use_threads(len(self._tets), HESSIAN_TETS_PER_THREAD)
        constants, tets = self._constants, self._tets
        at = positions.numpy(), tets.corners.numpy()
        material = constants.law, constants.kappa, constants.low, constants.high
        if projected or constants.law >= FIRST_STRETCH_LAW:
            floor = 0.0 if projected else -math.inf
            volumes, gradients = tets.volumes.numpy(), tets.gradients_by_tet
            _write_from_stretches(
                *at, gradients, volumes, constants.moduli, material, floor, out.numpy()
            )
            return
        _write_from_invariants(*at, tets.metric_by_tet, constants.moduli, material, out.numpy())


@compiled(parallel=True)
def _write_from_invariants(
    positions: Any, corners: Any, metric: Any, moduli: Any, material: Any, out: Any
) -> None:
    for e in shared_range(corners.shape[1]):
        d, s = tet_edges(positions, corners, e), full(symmetric_in(metric, e))
        tet_constants = moduli[0, e], moduli[1, e], metric[6, e]
        h11, h12, h13, h22, h23, h33 = edge_blocks(d, s, material, tet_constants)
        write_corner_blocks(h11, h12, h13, h22, h23, h33, out[e])


@compiled(parallel=True)
def _write_from_stretches(
    positions: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    moduli: Any,
    material: Any,
    floor: float,
    out: Any,
) -> None:
    """Eigenvalues are ``floor`` at least."""
    for e in shared_range(corners.shape[1]):
        g = matrix_of(gradients[e])
        u, sigma, v = signed_svd(matmul3(tet_edges(positions, corners, e), g))
        if material[0] >= FIRST_STRETCH_LAW:
            stretch, flip, twist = _stretch_eigensystem(sigma, material, moduli[0, e], moduli[1, e])
        else:
            stretch, flip, twist = _invariants_eigensystem(
                sigma, material, moduli[0, e], moduli[1, e]
            )
        if floor == 0.0:
            stretch = _projected(stretch)
        volume = volumes[e]
        along, across = _pairs(flip, twist, floor)
        frame = from_columns(u[0], u[1], u[2])
        g = matmul3(g, from_columns(v[0], v[1], v[2]))
        # Shape gradients of corners 1 to 3 in the frame of the singular vectors.
        g1, g2, g3 = (g[0], g[1], g[2]), (g[3], g[4], g[5]), (g[6], g[7], g[8])
        w1, w2, w3 = scaled_vector(volume, g1), scaled_vector(volume, g2), scaled_vector(volume, g3)
        write_corner_blocks(
            _block(frame, stretch, along, across, w1, g1),
            _block(frame, stretch, along, across, w1, g2),
            _block(frame, stretch, along, across, w1, g3),
            _block(frame, stretch, along, across, w2, g2),
            _block(frame, stretch, along, across, w2, g3),
            _block(frame, stretch, along, across, w3, g3),
            out[e],
        )


@compiled()
def _stretch_eigensystem(s: Any, material: Any, mu: Any, lam: Any) -> Any:
    """The eigensystem of a law in the stretches: ∂²Ψ/∂σ_i∂σ_j, flips and twists, in pascal.

    Args:
        material: number of the law, its kappa, and between which J it holds.
    """
    n = stretch_second_derivatives(material[0], s[0], s[1], s[2], mu, lam, material[1])
    stretch = symmetric(n[0], n[5], n[4], n[1], n[3], n[2])
    return stretch, (n[6], n[7], n[8]), (n[9], n[10], n[11])


@compiled()
def _invariants_eigensystem(s: Any, material: Any, mu: Any, lam: Any) -> Any:
    """Return the eigensystem of a law in I_C and J, as ``_stretch_eigensystem`` does."""
    i_c, j = s[0] * s[0] + s[1] * s[1] + s[2] * s[2], s[0] * s[1] * s[2]
    p, q, d2_i, mixed, d2_j = invariant_derivatives(i_c, j, material, mu, lam)
    c = s[1] * s[2], s[2] * s[0], s[0] * s[1]
    turned = q * s[0], q * s[1], q * s[2]
    stretch = symmetric(
        p + d2_i * s[0] * s[0] + 2.0 * mixed * s[0] * c[0] + d2_j * c[0] * c[0],
        d2_i * s[0] * s[1] + mixed * (s[0] * c[1] + s[1] * c[0]) + d2_j * c[0] * c[1] + turned[2],
        d2_i * s[2] * s[0] + mixed * (s[2] * c[0] + s[0] * c[2]) + d2_j * c[2] * c[0] + turned[1],
        p + d2_i * s[1] * s[1] + 2.0 * mixed * s[1] * c[1] + d2_j * c[1] * c[1],
        d2_i * s[1] * s[2] + mixed * (s[1] * c[2] + s[2] * c[1]) + d2_j * c[1] * c[2] + turned[0],
        p + d2_i * s[2] * s[2] + 2.0 * mixed * s[2] * c[2] + d2_j * c[2] * c[2],
    )
    flip = p - turned[0], p - turned[1], p - turned[2]
    return stretch, flip, (p + turned[0], p + turned[1], p + turned[2])


@compiled()
def _pairs(flip: Any, twist: Any, floor: float) -> Any:
    """Return the coefficients of δ_ij for itself and for δ_ji, by the axis that is left out."""
    f0, f1, f2 = max(flip[0], floor), max(flip[1], floor), max(flip[2], floor)
    t0, t1, t2 = max(twist[0], floor), max(twist[1], floor), max(twist[2], floor)
    along = 0.5 * (f0 + t0), 0.5 * (f1 + t1), 0.5 * (f2 + t2)
    return along, (0.5 * (f0 - t0), 0.5 * (f1 - t1), 0.5 * (f2 - t2))


@compiled()
def _projected(a: Any) -> Any:
    """The nearest positive semi-definite matrix to a symmetric one."""
    minor = a[0] * a[3] - a[1] * a[1]
    determinant = (
        a[0] * (a[3] * a[5] - a[4] * a[4])
        - a[1] * (a[1] * a[5] - a[4] * a[2])
        + a[2] * (a[1] * a[4] - a[3] * a[2])
    )
    if a[0] > 0.0 and minor > 0.0 and determinant > 0.0:
        return a
    values, vectors = diagonalized(a, AXES)
    x, y, z = vectors
    p, q, r = max(values[0], 0.0), max(values[1], 0.0), max(values[2], 0.0)
    return symmetric(
        p * x[0] * x[0] + q * y[0] * y[0] + r * z[0] * z[0],
        p * x[0] * x[1] + q * y[0] * y[1] + r * z[0] * z[1],
        p * x[0] * x[2] + q * y[0] * y[2] + r * z[0] * z[2],
        p * x[1] * x[1] + q * y[1] * y[1] + r * z[1] * z[1],
        p * x[1] * x[2] + q * y[1] * y[2] + r * z[1] * z[2],
        p * x[2] * x[2] + q * y[2] * y[2] + r * z[2] * z[2],
    )


@compiled()
def _block(u: Any, stretch: Any, along: Any, across: Any, a: Any, b: Any) -> Any:
    """Return the block of two corners from their shape gradients, in the frame of the singular
    vectors.
    """
    h = matrix(
        stretch[0] * a[0] * b[0] + along[2] * a[1] * b[1] + along[1] * a[2] * b[2],
        stretch[1] * a[0] * b[1] + across[2] * a[1] * b[0],
        stretch[2] * a[0] * b[2] + across[1] * a[2] * b[0],
        stretch[1] * a[1] * b[0] + across[2] * a[0] * b[1],
        stretch[3] * a[1] * b[1] + along[0] * a[2] * b[2] + along[2] * a[0] * b[0],
        stretch[4] * a[1] * b[2] + across[0] * a[2] * b[1],
        stretch[2] * a[2] * b[0] + across[1] * a[0] * b[2],
        stretch[4] * a[2] * b[1] + across[0] * a[1] * b[2],
        stretch[5] * a[2] * b[2] + along[1] * a[0] * b[0] + along[0] * a[1] * b[1],
    )
    return matmul3(u, matmul3(h, transposed(u)))
