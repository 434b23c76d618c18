# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of the rest shapes of tets that a pose squeezes: no stretch below a limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled
from .deformation import signed_svd
from .matrices import (
    cofactors,
    determinant,
    matmul3,
    matrix,
    matrix_in,
    of_columns,
    scaled,
    tet_edges,
    transformed,
    transposed,
)
from .symmetric_matrices import scaled_symmetric, squared, symmetric_cofactors
from .vectors import cross, dot
from .vectors import scaled as scaled_vector

if TYPE_CHECKING:
    from ..assembly.tets import Tets

# Newton steps to the smallest eigenvalue, which converge quadratically from below.
MAX_NEWTON_STEPS, ROUNDING_RATIO = 12, 1e-15
# Of (λ₁ − λ₃)(λ₂ − λ₃) to the square of the trace: below it the direction of the smallest stretch
# is less certain than 1e-10 radians, and a singular value decomposition serves.
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
    of_loops = tets.volumes.numpy(), tets.gradients_by_tet, tets.metric_by_tet
    at = positions.numpy(), tets.corners.numpy(), which
    _write(*at, gradients, volumes, least, *of_loops)
    tets.forget_passes(is_written=True)


@compiled()
def held_shape(f: Any, least: float) -> Any:
    """F⁻¹ and det F of a deformation gradient whose stretches are raised to ``least``.

    Mostly one stretch is below it: F + (least − σ₃) u₃ v₃ᵀ then, with v₃ the eigenvector of FᵀF of
    the smallest eigenvalue λ₃, and cof(F) v₃ = σ₁ σ₂ u₃.
    """
    c, m = cofactors(f), squared(f)
    j, trace = determinant(f, c), m[0] + m[3] + m[5]
    # The smallest stretch is J over the product of the others, which is half |F|² at most.
    if 2.0 * j > least * trace:
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
    """The same where several stretches are low or alike."""
    u, s, v = signed_svd(f)
    a, b, c = max(s[0], least), max(s[1], least), max(s[2], least)
    unstretched = of_columns(
        scaled_vector(1.0 / a, v[0]), scaled_vector(1.0 / b, v[1]), scaled_vector(1.0 / c, v[2])
    )
    return matmul3(unstretched, transposed(of_columns(u[0], u[1], u[2]))), a * b * c


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
