# SPDX-License-Identifier: GPL-3.0-or-later
"""Attach bodies to each other by springs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix, BlockPattern, OffPatternBlocks
from ..errors import SceneError
from ..geometry.embedding import Embedding, embed
from ..preparation.pins import held_vertices
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody, start_positions, tet_mesh_of
from .potential import Potential

# The stiffness of an attachment relative to the tets around it. Its deformation is less than a
# hundredth of the bodies', and the condition number of the system grows only a few times.
STIFFNESS_FACTOR = 25.0


class AttachedVertices(NamedTuple):
    """Vertices that keep their places among others, numbered among all of the scene.

    Args:
        vertices: (A,) that are held.
        corners, weights: (A, 4) of the tets in which their places are.
    """

    vertices: NDArray[np.int64]
    corners: NDArray[np.int64]
    weights: NDArray[np.float64]

    def shares(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(A, 5) vertices, and the coefficient of each in x_a − Σ_j w_j x_j."""
        vertices = np.column_stack([self.vertices, self.corners]).astype(np.int64)
        return vertices, np.column_stack([np.ones(len(vertices)), -self.weights])

    def offsets(self, count: int) -> sparse.csr_array:
        """(A, N) matrix from the positions of all vertices to x_a − Σ_j w_j x_j."""
        columns, values = self.shares()
        rows = np.repeat(np.arange(len(self.vertices)), 5)
        shape = (len(self.vertices), count)
        return sparse.csr_array((values.ravel(), (rows, columns.ravel())), shape=shape)


class Attachments(Potential):
    """Σ ½ k |x_a − Σ_j w_j x_j|²: vertices a keep their places among the vertices j of others.

    The weights of a place sum to one and reproduce where the vertex starts. There is thus no force
    at the start, and no attachment changes momentum or angular momentum.

    Args:
        offsets: (A, N) matrix from the positions of all vertices to x_a − Σ_j w_j x_j.
        stiffness: (A,) k in N/m.
        template: a tensor on the device and of the precision to work in.
    """

    is_stiff = True

    def __init__(
        self, offsets: sparse.csr_array, stiffness: NDArray[np.float64], template: Tensor
    ) -> None:
        self._matrix, self._k = offsets, stiffness
        self._offsets = sparse_tensor(offsets, template)
        self._sums = sparse_tensor(sparse.csr_array(offsets.T), template)
        self._stiffness = torch.as_tensor(stiffness).to(template)
        # Kept for the last pattern.
        self._blocks = lru_cache(maxsize=1)(self._blocks_in)

    @classmethod
    def from_scene(
        cls, scene: Scene, vertex_offsets: Sequence[int], template: Tensor
    ) -> Attachments | None:
        """Build the attachments between the bodies of a scene; None without any.

        k is twenty-five times Young's modulus times the length of an edge, the means of the tets
        around the vertex or of those around its place, whichever is stiffer.

        Args:
            scene: a scene with tetrahedra in all bodies.
            vertex_offsets: (B + 1,) where the vertices of each body begin among all, and how many
                there are.
            template: a tensor on the device and of the precision to work in.

        Raises:
            SceneError: when a body has no such point, or starts in a shape without volume.
        """
        if not scene.attaches_bodies:
            return None
        attached = attached_vertices(scene, vertex_offsets)
        around = np.concatenate([stiffness_around(body) for body in scene.bodies])
        around_vertices, around_anchors = (
            around[attached.vertices],
            around[attached.corners].mean(axis=1),
        )
        stiffness = STIFFNESS_FACTOR * np.maximum(around_vertices, around_anchors)
        return cls(attached.offsets(vertex_offsets[-1]), stiffness, template)

    def energy(self, positions: Tensor) -> Tensor:
        offsets = (self._offsets @ positions.T).T
        return 0.5 * (self._stiffness * offsets.square()).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out += (self._sums @ (self._stiffness[:, None] * (self._offsets @ positions.T))).T

    def tensions(self, positions: Tensor) -> Tensor:
        """Return the (A,) tensions of attached vertices at (3, N) positions, in newtons."""
        offsets = (self._offsets @ positions.T).T
        return self._stiffness * torch.linalg.vector_norm(offsets, dim=0)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        matrix.add_off_pattern(self._blocks(matrix.pattern, matrix.dtype))

    def _blocks_in(self, pattern: BlockPattern, dtype: Any) -> OffPatternBlocks:
        return OffPatternBlocks.of(self.hessian(), pattern.vertex_to_unknown, pattern.size, dtype)

    def hessian(self) -> sparse.csr_array:
        """The energy's second derivative, (3N, 3N) in N/m, the same everywhere.

        Row 3 v + i belongs to component i of vertex v. Positive semi-definite.
        """
        stiffness = self._matrix.T @ sparse.diags_array(self._k) @ self._matrix
        return sparse.csr_array(sparse.kron(stiffness, sparse.eye_array(3)))


def attached_vertices(scene: Scene, vertex_offsets: Sequence[int]) -> AttachedVertices:
    """Return the vertices of a scene that attachments hold.

    Args:
        scene, vertex_offsets: as ``Attachments.from_scene`` takes them; the scene has attachments.
    """
    parts = []
    for attachment in scene.attachments:
        if not attachment.joins_bodies:
            continue
        body, other = scene.bodies[attachment.body], scene.bodies[attachment.other]
        vertices = held_vertices(body, attachment)
        places = attachment.places or places_in(
            other, start_positions(other), start_positions(body)[vertices]
        )
        parts.append(
            (
                vertices + vertex_offsets[attachment.body],
                places.indices + vertex_offsets[attachment.other],
                places.weights,
            )
        )
    return AttachedVertices(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def places_in(
    body: SoftBody, positions: NDArray[np.float64], points: NDArray[np.float64]
) -> Embedding:
    """Return points (A, 3) among the tetrahedra of a body whose vertices are at (N, 3) positions.

    Raises:
        SceneError: when a tetrahedron has no volume there.
    """
    try:
        return embed(tet_mesh_of(body).with_vertices(positions), points)
    except SceneError as error:
        raise SceneError(
            f"{body.name}: nothing can be attached to the shape that it has then ({error})"
        ) from error


def stiffness_around(body: SoftBody) -> NDArray[np.float64]:
    """(N,) Young's modulus times edge, the mean over the tets at each vertex, in N/m."""
    mesh = tet_mesh_of(body)
    corners, values = mesh.tets.ravel(), np.asarray(body.material.young) * mesh.mean_edges
    return np.bincount(corners, np.repeat(values, 4)) / np.bincount(corners)


def sparse_tensor(matrix: sparse.csr_array, template: Tensor) -> Tensor:
    """A sparse matrix on the device and of the precision of a tensor."""
    row_offsets, columns, values = (
        torch.as_tensor(part) for part in (matrix.indptr, matrix.indices, matrix.data)
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        return torch.sparse_csr_tensor(
            row_offsets, columns, values.to(template.dtype), size=matrix.shape
        ).to(template.device)
