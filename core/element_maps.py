# SPDX-License-Identifier: GPL-3.0-or-later
"""What is constant in the map from positions to strain and from stress to forces."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor

from .tet_mesh import TetMesh


def metric(meshes: list[tuple[int, TetMesh]], like: Tensor) -> tuple[Tensor, Tensor]:
    """V S, (3, 3, M) in m, and V, (M,) in m³: S = D_m⁻¹ D_m⁻ᵀ, the metric of the rest shape.

    Args:
        meshes: (index of its first vertex, mesh) for each body.
        like: a tensor on the device and of the precision wanted.
    """
    gradients = np.concatenate([mesh.shape_gradients[:, 1:] for _, mesh in meshes])
    volumes = np.concatenate([mesh.rest_volumes for _, mesh in meshes])
    products = np.einsum("mki,mli,m->klm", gradients, gradients, volumes)
    return torch.as_tensor(products).to(like), torch.as_tensor(volumes).to(like)


def edge_divergence(meshes: list[tuple[int, TetMesh]], like: Tensor) -> Tensor:
    """(N, 3M) CSR matrix that adds the columns of edge forces to vertices.

    Column kM + e holds the force along edge k of tet e: it counts for vertex k + 1 and against
    vertex 0.

    Args:
        meshes: (index of its first vertex, mesh) for each body.
        like: an (N,)-long tensor on the device and of the precision wanted.
    """
    tets = np.concatenate([mesh.tets.astype(np.int64) + first for first, mesh in meshes])
    count = len(tets)
    columns = np.tile(np.arange(3 * count), 2)
    rows = np.concatenate([tets[:, 1:].T.ravel(), np.tile(tets[:, 0], 3)])
    values = np.repeat([1.0, -1.0], 3 * count)
    order = np.lexsort((columns, rows))
    starts = np.searchsorted(rows[order], np.arange(len(like) + 1))
    # int32 indices make the product twice as fast as int64.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        return torch.sparse_csr_tensor(
            torch.as_tensor(starts.astype(np.int32)),
            torch.as_tensor(columns[order].astype(np.int32)),
            torch.as_tensor(values[order]).to(like.dtype),
            size=(len(like), 3 * count),
        ).to(like.device)
