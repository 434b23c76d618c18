# SPDX-License-Identifier: GPL-3.0-or-later
"""Deformation gradients, volumes and rest shapes of tets, and sums of their forces at vertices.

The torch counterparts are in ``core/assembly/tets.py`` and ``torch_matrices.py``.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import as_index, compiled, shared_range, use_threads
from ..math3.matrices import (
    cofactors,
    determinant,
    matrix_of,
    scaled_symmetric,
    squared,
    symmetric,
    tet_edges,
    transformed,
)
from ..math3.vectors import advanced, cross, dot, scaled, weighted

#: Fewer tets than this a thread cost more to hand out than to compute.
VOLUMES_PER_THREAD = 10_000


def volume_ratios_on_cpu(positions: Tensor, corners: Tensor, volumes: Tensor) -> Tensor:
    """(M,) J = det F of tets with (4, M) int32 corners and (M,) rest volumes in m³."""
    ratios = torch.empty_like(volumes)
    use_threads(len(ratios), VOLUMES_PER_THREAD)
    write_volume_ratios(positions.numpy(), corners.numpy(), volumes.numpy(), ratios.numpy())
    return ratios


@compiled(parallel=True)
def write_volume_ratios(positions: Any, corners: Any, volumes: Any, out: Any) -> None:
    """Write the (M,) J of tets with (4, M) corners among (3, N) positions."""
    for e in shared_range(corners.shape[1]):
        d = tet_edges(positions, corners, e)
        out[e] = determinant(d, cofactors(d)) / (6.0 * volumes[e])


#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 6000


def write_rest_shape(
    positions: Any, corners: Any, volumes: Any, gradients: Any, metric: Any
) -> None:
    """Write the arrays of the compiled loops for tets whose vertices rest at (3, N) positions: (M,)
    volumes, (M, 3, 3) gradients and (7, M) metric, as ``Tets`` has them."""
    use_threads(corners.shape[1], TETS_PER_THREAD)
    _write_rest_shape(positions, corners, volumes, gradients, metric)


@compiled(parallel=True)
def _write_rest_shape(
    positions: Any, corners: Any, volumes: Any, gradients: Any, metric: Any
) -> None:
    for e in shared_range(corners.shape[1]):
        d = tet_edges(positions, corners, e)
        # The columns are the area vectors of the faces across from the corners 1 to 3, twice.
        c = cofactors(d)
        det = determinant(d, c)
        # Callers that allow a volume of zero handle it.
        inverse = 1.0 / det if det != 0.0 else 0.0
        volumes[e] = det / 6.0
        for i in range(3):
            gradients[e, 0, i], gradients[e, 1, i] = inverse * c[3 * i], inverse * c[3 * i + 1]
            gradients[e, 2, i] = inverse * c[3 * i + 2]
        # Times V / det².
        products = scaled_symmetric(inverse / 6.0, squared(c))
        metric[0, e], metric[1, e], metric[2, e] = products[0], products[1], products[2]
        metric[3, e], metric[4, e], metric[5, e] = products[3], products[4], products[5]
        metric[6, e] = 6.0 * inverse


# Off-diagonal entries below this ratio of the trace, both squared, are zero.
DIAGONAL_TOLERANCE = 1e-28
MAX_SWEEPS = 10
# The largest singular value is zero below this; others are rounding below that ratio of it.
MIN_LENGTH = 1e-150
ROUNDING_RATIO = 1e-14
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@compiled()
def deformation_gradient(
    positions: Any, corners: Any, gradients: Any, e: int, edges: Any, f: Any
) -> None:
    """The deformation gradient of tet ``e`` into ``f``, its edge vectors into ``edges``.

    Args:
        gradients: (M, 3, 3) of the shape functions of corners 1 to 3, in 1/m.
    """
    for i in range(3):
        for k in range(3):
            edges[i, k] = positions[i, corners[k + 1, e]] - positions[i, corners[0, e]]
    matmul3(edges, gradients[e], f)


@compiled()
def matmul3(a: Any, b: Any, out: Any) -> None:
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]


@compiled()
def signed_svd(f: Any) -> Any:
    """The columns of U, the singular values and the columns of V of F = U diag(σ) Vᵀ, nine numbers,
    with rotations U and V; the last of σ is the smallest and has J's sign."""
    values, vectors = diagonalized(squared(f), AXES)
    largest, second = _two_largest(values, vectors)
    v3 = cross(largest, second)
    along, across = transformed(f, largest), transformed(f, second)
    u1, first = _direction(along, AXES[2], MIN_LENGTH)
    # The second is orthogonalized against rounding of the first.
    across = advanced(across, -dot(u1, across), u1)
    u2, middle = _direction(across, u1, MIN_LENGTH + ROUNDING_RATIO * first)
    u3 = cross(u1, u2)
    return (u1, u2, u3), (first, middle, dot(transformed(f, v3), u3)), (largest, second, v3)


@compiled()
def _two_largest(values: Any, vectors: Any) -> Any:
    """Return the two of three vectors with the largest values, the largest first."""
    a, b, c = values
    x, y, z = vectors
    if a < b:
        a, b, x, y = b, a, y, x
    if a < c:
        return z, x
    return (x, z) if b < c else (x, y)


@compiled()
def _direction(vector: Any, other: Any, smallest: float) -> Any:
    """A vector over its length, and that. A tet flattened to a line or a point has no direction
    here: any perpendicular to the ``other`` one does."""
    length = math.sqrt(dot(vector, vector))
    if length > smallest:
        return scaled(1.0 / length, vector), length
    x, y, z = other
    along_xy = math.sqrt(x * x + y * y)
    if along_xy > 0.5:
        return (-y / along_xy, x / along_xy, 0.0), length
    along_yz = math.sqrt(y * y + z * z)
    return (0.0, -z / along_yz, y / along_yz), length


@compiled()
def diagonalize(c: Any, v: Any) -> None:
    """Eigenvalues of the symmetric (3, 3) ``c`` onto its diagonal, eigenvectors into the columns of
    ``v``."""
    _write(diagonalized(_upper(c), AXES), c, v)


@compiled()
def diagonalize_again(c: Any, v: Any) -> None:
    """The same, where the columns of ``v`` are almost those it comes to: in fewer rotations."""
    m = matrix_of(c)
    x, y, z = (v[0, 0], v[1, 0], v[2, 0]), (v[0, 1], v[1, 1], v[2, 1]), (v[0, 2], v[1, 2], v[2, 2])
    to_x, to_y, to_z = transformed(m, x), transformed(m, y), transformed(m, z)
    turned = symmetric(
        dot(x, to_x), dot(x, to_y), dot(x, to_z), dot(y, to_y), dot(y, to_z), dot(z, to_z)
    )
    _write(diagonalized(turned, (x, y, z)), c, v)


@compiled()
def _upper(c: Any) -> Any:
    return symmetric(c[0, 0], c[0, 1], c[0, 2], c[1, 1], c[1, 2], c[2, 2])


@compiled()
def _write(eigen: Any, c: Any, v: Any) -> None:
    values, vectors = eigen
    for k in range(3):
        c[k, k] = values[k]
        for i in range(3):
            v[i, k] = vectors[k][i]


@compiled()
def diagonalized(m: Any, vectors: Any) -> Any:
    """Eigenvalues of a symmetric matrix, and three vectors turned with it: of the axes the
    eigenvectors. Method: cyclic Jacobi rotations (Golub and Van Loan, "Matrix Computations",
    section 8.5)."""
    a, d, e, b, f, c = m
    x, y, z = vectors
    size = abs(a) + abs(b) + abs(c)
    for _ in range(MAX_SWEEPS):
        if d * d + e * e + f * f <= DIAGONAL_TOLERANCE * size * size:
            break
        cosine, sine, change = _rotation(a, b, d)
        a, b, d = a - change, b + change, 0.0
        e, f = cosine * e - sine * f, sine * e + cosine * f
        x, y = _turned(cosine, sine, x, y)
        cosine, sine, change = _rotation(a, c, e)
        a, c, e = a - change, c + change, 0.0
        d, f = cosine * d - sine * f, sine * d + cosine * f
        x, z = _turned(cosine, sine, x, z)
        cosine, sine, change = _rotation(b, c, f)
        b, c, f = b - change, c + change, 0.0
        d, e = cosine * d - sine * e, sine * d + cosine * e
        y, z = _turned(cosine, sine, y, z)
    return (a, b, c), (x, y, z)


@compiled()
def _rotation(p: Any, q: Any, entry: Any) -> Any:
    """Cosine and sine of the rotation that makes the entry beside two diagonal ones zero, and the
    change of these two."""
    if entry == 0.0:
        return 1.0, 0.0, 0.0
    twice, gap = 2.0 * entry, q - p
    tangent = twice / (abs(gap) + math.sqrt(gap * gap + twice * twice))
    if gap < 0.0:
        tangent = -tangent
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    return cosine, tangent * cosine, tangent * entry


@compiled()
def _turned(cosine: Any, sine: Any, a: Any, b: Any) -> Any:
    return weighted(cosine, a, -sine, b), weighted(sine, a, cosine, b)


#: The least tets whose sums threads share, and the least of each.
SHARED_TETS, SUMMED_TETS_PER_THREAD = 6000, 3000


class VertexSums:
    """Sums of forces by the edges of tets at their vertices. Each vertex adds them up in the order
    of the tets, so that sums are the same whatever the number of threads.

    Args:
        corners: (4, M) vertices of the tets.
    """

    def __init__(self, corners: NDArray[Any]) -> None:
        self._corners = corners

    def add(self, forces: NDArray[Any], out: NDArray[Any]) -> None:
        """Add (9, M) forces by the edges from corner 0 to the (3, N) of vertices, in newtons."""
        count = self._corners.shape[1]
        if count < SHARED_TETS:
            # To wake threads takes longer where many bodies are small.
            _add_by_tet(forces, self._corners, out)
            return
        use_threads(count, SUMMED_TETS_PER_THREAD)
        _add_by_vertex(forces, *self._corners_by_vertex, out)

    @cached_property
    def _corners_by_vertex(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """(A,) vertices of the tets, (4M,) the corners of each as 4 × tet + corner, and (A + 1,)
        where those of each vertex begin."""
        vertices = self._corners.T.ravel()
        order = np.argsort(vertices, kind="stable")
        first = np.flatnonzero(np.diff(vertices[order], prepend=-1))
        offsets = np.append(first, len(order))
        # Unsigned, since a loop would ask of each signed index whether it counts from the end.
        kind = np.uint32
        return vertices[order[first]].astype(kind), order.astype(kind), offsets.astype(kind)


@compiled()
def _add_by_tet(forces: Any, corners: Any, out: Any) -> None:
    """Add up the forces of tets one after the other."""
    for e in range(corners.shape[1]):
        for i in range(3):
            first, second, third = forces[3 * i, e], forces[3 * i + 1, e], forces[3 * i + 2, e]
            out[i, corners[1, e]] += first
            out[i, corners[2, e]] += second
            out[i, corners[3, e]] += third
            out[i, corners[0, e]] -= first + second + third


@compiled(parallel=True)
def _add_by_vertex(forces: Any, vertices: Any, corners: Any, offsets: Any, out: Any) -> None:
    """Add up the forces of the corners of each vertex."""
    for each in shared_range(len(vertices)):
        row = as_index(each)
        v = vertices[row]
        x, y, z = out[0, v], out[1, v], out[2, v]
        for k in range(offsets[row], offsets[row + 1]):
            e, corner = corners[k] >> 2, corners[k] & 3
            if corner == 0:
                x -= forces[0, e] + forces[1, e] + forces[2, e]
                y -= forces[3, e] + forces[4, e] + forces[5, e]
                z -= forces[6, e] + forces[7, e] + forces[8, e]
            else:
                x += forces[corner - 1, e]
                y += forces[corner + 2, e]
                z += forces[corner + 5, e]
        out[0, v], out[1, v], out[2, v] = x, y, z
