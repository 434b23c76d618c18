# SPDX-License-Identifier: GPL-3.0-or-later
"""The two constant sparse matrices of linear tetrahedra: gradient and divergence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .tet_mesh import TetMesh


def gradient_matrix(
    meshes: list[tuple[int, TetMesh]], vertex_count: int, device: torch.device, dtype: torch.dtype
) -> torch.Tensor:
    """G, (3M, N) CSR: row jM + e of ``G @ x_i`` is ∂x_i/∂X_j in tet e.

    Args:
        meshes: (index of its first vertex, mesh) for each body.
        vertex_count: N, of all bodies.
    """
    tets, gradients, _ = _joined(meshes)
    rows = np.arange(0, 12 * len(tets) + 1, 4)
    columns = np.tile(tets.ravel(), 3)
    values = gradients.transpose(2, 0, 1).ravel()
    return _csr(rows, columns, values, (3 * len(tets), vertex_count), device, dtype)


def divergence_matrix(
    meshes: list[tuple[int, TetMesh]], vertex_count: int, device: torch.device, dtype: torch.dtype
) -> torch.Tensor:
    """Gᵀ diag(V), (N, 3M) CSR: takes the stresses of all tets to the energy gradient at vertices.

    Args:
        meshes: (index of its first vertex, mesh) for each body.
        vertex_count: N, of all bodies.
    """
    tets, gradients, volumes = _joined(meshes)
    corners = tets.ravel()
    by_vertex = np.argsort(corners, kind="stable")
    degree = np.bincount(corners, minlength=vertex_count)
    first = np.cumsum(degree) - degree
    rank = np.arange(len(corners)) - np.repeat(first, degree)
    # Row v holds 3 runs, one a direction j, each over the tets of v.
    start = np.repeat(3 * first, degree) + rank
    columns = np.empty(3 * len(corners), dtype=np.int64)
    values = np.empty(3 * len(corners))
    weighted = (gradients * volumes[:, None, None]).reshape(-1, 3)[by_vertex]
    for j in range(3):
        slots = start + j * np.repeat(degree, degree)
        columns[slots] = j * len(tets) + by_vertex // 4
        values[slots] = weighted[:, j]
    rows = np.concatenate([[0], np.cumsum(3 * degree)])
    return _csr(rows, columns, values, (vertex_count, 3 * len(tets)), device, dtype)


def _joined(
    meshes: list[tuple[int, TetMesh]],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    return (
        np.concatenate([mesh.tets.astype(np.int64) + first for first, mesh in meshes]),
        np.concatenate([mesh.shape_gradients for _, mesh in meshes]),
        np.concatenate([mesh.rest_volumes for _, mesh in meshes]),
    )


def _csr(
    rows: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    shape: tuple[int, int],
    device: torch.device,
    dtype: torch.dtype,
) -> torch.Tensor:
    # int32 indices make the product twice as fast as int64.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        return torch.sparse_csr_tensor(
            torch.as_tensor(rows.astype(np.int32)),
            torch.as_tensor(columns.astype(np.int32)),
            torch.as_tensor(values).to(dtype),
            size=shape,
        ).to(device)
