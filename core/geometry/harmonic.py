# SPDX-License-Identifier: GPL-3.0-or-later
"""Smooth values inside a tet mesh from values on some of its vertices. No torch here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tet_mesh import TetMesh

FloatArray = NDArray[np.float64]

# Of the residual of the linear solve.
_TOLERANCE_RATIO = 1e-10


def harmonic_extension(
    mesh: TetMesh, known: NDArray[np.integer[Any]], values: FloatArray
) -> FloatArray:
    """What solves Laplace's equation on linear elements: ∇·∇u = 0 with u given where it is known,
    and ∂u/∂n = 0 on what else is boundary.

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
    found = np.tile(0.5 * (low + high), (count, 1))
    found[known] = values
    if len(unknown):
        matrix = stiffness[unknown][:, unknown]
        jacobi = diags_array(1.0 / matrix.diagonal())
        for column in range(values.shape[1]):
            # Of what is left of a constant: that is solved already.
            rest = -(stiffness @ found[:, column])[unknown]
            change, _ = cg(matrix, rest, rtol=_TOLERANCE_RATIO, M=jacobi)
            found[unknown, column] += change
    # Of obtuse tets linear elements leave those bounds, by a little.
    return np.clip(found, low, high)


def laplacian(mesh: TetMesh) -> Any:
    """(N, N) sparse, ∫ ∇N_a · ∇N_b of the shape functions of vertices, in metres."""
    from scipy.sparse import coo_array

    gradients = mesh.shape_gradients
    blocks = np.einsum("m,mai,mbi->mab", mesh.rest_volumes, gradients, gradients)
    rows, columns = np.repeat(mesh.tets, 4, axis=1).ravel(), np.tile(mesh.tets, (1, 4)).ravel()
    return coo_array((blocks.ravel(), (rows, columns)), shape=2 * (len(mesh.vertices),)).tocsr()
