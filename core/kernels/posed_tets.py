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
    column,
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
    symmetric_in,
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
    tet_energy,
    tet_forces,
)

if TYPE_CHECKING:
    from ..assembly.tets import Tets


# Of the trace, by how much the last of Laguerre's steps to the smallest eigenvalue may move. They
# converge cubically from below: five do for 273 of 276 tets of a bent ball, where six of Newton's
# do for 246. Of the others a singular value decomposition is used.
ROUNDING_RATIO = 1e-15
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
def held_shape(f: Any, least: float) -> Any:
    """F⁻¹ and det F of a deformation gradient whose stretches are raised to ``least``."""
    c = cofactors(f)
    j = determinant(f, c)
    if _exceeds(j, contraction(f, f), least):
        return scaled(1.0 / j, transposed(c)), j
    h = _raised(f, least)
    if h[10] > 0.0:
        return matrix(h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8]), h[9]
    return _held_by_svd(f, least)


@compiled(inline=True)
def _raised(f: Any, least: float) -> Any:
    """F⁻¹ and det F of a deformation gradient whose smallest stretch σ₃ is raised to ``least``, and
    1 where that is accurate and no other stretch is below, else 0.

    It is F + (least − σ₃) u₃ v₃ᵀ, with v₃ the eigenvector of FᵀF of the smallest eigenvalue λ₃, and
    cof(F) v₃ = σ₁ σ₂ u₃. Without branches, so that LLVM makes vector instructions.
    """
    c, m = cofactors(f), squared(f)
    j, trace = determinant(f, c), m[0] + m[3] + m[5]
    minors = symmetric_cofactors(m)
    second, third = minors[0] + minors[3] + minors[5], j * j
    # The smallest root of λ³ − trace λ² + second λ − third.
    # Written out, since a loop in a loop would have no vector instructions.
    root = _nearer(0.0, trace, second, third)
    root = _nearer(root, trace, second, third)
    root = _nearer(root, trace, second, third)
    before = _nearer(root, trace, second, third)
    root = _nearer(before, trace, second, third)
    slope = second - root * (2.0 * trace - 3.0 * root)
    v = _eigenvector(m, root)
    u = transformed(c, v)
    square = dot(u, u)
    is_converged = abs(root - before) <= ROUNDING_RATIO * trace
    is_separate = slope > MIN_SEPARATION_RATIO * trace * trace
    # σ₂² is at least (σ₁ σ₂)² / (σ₁² + σ₂²).
    is_single = square > least * least * (trace - root)
    u = scaled_vector(1.0 / math.sqrt(square), u)
    w = scaled_vector(max(0.0, least - dot(u, transformed(f, v))), u)
    raised = matrix(
        f[0] + w[0] * v[0],
        f[1] + w[0] * v[1],
        f[2] + w[0] * v[2],
        f[3] + w[1] * v[0],
        f[4] + w[1] * v[1],
        f[5] + w[1] * v[2],
        f[6] + w[2] * v[0],
        f[7] + w[2] * v[1],
        f[8] + w[2] * v[2],
    )
    c = cofactors(raised)
    ratio = determinant(raised, c)
    i = scaled(1.0 / ratio, transposed(c))
    is_right = 1.0 if is_converged & is_separate & is_single else 0.0
    return i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8], ratio, is_right


@compiled(inline=True)
def _nearer(root: float, trace: float, second: float, third: float) -> float:
    """Take one of Laguerre's steps to the smallest root of λ³ − trace λ² + second λ − third, whose
    roots are all real."""
    value = third - root * (second - root * (trace - root))
    slope = second - root * (2.0 * trace - 3.0 * root)
    bend = 6.0 * root - 2.0 * trace
    discriminant = max(0.0, 4.0 * slope * slope + 6.0 * value * bend)
    return root + 3.0 * value / (slope + math.sqrt(discriminant))


@compiled(inline=True)
def _eigenvector(m: Any, root: float) -> Any:
    """A unit vector that a symmetric matrix takes to ``root`` times itself: the longest of the
    cross products of two rows of M − root × I."""
    x = m[0] - root, m[1], m[2]
    y = m[1], m[3] - root, m[4]
    z = m[2], m[4], m[5] - root
    a, b, c = cross(x, y), cross(y, z), cross(z, x)
    sizes = dot(a, a), dot(b, b), dot(c, c)
    is_first = (sizes[0] >= sizes[1]) & (sizes[0] >= sizes[2])
    is_second = sizes[1] >= sizes[2]
    v = (
        a[0] if is_first else b[0] if is_second else c[0],
        a[1] if is_first else b[1] if is_second else c[1],
        a[2] if is_first else b[2] if is_second else c[2],
    )
    return scaled_vector(1.0 / math.sqrt(dot(v, v)), v)


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
        self._corners, self._vertex_sums = tets.corners.numpy(), tets.vertex_sums
        self._law = kernel.moduli, *kernel.law
        self._forces: NDArray[Any] = np.empty((9, len(tets)), dtype=kernel.moduli.dtype)
        self._held = None if held is None else _HeldTets(held, self._corners, self._law)

    def add_gradient(self, positions: Tensor, rest: Tensor, out: Tensor) -> None:
        """Add the gradient at (3, N) positions of tets with (3, N) rest positions to ``out``, in
        newtons, without the forces of held tets at rest."""
        self._vertex_sums.add(self.edge_forces(positions, rest), out.numpy())

    def edge_forces(self, positions: Tensor, rest: Tensor) -> NDArray[Any]:
        """(9, M) the same by the edges of tets; the next call writes over it."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        x, y, forces = positions.numpy(), rest.numpy(), self._forces
        _edge_forces(x, y, self._corners, *self._law, forces)
        if self._held is not None:
            self._held.write_forces(x, y, forces)
        return forces

    def energy(self, positions: Tensor, rest: Tensor) -> float:
        """In joules; the sum is the same whatever the number of threads."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        x, y, energies = positions.numpy(), rest.numpy(), self._forces[0]
        _energies(x, y, self._corners, *self._law, energies)
        if self._held is not None:
            self._held.write_energies(x, y, energies)
        return float(energies.sum())

    def energy_change(self, positions: Tensor, before: Tensor, after: Tensor) -> float:
        """The energy at (3, N) positions of tets that rest at ``after``, (3, N), less that of tets
        that rest at ``before``, in joules."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        x, y, z = positions.numpy(), before.numpy(), after.numpy()
        energies = self._forces[:2]
        _energy_pairs(x, y, z, self._corners, *self._law, energies)
        if self._held is not None:
            self._held.write_energies(x, y, energies[0])
            self._held.write_energies(x, z, energies[1])
        return float((energies[1] - energies[0]).sum())


class _HeldTets:
    """Energy and gradient of the tets of one material that are squeezed in the pose.

    Args:
        corners: (4, M) of all tets.
        law: as the loops of all tets take it.
    """

    def __init__(self, held: HeldShapes, corners: NDArray[Any], law: tuple[Any, ...]) -> None:
        self._held, self._law, count = held, law, len(held.which)
        self._corners = np.ascontiguousarray(corners[:, held.which])
        # Of the tets that are squeezed now: their numbers among all that ever are; F; forces; six
        # numbers of V S, 1 / V, and whether these are accurate.
        self._squeezed = np.empty(count, dtype=np.int64)
        self._f, self._rest = np.empty((9, count)), np.empty((8, count))
        self._forces = np.empty((9, count))

    def write_forces(self, x: NDArray[Any], rest: NDArray[Any], out: NDArray[Any]) -> None:
        """Write their forces, less those at rest, among (9, M) of all."""
        squeezed, arrays = self._hold(rest), self._arrays(x, rest)
        _held_forces(*(*arrays, squeezed, self._rest, self._forces))
        _copy_columns(self._forces, squeezed, self._held.which, out)

    def write_energies(self, x: NDArray[Any], rest: NDArray[Any], out: NDArray[Any]) -> None:
        """Write their energies, less the work of their forces at rest, among (M,) of all."""
        squeezed, arrays = self._hold(rest), self._arrays(x, rest)
        _held_energies(*(*arrays, squeezed, self._rest, out))

    def _arrays(self, x: NDArray[Any], rest: NDArray[Any]) -> tuple[Any, ...]:
        """As the loops over squeezed tets take them."""
        held = self._held
        return x, rest, self._corners, held.which, *self._law, held.low, held.high

    def _hold(self, rest: NDArray[Any]) -> NDArray[Any]:
        """Write the rest shapes of tets that are squeezed where vertices rest, and return those
        tets."""
        held, f = self._held, self._f
        arrays = rest, self._corners, held.gradients, held.least
        count = _find_squeezed(*arrays, *(self._squeezed, f))
        squeezed = self._squeezed[:count]
        use_threads(count, TETS_PER_THREAD)
        shapes = f, held.gradients, held.volumes, held.least, squeezed, self._rest
        _hold(*shapes)
        _hold_by_svd(*shapes)
        return squeezed


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
def _find_squeezed(
    rest: Any, corners: Any, gradients: Any, least: float, squeezed: Any, deformed: Any
) -> int:
    """Write which of some tets may have a stretch below ``least``, and their deformation gradients,
    nine numbers each; return how many."""
    count = 0
    for index in range(corners.shape[1]):
        f = matmul3(tet_edges(rest, corners, index), matrix_in(gradients, index))
        if not _exceeds(determinant(f, cofactors(f)), contraction(f, f), least):
            squeezed[count] = index
            set_column(deformed, count, f)
            count += 1
    return count


@compiled(parallel=True)
def _hold(
    deformed: Any, gradients: Any, volumes: Any, least: float, squeezed: Any, out: Any
) -> None:
    """Write V S and 1 / V of squeezed tets, and 1 where they are accurate, else 0."""
    for i in shared_range(squeezed.shape[0]):
        index = squeezed[i]
        g = matrix_in(gradients, index)
        h = _raised(column(deformed, i), least)
        inverse = matrix(h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8])
        m = _held_metric(g, inverse, volumes[index] * h[9])
        out[0, i], out[1, i], out[2, i], out[3, i] = m[0], m[1], m[2], m[3]
        out[4, i], out[5, i], out[6, i], out[7, i] = m[4], m[5], m[6], h[10]


@compiled()
def _hold_by_svd(
    deformed: Any, gradients: Any, volumes: Any, least: float, squeezed: Any, out: Any
) -> None:
    """Write V S and 1 / V of the squeezed tets whose shapes are not accurate."""
    for i in range(squeezed.shape[0]):
        if out[7, i] > 0.0:
            continue
        index = squeezed[i]
        g = matrix_in(gradients, index)
        inverse, ratio = _held_by_svd(column(deformed, i), least)
        m = _held_metric(g, inverse, volumes[index] * ratio)
        out[0, i], out[1, i], out[2, i], out[3, i] = m[0], m[1], m[2], m[3]
        out[4, i], out[5, i], out[6, i] = m[4], m[5], m[6]


@compiled(inline=True)
def _held_metric(gradients: Any, inverse: Any, volume: Any) -> Any:
    """Return V S and 1 / V by F⁻¹ and V."""
    s = scaled_symmetric(volume, squared(transposed(matmul3(gradients, inverse))))
    return s[0], s[1], s[2], s[3], s[4], s[5], 1.0 / volume


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


@compiled(parallel=True)
def _held_forces(
    positions: Any,
    rest: Any,
    corners: Any,
    which: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    rest_low: Any,
    rest_high: Any,
    squeezed: Any,
    shapes: Any,
    out: Any,
) -> None:
    """Write the forces of squeezed tets, less their forces at rest."""
    sixth = out.dtype.type(1.0 / 6.0)
    for i in shared_range(squeezed.shape[0]):
        index = squeezed[i]
        e = which[index]
        metric, inverse_volume = symmetric_in(shapes, i), shapes[6, i]
        d, d_rest = tet_edges(positions, corners, index), tet_edges(rest, corners, index)
        mu, lam = moduli[0, e], moduli[1, e]
        f = tet_forces(d, metric, inverse_volume, law, low, high, mu, lam, sixth)
        r = tet_forces(d_rest, metric, inverse_volume, law, rest_low, rest_high, mu, lam, sixth)
        set_column(out, i, add3(f, scaled(-1.0, r)))


@compiled()
def _copy_columns(columns: Any, squeezed: Any, which: Any, out: Any) -> None:
    """Write the forces of squeezed tets among those of all."""
    for i in range(squeezed.shape[0]):
        set_column(out, which[squeezed[i]], column(columns, i))


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
    which: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    rest_low: Any,
    rest_high: Any,
    squeezed: Any,
    shapes: Any,
    out: Any,
) -> None:
    """Write the energies of squeezed tets in J, less the work of their forces at rest."""
    sixth = out.dtype.type(1.0 / 6.0)
    for i in range(squeezed.shape[0]):
        index = squeezed[i]
        e = which[index]
        metric, inverse_volume = symmetric_in(shapes, i), shapes[6, i]
        d, d_rest = tet_edges(positions, corners, index), tet_edges(rest, corners, index)
        mu, lam = moduli[0, e], moduli[1, e]
        r = tet_forces(d_rest, metric, inverse_volume, law, rest_low, rest_high, mu, lam, sixth)
        energy = tet_energy(d, metric, inverse_volume, law, low, high, mu, lam)
        out[e] = energy - contraction(r, d)
