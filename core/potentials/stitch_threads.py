# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that pull points of bodies together."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..errors import SceneError
from ..geometry.groups import expand
from ..preparation.pins import carriers, point_positions
from ..scene.channel import Channel
from ..scene.collision_points import contact_distances
from ..scene.stitches import Stitches
from .attachments import STIFFNESS_FACTOR, sparse_tensor, stiffness_around
from .nodes import Nodes
from .potential import PrescribedPotential

FloatArray = NDArray[np.float64]


class StitchThreads(PrescribedPotential):
    """Σ ½ k max(0, |d| − ℓ)²: threads of the length ℓ from point to point, d apart.

    With c closed, the length L at the start and the gap g, ℓ = g + (1 − c) max(0, L − g).

    The second derivative is k (n nᵀ + (1 − ℓ/|d|)(I − n nᵀ)) with n = d/|d| where a thread is
    tight: never negative, since threads do not push. k is that of attachments.

    Args:
        offsets: (S, N) matrix from the positions of all vertices to d.
        stiffness: (S,) k in N/m.
        starts: (S,) L in metres.
        gap: g in metres.
        closed: channel of c, a tensor of no dimension.
    """

    is_stiff = True
    label = "a stitch"

    def __init__(
        self,
        offsets: sparse.csr_array,
        stiffness: FloatArray,
        starts: FloatArray,
        gap: float,
        closed: TensorChannel,
    ) -> None:
        super().__init__(closed)
        template = self.parameters
        self._matrix, self._gap = offsets, gap
        self._offsets = sparse_tensor(offsets, template)
        self._sums = sparse_tensor(sparse.csr_array(offsets.T), template)
        self._stiffness = torch.as_tensor(stiffness).to(template)
        self._slack = torch.as_tensor(np.maximum(starts - gap, 0.0)).to(template)

    @staticmethod
    def of(system: Nodes, stitches: Stitches) -> StitchThreads:
        """Build the threads of stitches between two bodies.

        Raises:
            SceneError: when a body has no such point, or it is named twice.
        """
        first, second = stitches.body, stitches.other
        pairs = _nearest_pairs(system, stitches)
        parts, young = [], []
        for index, points in ((first, pairs[:, 0]), (second, pairs[:, 1])):
            corners, shares = carriers(system.bodies[index], points)
            rows = np.repeat(np.arange(len(points)), corners.shape[1])
            columns = corners.ravel() + system.vertex_offsets[index]
            shape = len(points), system.vertex_count
            parts.append(sparse.csr_array((shares.ravel(), (rows, columns)), shape=shape))
            young.append(stiffness_around(system.bodies[index])[corners].mean(axis=1))
        places = [point_positions(system.bodies[index]) for index in (first, second)]
        starts = np.linalg.norm(places[0][pairs[:, 0]] - places[1][pairs[:, 1]], axis=1)
        closed = Channel.of(stitches.closed, "How far stitches are closed")
        return StitchThreads(
            sparse.csr_array(parts[0] - parts[1]),
            STIFFNESS_FACTOR * np.maximum(*young),
            starts,
            _gap(system, stitches),
            system.tensor_channel(closed),
        )

    def energy(self, positions: Tensor) -> Tensor:
        _, lengths = self._directions(positions)
        return 0.5 * (self._stiffness * self._extensions(lengths).square()).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        directions, lengths = self._directions(positions)
        forces = self._stiffness * self._extensions(lengths) * directions
        out += (self._sums @ forces.T).T

    def tensions(self, positions: Tensor) -> Tensor:
        """Return the (S,) tensions of the threads at (3, N) positions, in newtons."""
        return self._stiffness * self._extensions(self._directions(positions)[1])

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        directions, lengths = self._directions(positions)
        across = torch.where(lengths > 0.0, self._extensions(lengths) / lengths, 1.0)
        along = directions.T[:, :, None] * directions.T[:, None, :]
        identity = torch.eye(3).to(along)
        tight = self._stiffness * (self._extensions(lengths) > 0.0)
        blocks = tight[:, None, None] * (along + across[:, None, None] * (identity - along))
        values = self._sum_blocks @ (
            self._products[:, None] * blocks.cpu().numpy().reshape(-1, 9)[self._thread_of]
        )
        rows, columns = np.divmod(self._keys, self._matrix.shape[1])
        starts = np.searchsorted(rows, np.arange(self._matrix.shape[1] + 1))
        size = 3 * self._matrix.shape[1]
        whole = sparse.bsr_array(
            (values.reshape(-1, 3, 3), columns, starts), shape=(size, size), blocksize=(3, 3)
        )
        matrix.add_sparse(whole)

    def _directions(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """(3, S) n and (S,) |d|."""
        offsets = (self._offsets @ positions.T).T
        lengths = torch.linalg.vector_norm(offsets, dim=0)
        return offsets / torch.where(lengths > 0.0, lengths, 1.0), lengths

    def _extensions(self, lengths: Tensor) -> Tensor:
        """Return the (S,) extensions of the threads beyond their length, in metres."""
        target = self._gap + (1.0 - self.parameters) * self._slack
        return (lengths - target).clamp(min=0.0)

    # The blocks of every two vertices of a thread: K of them, in B different places.

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
        """(K,) the thread, the place row × N + column, and the product of the shares."""
        size, offsets = self._matrix.shape[1], self._matrix
        counts = np.diff(offsets.indptr)
        threads, within = expand(counts**2)
        first = np.repeat(np.arange(offsets.nnz), np.repeat(counts, counts))
        second = offsets.indptr[threads] + within % counts[threads]
        keys = offsets.indices[first].astype(np.int64) * size + offsets.indices[second]
        return threads, keys, offsets.data[first] * offsets.data[second]

    @property
    def _thread_of(self) -> NDArray[np.int64]:
        return self._pairs[0]

    @property
    def _products(self) -> FloatArray:
        return self._pairs[2]

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """(B,)."""
        return np.unique(self._pairs[1])

    @cached_property
    def _sum_blocks(self) -> Any:
        """(B, K) matrix that sums up."""
        places = np.searchsorted(self._keys, self._pairs[1])
        count = len(places)
        return sparse.csr_array(
            (np.ones(count), (places, np.arange(count))), shape=(len(self._keys), count)
        )


def _nearest_pairs(system: Nodes, stitches: Stitches) -> NDArray[np.int64]:
    """(S, 2) points of the two bodies that are stitched to each other."""
    # It takes a moment that scenes without stitches need not wait.
    from scipy.spatial import cKDTree

    places = []
    for index, points in (
        (stitches.body, stitches.points),
        (stitches.other, stitches.other_points),
    ):
        body = system.bodies[index]
        all_places = point_positions(body)
        chosen = np.arange(len(all_places)) if points is None else points
        if chosen.min() < 0 or chosen.max() >= len(all_places):
            raise SceneError(
                f"{body.name}: a stitched point lies outside 0 … {len(all_places) - 1}."
            )
        places.append((chosen, all_places[chosen]))
    (vertices, ends), (others, far_ends) = places
    _, nearest = cKDTree(far_ends).query(ends)
    pairs = np.column_stack([vertices, others[nearest]]).astype(np.int64)
    if stitches.threads is not None:
        pairs = pairs[stitches.threads]
    if stitches.body == stitches.other and (pairs[:, 0] == pairs[:, 1]).any():
        raise SceneError(
            f"{system.bodies[stitches.body].name}: a point is stitched to itself; the two sides of "
            "a seam must have no point in common."
        )
    return pairs


def _gap(system: Nodes, stitches: Stitches) -> float:
    if stitches.gap is not None:
        return stitches.gap
    if system.scene.contact is None:
        return 0.0
    return float(contact_distances(system.scene)[stitches.body, stitches.other])
