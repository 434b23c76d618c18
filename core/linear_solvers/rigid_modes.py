# SPDX-License-Identifier: GPL-3.0-or-later
"""The rigid motions of groups of vertices as a coarse space.

Block Jacobi alone carries a push from vertex to neighbour with each iteration. Stiff bodies answer
it as a whole, which rigid motions of groups of vertices do in one. Added to block Jacobi, their
exact solution is a two-level additive Schwarz preconditioner.

Source: Toselli and Widlund, "Domain Decomposition Methods", 2005, chapters 3 and 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BLOCKS_PER_THREAD, BlockMatrix, BlockPattern, OffPatternBlocks
from ..compiled import use_threads
from ..kernels.block_matrix import add_coarse
from ..math3.torch_matrices import segment_sums

#: The vertices in a group, and the most groups: the cost of the coarse problem grows with the cube
#: of their number.
GROUP_SIZE = 110
MAX_GROUPS = 128


def group_size(count: int) -> int:
    """The number of vertices in a group, by the number of unknowns."""
    return max(GROUP_SIZE, -(-count // MAX_GROUPS))


def bisect(
    points: NDArray[np.float64], members: NDArray[np.int64], size: int
) -> list[NDArray[np.int64]]:
    """As few groups of near points as there can be: parts of parts across the longest side.

    Args:
        points: (N, 3).
        members: indices of those to be grouped.
        size: of a group at most.
    """
    count = -(-len(members) // size)
    if count <= 1:
        return [members]
    member_points = points[members]
    order = np.argsort(member_points[:, np.ptp(member_points, axis=0).argmax()], kind="stable")
    middle = len(members) * (count // 2) // count
    return [
        group
        for part in (order[:middle], order[middle:])
        for group in bisect(points, members[part], size)
    ]


class RigidModes:
    """The coarse matrix of the rigid motions of groups of unknowns.

    Args:
        pattern: of the fine matrix; the unknowns of a group follow one another.
        offsets: (G + 1,) int32, the first unknown of each group.
    """

    def __init__(self, pattern: BlockPattern, offsets: NDArray[np.int32]) -> None:
        self._pattern, self.offsets = pattern, offsets
        self.count = len(offsets) - 1
        #: (n,) the group of each unknown.
        self.group_of = np.repeat(np.arange(self.count, dtype=np.int32), np.diff(offsets))
        #: (n, 3) positions about the centre of the group, in units of its size.
        self.centroid_offsets = np.zeros((pattern.size, 3))
        self._matrix = np.zeros((6 * self.count, 6 * self.count))

    def update(self, matrix: BlockMatrix, positions: NDArray[np.float64]) -> Tensor:
        """The inverse of the coarse matrix, (6 count, 6 count), at (n, 3) ``positions``."""
        size = np.diff(self.offsets)
        centres = np.add.reduceat(positions, self.offsets[:-1], axis=0) / size[:, None]
        centroid_offsets = np.subtract(positions, centres[self.group_of], out=self.centroid_offsets)
        spread = (
            np.add.reduceat((centroid_offsets * centroid_offsets).sum(1), self.offsets[:-1]) / size
        )
        # A group of one vertex has no extent to turn.
        centroid_offsets /= np.sqrt(np.where(spread > 0.0, spread, 1.0))[self.group_of, None]
        self._matrix.fill(0.0)
        pattern, off_pattern = self._pattern, matrix.off_pattern
        self._add(pattern.offsets, pattern.columns, matrix.values.numpy())
        if len(off_pattern):
            self._add(off_pattern.offsets, off_pattern.columns, off_pattern.values)
        return coarse_inverse(torch.from_numpy(self._matrix))

    def _add(
        self, offsets: NDArray[np.int32], columns: NDArray[np.int32], values: NDArray[Any]
    ) -> None:
        use_threads(len(values), BLOCKS_PER_THREAD)
        add_coarse(
            offsets,
            columns,
            values,
            self.offsets,
            self.group_of,
            self.centroid_offsets,
            self._matrix,
        )


def coarse_inverse(matrix: Tensor) -> Tensor:
    """Return the inverse of a symmetric positive semi-definite matrix; motions without stiffness
    stay at rest."""
    diagonal = matrix.diagonal()
    # A group of one or two vertices has fewer than six motions.
    diagonal += 1e-10 * diagonal.max()
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if int(failed):
        return torch.zeros_like(matrix)
    # Symmetric, and kept column by column: turned round, its rows lie together.
    return torch.cholesky_inverse(factor).mT.contiguous()


class TorchRigidModes:
    """The coarse correction of ``RigidModes`` on torch, with its effect on a residual; all in
    double precision.

    Args:
        pattern: of the fine matrix; the unknowns of a group follow one another.
        offsets: (G + 1,) int32, the first unknown of each group.
    """

    def __init__(self, pattern: BlockPattern, offsets: NDArray[np.int32]) -> None:
        self.count = len(offsets) - 1
        self._device = pattern.device
        groups = np.repeat(np.arange(self.count), np.diff(offsets))
        self._offsets, self._sizes = self._indices(offsets), self._indices(np.diff(offsets))
        self._group_of = self._indices(groups)
        # A vector lies component after component, and each falls into the same groups.
        component_offsets = np.arange(6)[:, None] * pattern.size + offsets[:-1]
        self._component_offsets = self._indices(np.append(component_offsets, 6 * pattern.size))
        self._columns = self._indices(pattern.columns)
        self._locate(pattern, groups)

    def _locate(self, pattern: BlockPattern, groups: NDArray[np.int64]) -> None:
        """Which blocks are added up: first those of a row with one group, as they lie side by side,
        then those of a group with another."""
        runs, offsets = _segments(pattern.rows * self.count + groups[pattern.columns])
        rows, others = np.divmod(runs, self.count)
        pairs = groups[rows] * self.count + others
        order = np.argsort(pairs, kind="stable")
        pairs, pair_offsets = _segments(pairs[order])
        self._run_offsets, self._run_rows = self._indices(offsets), self._indices(rows)
        self._order, self._pair_offsets = self._indices(order), self._indices(pair_offsets)
        self._pairs = [self._indices(groups) for groups in np.divmod(pairs, self.count)]

    def update(self, matrix: BlockMatrix, positions: Tensor) -> None:
        """Takes a matrix whose unknowns are at (n, 3) ``positions``."""
        centroid_offsets = self._centroid_offsets_at(positions.double())
        self._centroid_offsets = centroid_offsets.T.contiguous()
        modes = _modes(centroid_offsets)
        blocks = matrix.values.double().view(-1, 3, 3)
        images = segment_sums(blocks @ modes[self._columns], self._run_offsets)
        terms = modes.mT[self._run_rows] @ images
        coarse = terms.new_zeros(6, self.count, 6, self.count)
        pair_blocks = coarse.permute(1, 3, 0, 2)
        pair_blocks[self._pairs[0], self._pairs[1]] = segment_sums(
            terms[self._order], self._pair_offsets
        )
        if len(matrix.off_pattern):
            self._add_off_pattern(matrix.off_pattern, modes, pair_blocks)
        self._inverse = coarse_inverse(coarse.view(6 * self.count, -1))

    def _add_off_pattern(
        self, off_pattern: OffPatternBlocks, modes: Tensor, pair_blocks: Tensor
    ) -> None:
        rows, columns = self._indices(off_pattern.rows), self._indices(off_pattern.columns)
        blocks = torch.as_tensor(off_pattern.values).to(modes).view(-1, 3, 3)
        terms = modes.mT[rows] @ (blocks @ modes[columns])
        pairs = self._group_of[rows] * self.count + self._group_of[columns]
        order = torch.argsort(pairs, stable=True)
        different, counts = torch.unique_consecutive(pairs[order], return_counts=True)
        offsets = torch.nn.functional.pad(counts.cumsum(0), (1, 0))
        first, second = different // self.count, different % self.count
        pair_blocks[first, second] += segment_sums(terms[order], offsets)

    def correction(self, residual: Tensor) -> Tensor:
        """(3, n) Z (Zᵀ A Z)⁻¹ Zᵀ times a (3, n) residual."""
        torques = torch.linalg.cross(self._centroid_offsets, residual, dim=0)
        coarse_residual = segment_sums(
            torch.cat([residual, torques]).view(-1), self._component_offsets
        )
        motions = (self._inverse @ coarse_residual).view(6, -1)[:, self._group_of]
        return motions[:3] + torch.linalg.cross(motions[3:], self._centroid_offsets, dim=0)

    def _centroid_offsets_at(self, positions: Tensor) -> Tensor:
        """(n, 3) positions about the centre of the group, in units of its size."""
        centres = segment_sums(positions, self._offsets) / self._sizes[:, None]
        centroid_offsets = positions - centres[self._group_of]
        spread = (
            segment_sums((centroid_offsets * centroid_offsets).sum(1), self._offsets) / self._sizes
        )
        # A group of one vertex has no extent to turn.
        size = torch.where(spread > 0.0, spread, 1.0).sqrt()
        return centroid_offsets / size[self._group_of, None]

    def _indices(self, values: NDArray[np.integer[Any]]) -> Tensor:
        return torch.as_tensor(values, dtype=torch.int64, device=self._device)


def _segments(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different ones of sorted keys and where each begins, and the end of the last."""
    different, offsets = np.unique(keys, return_index=True)
    return different, np.append(offsets, len(keys))


def _modes(centroid_offsets: Tensor) -> Tensor:
    """(n, 3, 6): the motion t + w × offset of each unknown by translation t and rotation w."""
    axes = torch.eye(3, dtype=centroid_offsets.dtype, device=centroid_offsets.device)
    turns = torch.linalg.cross(
        axes.expand(len(centroid_offsets), 3, 3), centroid_offsets[:, None].expand(-1, 3, 3), dim=2
    )
    return torch.cat([axes.expand(len(centroid_offsets), 3, 3), turns.mT], dim=2)
