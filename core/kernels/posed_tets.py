# SPDX-License-Identifier: GPL-3.0-or-later
"""Elasticity from a pose that lasts one step, and rest shapes of tets that it squeezes.

The rest shape of a single step is never written: it passes from the pose to the forces in
registers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from ..math3.matrices import (
    add3,
    cofactors,
    determinant,
    from_columns,
    matmul3,
    matrix,
    matrix_in,
    scaled,
    scaled_symmetric,
    set_column,
    squared,
    symmetric,
    symmetric_cofactors,
    tet_edges,
    transformed,
    transposed,
)
from ..math3.matrices import dot as contraction
from ..math3.vectors import cross, dot
from ..math3.vectors import scaled as scaled_vector
from .deformation import signed_svd
from .elasticity import (
    TETS_PER_THREAD,
    ElasticityKernel,
    sum_at_vertices,
    tet_energy,
    tet_forces,
)

if TYPE_CHECKING:
    from ..assembly.tets import Tets


# Newton steps to the smallest eigenvalue, which converge quadratically from below.
MAX_NEWTON_STEPS, ROUNDING_RATIO = 12, 1e-15
# The least ratio of (λ₁ − λ₃)(λ₂ − λ₃) to the square of the trace. Below it the direction of the
# smallest stretch has an error above 1e-10 radians, and a singular value decomposition is used.
MIN_SEPARATION_RATIO = 1e-6


def write_held_shapes(
    tets: Tets,
    positions: Tensor,
    which: NDArray[Any],
    gradients: NDArray[Any],
    volumes: NDArray[Any],
    least: float,
) -> None:
    """Writes the arrays of the compiled loops for some tets whose vertices rest at (3, N)
    positions, with stretches raised to ``least``.

    Args:
        which: (A,) indices of the tets.
        gradients: (A, 3, 3) of the shape functions of corners 1 to 3 where no stretch is, in 1/m.
        volumes: (A,) there, in m³.
        least: stretch.
    """
    tet_arrays = tets.volumes.numpy(), tets.gradients_by_tet, tets.metric_by_tet
    at = positions.numpy(), tets.corners.numpy(), which
    _write(*at, gradients, volumes, least, *tet_arrays)
    tets.forget_passes(is_written=True)


@compiled(inline=True)
def _exceeds(j: float, trace: float, least: float) -> bool:
    """Whether the smallest stretch is surely above ``least``: it is J over the product of the
    others, which is half |F|² = ``trace`` at most."""
    return 2.0 * j > least * trace


@compiled()
def _is_squeezed(f: Any, least: float) -> bool:
    """Whether a deformation gradient may have a stretch below ``least``."""
    return not _exceeds(determinant(f, cofactors(f)), contraction(f, f), least)


@compiled()
def held_shape(f: Any, least: float) -> Any:
    """F⁻¹ and det F of a deformation gradient whose stretches are raised to ``least``.

    Mostly one stretch is below it: F + (least − σ₃) u₃ v₃ᵀ then, with v₃ the eigenvector of FᵀF of
    the smallest eigenvalue λ₃, and cof(F) v₃ = σ₁ σ₂ u₃.
    """
    c, m = cofactors(f), squared(f)
    j, trace = determinant(f, c), m[0] + m[3] + m[5]
    if _exceeds(j, trace, least):
        return scaled(1.0 / j, transposed(c)), j
    minors = symmetric_cofactors(m)
    second, third = minors[0] + minors[3] + minors[5], j * j
    # The smallest root of λ³ − trace λ² + second λ − third.
    root = 0.0
    slope = second
    for _ in range(MAX_NEWTON_STEPS):
        if not slope > MIN_SEPARATION_RATIO * trace * trace:
            break
        change = (third - root * (second - root * (trace - root))) / slope
        root += change
        slope = second - root * (2.0 * trace - 3.0 * root)
        if abs(change) <= ROUNDING_RATIO * trace:
            break
    v = _eigenvector(m, root)
    u = transformed(c, v)
    product = math.sqrt(dot(u, u))
    # σ₂² is at least (σ₁ σ₂)² / (σ₁² + σ₂²).
    is_single = product * product > least * least * (trace - root)
    if not (slope > MIN_SEPARATION_RATIO * trace * trace and is_single):
        return _held_by_svd(f, least)
    u = scaled_vector(1.0 / product, u)
    more = max(0.0, least - dot(u, transformed(f, v)))
    raised = matrix(
        f[0] + more * u[0] * v[0],
        f[1] + more * u[0] * v[1],
        f[2] + more * u[0] * v[2],
        f[3] + more * u[1] * v[0],
        f[4] + more * u[1] * v[1],
        f[5] + more * u[1] * v[2],
        f[6] + more * u[2] * v[0],
        f[7] + more * u[2] * v[1],
        f[8] + more * u[2] * v[2],
    )
    c = cofactors(raised)
    ratio = determinant(raised, c)
    return scaled(1.0 / ratio, transposed(c)), ratio


@compiled()
def _eigenvector(m: Any, root: float) -> Any:
    """A unit vector that a symmetric matrix takes to ``root`` times itself: the longest of the
    cross products of two rows of M − root × I."""
    x = m[0] - root, m[1], m[2]
    y = m[1], m[3] - root, m[4]
    z = m[2], m[4], m[5] - root
    best, other, last = cross(x, y), cross(y, z), cross(z, x)
    size = dot(best, best)
    if dot(other, other) > size:
        best, size = other, dot(other, other)
    if dot(last, last) > size:
        best, size = last, dot(last, last)
    return scaled_vector(1.0 / math.sqrt(size), best)


@compiled()
def _held_by_svd(f: Any, least: float) -> Any:
    """Return the held shape by an SVD, where several stretches are low or alike."""
    u, s, v = signed_svd(f)
    a, b, c = max(s[0], least), max(s[1], least), max(s[2], least)
    unstretched = from_columns(
        scaled_vector(1.0 / a, v[0]), scaled_vector(1.0 / b, v[1]), scaled_vector(1.0 / c, v[2])
    )
    return matmul3(unstretched, transposed(from_columns(u[0], u[1], u[2]))), a * b * c


@compiled()
def _write(
    positions: Any,
    corners: Any,
    which: Any,
    modelled: Any,
    modelled_volumes: Any,
    least: float,
    volumes: Any,
    gradients: Any,
    metric: Any,
) -> None:
    """Gradients: (M, 3, 3), metric (7, M), as ``Tets`` has them."""
    for index in range(which.shape[0]):
        e, g = which[index], matrix_in(modelled, index)
        inverse, ratio = held_shape(matmul3(tet_edges(positions, corners, e), g), least)
        held, volume = matmul3(g, inverse), modelled_volumes[index] * ratio
        volumes[e] = volume
        for k in range(3):
            gradients[e, k, 0], gradients[e, k, 1] = held[3 * k], held[3 * k + 1]
            gradients[e, k, 2] = held[3 * k + 2]
        products = scaled_symmetric(volume, squared(transposed(held)))
        metric[0, e], metric[1, e], metric[2, e] = products[0], products[1], products[2]
        metric[3, e], metric[4, e], metric[5, e] = products[3], products[4], products[5]
        metric[6, e] = 1.0 / volume


@dataclass(frozen=True)
class HeldShapes:
    """Tets whose rest shapes are squeezed no more than to a limit.

    Args:
        which: (A,) indices of the tets.
        gradients: (A, 3, 3) of the shape functions of corners 1 to 3 where no stretch is, in 1/m.
        volumes: (A,) there, in m³.
        least: stretch.
        low, high: range of J in which the law holds by which they push in the pose.
    """

    which: NDArray[Any]
    gradients: NDArray[Any]
    volumes: NDArray[Any]
    least: float
    low: Any
    high: Any


class PosedTetsKernel:
    """Energy and gradient of the tets of one material, by where vertices rest.

    Args:
        kernel: of the same tets and their material.
        tets: the tets; only their corners are read.
        held: None where no tet is.
    """

    def __init__(self, kernel: ElasticityKernel, tets: Tets, held: HeldShapes | None) -> None:
        self._corners, self._held = tets.corners.numpy(), held
        self._law = kernel.moduli, *kernel.law
        self._forces: NDArray[Any] = np.empty((9, len(tets)), dtype=kernel.moduli.dtype)

    def add_gradient(self, positions: Tensor, rest: Tensor, out: Tensor) -> None:
        """Add the gradient at (3, N) positions of tets with (3, N) rest positions to ``out``, in
        newtons, without the forces of held tets at rest."""
        sum_at_vertices(self.edge_forces(positions, rest), self._corners, out.numpy())

    def edge_forces(self, positions: Tensor, rest: Tensor) -> NDArray[Any]:
        """(9, M) the same by the edges of tets; the next call writes over it."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        x, y, forces = positions.numpy(), rest.numpy(), self._forces
        _edge_forces(x, y, self._corners, *self._law, forces)
        if (held := self._held) is not None:
            _held_forces(x, y, self._corners, *self._law, *(*_arguments(held), forces))
        return forces

    def energy(self, positions: Tensor, rest: Tensor) -> float:
        """In joules; the sum is the same whatever the number of threads."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        x, y, energies = positions.numpy(), rest.numpy(), self._forces[0]
        _energies(x, y, self._corners, *self._law, energies)
        self._write_held_energies(x, y, energies)
        return float(energies.sum())

    def energy_change(self, positions: Tensor, before: Tensor, after: Tensor) -> float:
        """The energy at (3, N) positions of tets that rest at ``after``, (3, N), less that of tets
        that rest at ``before``, in joules."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        x, y, z = positions.numpy(), before.numpy(), after.numpy()
        energies = self._forces[:2]
        _energy_pairs(x, y, z, self._corners, *self._law, energies)
        self._write_held_energies(x, y, energies[0])
        self._write_held_energies(x, z, energies[1])
        return float((energies[1] - energies[0]).sum())

    def _write_held_energies(
        self, x: NDArray[Any], rest: NDArray[Any], energies: NDArray[Any]
    ) -> None:
        """Write the energies of held tets among (M,) of all."""
        if (held := self._held) is not None:
            _held_energies(x, rest, self._corners, *self._law, *(*_arguments(held), energies))


def _arguments(held: HeldShapes) -> tuple[Any, ...]:
    return held.which, held.gradients, held.volumes, held.least, held.low, held.high


@compiled(inline=True)
def _inverse(determinant_of_edges: Any) -> Any:
    """Return the inverse of a determinant; zero where there is no volume."""
    # A division under a condition would keep LLVM from vector instructions.
    return 1.0 / (determinant_of_edges if determinant_of_edges != 0.0 else math.inf)


@compiled(inline=True)
def _rest_metric(edges: Any) -> Any:
    """The six numbers of V S and 1 / V of a tet by its edges at rest, as ``Tets.metric_by_tet`` has
    them: with a tuple in a tuple LLVM makes no vector instructions, and loops take twice as long.
    """
    # The columns are the area vectors of the faces across from the corners 1 to 3, twice.
    c = cofactors(edges)
    inverse = _inverse(determinant(edges, c))
    s = scaled_symmetric(inverse / 6.0, squared(c))
    return s[0], s[1], s[2], s[3], s[4], s[5], 6.0 * inverse


@compiled()
def _held_rest(f: Any, gradients: Any, volume: Any, least: float) -> Any:
    """Return V S and 1 / V of a held tet by its deformation gradient in the pose."""
    inverse, ratio = held_shape(f, least)
    held = volume * ratio
    return scaled_symmetric(held, squared(transposed(matmul3(gradients, inverse)))), 1.0 / held


@compiled(parallel=True)
def _edge_forces(
    positions: Any, rest: Any, corners: Any, moduli: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """Forces along edges, (9, M), where no tet is held."""
    sixth = out.dtype.type(1.0 / 6.0)
    for e in shared_range(corners.shape[1]):
        m = _rest_metric(tet_edges(rest, corners, e))
        metric = symmetric(m[0], m[1], m[2], m[3], m[4], m[5])
        d, mu, lam = tet_edges(positions, corners, e), moduli[0, e], moduli[1, e]
        set_column(out, e, tet_forces(d, metric, m[6], law, low, high, mu, lam, sixth))


@compiled()
def _held_forces(
    positions: Any,
    rest: Any,
    corners: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    which: Any,
    gradients: Any,
    volumes: Any,
    least: float,
    rest_low: Any,
    rest_high: Any,
    out: Any,
) -> None:
    """Write the forces of held tets, less their forces at rest."""
    sixth = out.dtype.type(1.0 / 6.0)
    for index in range(which.shape[0]):
        e, g = which[index], matrix_in(gradients, index)
        d, d_rest = tet_edges(positions, corners, e), tet_edges(rest, corners, e)
        f = matmul3(d_rest, g)
        if not _is_squeezed(f, least):
            continue
        metric, inverse_volume = _held_rest(f, g, volumes[index], least)
        mu, lam = moduli[0, e], moduli[1, e]
        forces = tet_forces(d, metric, inverse_volume, law, low, high, mu, lam, sixth)
        at_rest = tet_forces(
            d_rest, metric, inverse_volume, law, rest_low, rest_high, mu, lam, sixth
        )
        set_column(out, e, add3(forces, scaled(-1.0, at_rest)))


@compiled(parallel=True)
def _energies(
    positions: Any, rest: Any, corners: Any, moduli: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """(M,) energies where no tet is held, in J."""
    for e in shared_range(corners.shape[1]):
        d, mu, lam = tet_edges(positions, corners, e), moduli[0, e], moduli[1, e]
        out[e] = _posed_energy(d, tet_edges(rest, corners, e), law, low, high, mu, lam)


@compiled(parallel=True)
def _energy_pairs(
    positions: Any,
    first: Any,
    second: Any,
    corners: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    out: Any,
) -> None:
    """(2, M) energies by two places where vertices rest, where no tet is held, in J."""
    for e in shared_range(corners.shape[1]):
        d, mu, lam = tet_edges(positions, corners, e), moduli[0, e], moduli[1, e]
        out[0, e] = _posed_energy(d, tet_edges(first, corners, e), law, low, high, mu, lam)
        out[1, e] = _posed_energy(d, tet_edges(second, corners, e), law, low, high, mu, lam)


@compiled(inline=True)
def _posed_energy(d: Any, d_rest: Any, law: int, low: Any, high: Any, mu: Any, lam: Any) -> Any:
    """The energy of a tet by its edges and those at rest, in J."""
    m = _rest_metric(d_rest)
    metric = symmetric(m[0], m[1], m[2], m[3], m[4], m[5])
    return tet_energy(d, metric, m[6], law, low, high, mu, lam)


@compiled()
def _held_energies(
    positions: Any,
    rest: Any,
    corners: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    which: Any,
    gradients: Any,
    volumes: Any,
    least: float,
    rest_low: Any,
    rest_high: Any,
    out: Any,
) -> None:
    """Write the energies of held tets in J, less the work of their forces at rest."""
    sixth = out.dtype.type(1.0 / 6.0)
    for index in range(which.shape[0]):
        e, g = which[index], matrix_in(gradients, index)
        d, d_rest = tet_edges(positions, corners, e), tet_edges(rest, corners, e)
        f = matmul3(d_rest, g)
        if not _is_squeezed(f, least):
            continue
        metric, inverse_volume = _held_rest(f, g, volumes[index], least)
        mu, lam = moduli[0, e], moduli[1, e]
        at_rest = tet_forces(
            d_rest, metric, inverse_volume, law, rest_low, rest_high, mu, lam, sixth
        )
        energy = tet_energy(d, metric, inverse_volume, law, low, high, mu, lam)
        out[e] = energy - contraction(at_rest, d)
