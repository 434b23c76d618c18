# SPDX-License-Identifier: GPL-3.0-or-later
"""Elastic energies and forces of tets, by the laws of materials.

Torch's operations on whole arrays are bound by memory: fused, a tet's intermediate values never
leave the registers.
"""

from __future__ import annotations

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
    contracted,
    determinant,
    from_columns,
    full,
    matmul3,
    matrix_of,
    scaled,
    set_column,
    squared,
    symmetric_in,
    tet_edges,
    transposed,
)
from ..math3.vectors import scaled as scaled_vector
from .deformation import signed_svd

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

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        sum_at_vertices(self.edge_forces(positions), self._corners, out.numpy())

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


@compiled()
def sum_at_vertices(forces: Any, corners: Any, out: Any) -> None:
    """Adds edge forces (9, M) to vertices (3, N): in one order, so that the sum is the same."""
    for e in range(corners.shape[1]):
        for i in range(3):
            first, second, third = forces[3 * i, e], forces[3 * i + 1, e], forces[3 * i + 2, e]
            out[i, corners[1, e]] += first
            out[i, corners[2, e]] += second
            out[i, corners[3, e]] += third
            out[i, corners[0, e]] -= first + second + third


#: Fewer tets than this a thread cost more to hand out than to compute.
STRETCH_TETS_PER_THREAD = 1000
#: Energies are added up in chunks of this many tets, so that the sum is always the same.
TETS_PER_CHUNK = 128


class StretchKernel:
    """Energy and gradient of the tets of one material.

    Args:
        constants: of the tets.
    """

    def __init__(self, constants: Constants, tets: Tets) -> None:
        self._corners, self._volumes = tets.corners.numpy(), tets.volumes.numpy()
        law = constants.moduli, constants.law, constants.kappa
        self._tets = self._corners, tets.gradients_by_tet, self._volumes, *law
        self._forces = np.empty((9, len(tets)), dtype=self._volumes.dtype)
        self._energies = np.empty(-(-len(tets) // TETS_PER_CHUNK))

    def energy(self, positions: Tensor) -> float:
        """In joules; the sum is the same whatever the number of threads."""
        use_threads(len(self._volumes), STRETCH_TETS_PER_THREAD)
        _stretch_energy_sums(positions.numpy(), *self._tets, self._energies)
        return float(self._energies.sum())

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        sum_at_vertices(self.edge_forces(positions), self._corners, out.numpy())

    def edge_forces(self, positions: Tensor) -> NDArray[Any]:
        """As ``ElasticityKernel`` has them."""
        use_threads(len(self._volumes), STRETCH_TETS_PER_THREAD)
        _stretch_edge_forces(positions.numpy(), *self._tets, self._forces)
        return self._forces


@compiled(parallel=True)
def _stretch_edge_forces(
    positions: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    moduli: Any,
    law: int,
    kappa: float,
    out: Any,
) -> None:
    """V P times the shape gradients of corners 1 to 3, into (9, M)."""
    for e in shared_range(corners.shape[1]):
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
