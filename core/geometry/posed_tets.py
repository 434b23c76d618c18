# SPDX-License-Identifier: GPL-3.0-or-later
"""Tetrahedra that follow points they carry, and turn rather than stretch. No torch here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .cage_fit import laplacian
from .embedding import Embedding
from .groups import vertex_sums
from .rigid_fit import closest_rotations, rigid_fit
from .tet_mesh import TetMesh

FloatArray = NDArray[np.float64]

# The weight of points relative to the shape of tets, which takes a thousandth of the conflict
# between points.
POINT_WEIGHT = 1e3
MAX_ITERATIONS = 20
# The largest displacement in an iteration that counts as rest, relative to the mesh's diagonal.
_TOLERANCE_RATIO = 1e-6
# The tolerance of a linear solve's residual.
_RESIDUAL_RATIO = 1e-8


def posed_vertices(mesh: TetMesh, embedding: Embedding, points: FloatArray) -> FloatArray:
    """Return the (N, 3) positions of tet vertices that follow the points that they carry.

    Σ V |F − R|² + w Σ |W x − p|² is made as small as it gets, R being the rotation closest to F of
    each tet, and W x where the points p are carried to: each in turn.

    Args:
        mesh: in its rest shape.
        embedding: of the points in it.
        points: (V, 3) where they are to be.

    Source: Chao, Pinkall, Sanan and Schröder, "A simple geometric model for elastic deformations",
    2010, for the energy; Sorkine and Alexa, "As-rigid-as-possible surface modeling", 2007, for the
    alternation.
    """
    # They load scipy, which takes a moment that other scenes need not wait.
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import cg

    count, width = len(mesh.vertices), embedding.indices.shape[1]
    rows = np.repeat(np.arange(len(points)), width)
    carried = coo_array(
        (embedding.weights.ravel(), (rows, embedding.indices.ravel())), (len(points), count)
    ).tocsr()
    stiffness, pull = laplacian(mesh), carried.T @ carried
    pulls = pull.diagonal()
    weight = POINT_WEIGHT * stiffness.diagonal().mean() / pulls[pulls > 0.0].mean()
    matrix = (stiffness + weight * pull).tocsr()
    jacobi = diags_array(1.0 / matrix.diagonal())
    rotation, offset = rigid_fit(embedding.interpolate(mesh.vertices), points)
    vertices = mesh.vertices @ rotation.T + offset
    rotations = np.broadcast_to(rotation, (len(mesh.tets), 3, 3))
    for _ in range(MAX_ITERATIONS):
        rest = _turned(mesh, rotations) + weight * (carried.T @ points) - matrix @ vertices
        change = np.stack(
            [cg(matrix, rest[:, axis], rtol=_RESIDUAL_RATIO, M=jacobi)[0] for axis in range(3)], 1
        )
        vertices = vertices + change
        if np.abs(change).max() <= _TOLERANCE_RATIO * mesh.diagonal:
            break
        rotations = closest_rotations(_gradients(mesh, vertices))
    return vertices


def _turned(mesh: TetMesh, rotations: FloatArray) -> FloatArray:
    """Return the (N, 3) forces that draw vertices to the turned tets: Σ V R ∇N."""
    pulls = np.einsum("m,mij,maj->mai", mesh.rest_volumes, rotations, mesh.shape_gradients)
    return vertex_sums(pulls, mesh.tets, len(mesh.vertices))


def _gradients(mesh: TetMesh, positions: FloatArray) -> FloatArray:
    """(M, 3, 3) F of each tet."""
    return np.einsum("mai,maj->mij", positions[mesh.tets], mesh.shape_gradients)
