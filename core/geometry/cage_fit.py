# SPDX-License-Identifier: GPL-3.0-or-later
"""Move the vertices of a cage so that the mesh refined from it comes close to a target.

A subdivision makes points S x of vertices x. With few vertices no x puts all points at their
targets q; the nearest one minimizes |S x − q|² + λ Σ d |x − x₀|², with the diagonal d of SᵀS and
the unfitted cage x₀, which decides the hardly visible parts. Points outside of the target surface
would reach into objects in contact, so their targets are moved farther inside, several times.
Every affine motion is followed exactly.

The least squares are solved by conjugate gradients, preconditioned by the diagonal; numpy alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .embedding import Embedding
from .groups import expand
from .tet_mesh import TetMesh

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

#: λ.
CAGE_WEIGHT = 0.1
ITERATIONS = 3
#: The rounds in which targets are moved inside, and the displacement relative to the excess.
ROUNDS, OVERSHOOT = 3, 2.0
# The number of terms that are multiplied at once.
_CHUNK_TERMS = 1_000_000


class CageFit:
    """The fit of a cage whose refinement comes nearest to points.

    Args:
        refinement: R points in V vertices.
        count: V.
    """

    def __init__(self, refinement: Embedding, count: int) -> None:
        self._refinement = refinement
        point, column = np.nonzero(refinement.weights)
        self._point, self._vertex = point, refinement.indices[point, column].astype(np.intp)
        self._weight = refinement.weights[point, column]
        self._first, self._second, self._product = self._products(count)
        is_own = self._first == self._second
        diagonal = np.bincount(self._first[is_own], self._product[is_own], minlength=count)
        # Vertices without refined points stay where they are.
        self._diagonal = np.where(diagonal > 0.0, diagonal, 1.0)

    def fitted(self, cage: FloatArray, points: FloatArray, normals: FloatArray) -> FloatArray:
        """(V, 3) vertices whose refinement is nearest to points.

        Args:
            cage: (V, 3) where the vertices would be by themselves.
            points: (R, 3) target positions of refined points.
            normals: (R, 3) outward unit normals of the target surface.
        """
        vertices, targets = self._nearest(cage, cage, points), points
        for _ in range(ROUNDS):
            refined = self._refinement.interpolate(vertices)
            outside = np.einsum("pi,pi->p", refined - points, normals)
            targets = targets - OVERSHOOT * np.maximum(outside, 0.0)[:, None] * normals
            vertices = self._nearest(cage, vertices, targets)
        return vertices

    def _nearest(self, cage: FloatArray, start: FloatArray, targets: FloatArray) -> FloatArray:
        """The least squares, from a first guess; each axis is a system of its own."""
        fitted = np.empty_like(start)
        for axis in range(3):
            right = self._transposed(np.ascontiguousarray(targets[:, axis]))
            right += CAGE_WEIGHT * self._diagonal * cage[:, axis]
            fitted[:, axis] = self._solved(right, start[:, axis].copy())
        return fitted

    def _solved(self, right: FloatArray, values: FloatArray) -> FloatArray:
        preconditioner = (1.0 + CAGE_WEIGHT) * self._diagonal
        residual = right - self._applied(values)
        direction = scaled = residual / preconditioner
        power = residual @ scaled
        for _ in range(ITERATIONS):
            if power == 0.0:
                break
            applied = self._applied(direction)
            step = power / (direction @ applied)
            values += step * direction
            residual -= step * applied
            scaled = residual / preconditioner
            before, power = power, residual @ scaled
            direction = scaled + power / before * direction
        return values

    def _applied(self, values: FloatArray) -> FloatArray:
        """SᵀS and λ d times (V,) values."""
        terms = self._product * values[self._second]
        products = np.bincount(self._first, terms, minlength=len(values))
        return products + CAGE_WEIGHT * self._diagonal * values

    def _transposed(self, values: FloatArray) -> FloatArray:
        """Sᵀ times (R,) values."""
        terms = self._weight * values[self._point]
        return np.bincount(self._vertex, terms, len(self._diagonal)).astype(np.float64, copy=False)

    def _products(self, count: int) -> tuple[IndexArray, IndexArray, FloatArray]:
        """The entries of SᵀS: their rows, columns and values."""
        starts = np.searchsorted(self._point, np.arange(len(self._refinement.weights) + 1))
        lengths = np.diff(starts)[self._point]
        ends = np.cumsum(lengths)
        keys = np.zeros(0, dtype=np.intp)
        values: FloatArray = np.zeros(0)
        first = 0
        while first < len(lengths):
            done = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, done + _CHUNK_TERMS)), first + 1)
            term, other = expand(lengths[first:last])
            term, other = first + term, starts[self._point[first + term]] + other
            pairs = self._vertex[term] * count + self._vertex[other]
            keys, place = np.unique(np.concatenate([keys, pairs]), return_inverse=True)
            products = np.concatenate([values, self._weight[term] * self._weight[other]])
            values = np.bincount(place.ravel(), products, minlength=len(keys)).astype(
                np.float64, copy=False
            )
            first = last
        return keys // count, keys % count, values


# The tolerance of the linear solve's residual.
_TOLERANCE_RATIO = 1e-10


def harmonic_extension(
    mesh: TetMesh, known: NDArray[np.integer[Any]], values: FloatArray
) -> FloatArray:
    """Solve Laplace's equation on linear elements: ∇·∇u = 0 with u prescribed at known vertices,
    and ∂u/∂n = 0 on the rest of the boundary.

    It is as smooth as can be (∫|∇u|² is least), keeps between the least and the greatest value,
    and is exact where the values are linear in the position and all of the boundary is known.

    Args:
        mesh: in its rest shape.
        known: (B,) indices of vertices.
        values: (B, K) of K quantities there.

    Returns:
        (N, K).

    Source: Strang and Fix, "An Analysis of the Finite Element Method", chapter 1.
    """
    # They load scipy, which takes a moment that other scenes need not wait.
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import cg

    count = len(mesh.vertices)
    stiffness = laplacian(mesh)
    is_known = np.zeros(count, dtype=bool)
    is_known[known] = True
    unknown = np.flatnonzero(~is_known)
    low, high = values.min(axis=0), values.max(axis=0)
    solution = np.tile(0.5 * (low + high), (count, 1))
    solution[known] = values
    if len(unknown):
        matrix = stiffness[unknown][:, unknown]
        jacobi = diags_array(1.0 / matrix.diagonal())
        for column in range(values.shape[1]):
            # The constant part is solved already; the rest is solved for.
            rest = -(stiffness @ solution[:, column])[unknown]
            change, _ = cg(matrix, rest, rtol=_TOLERANCE_RATIO, M=jacobi)
            solution[unknown, column] += change
    # Linear elements exceed those bounds a little in obtuse tets.
    return np.clip(solution, low, high)


def laplacian(mesh: TetMesh) -> Any:
    """(N, N) sparse, ∫ ∇N_a · ∇N_b of the shape functions of vertices, in metres."""
    from scipy.sparse import coo_array

    gradients = mesh.shape_gradients
    blocks = np.einsum("m,mai,mbi->mab", mesh.rest_volumes, gradients, gradients)
    rows, columns = np.repeat(mesh.tets, 4, axis=1).ravel(), np.tile(mesh.tets, (1, 4)).ravel()
    return coo_array((blocks.ravel(), (rows, columns)), shape=2 * (len(mesh.vertices),)).tocsr()
