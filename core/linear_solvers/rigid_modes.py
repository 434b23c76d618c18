# SPDX-License-Identifier: GPL-3.0-or-later
"""A coarse space for elasticity: the rigid motions of groups of vertices.

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

from ..assembly.block_matrix import BLOCKS_PER_THREAD, BlockMatrix, BlockPattern
from ..compiled import use_threads
from ..kernels.coarse_matrix import add_coarse

#: Vertices in a group, and groups at most: what the coarse problem costs grows with their cube.
GROUP_SIZE = 110
MAX_GROUPS = 128


def group_size(count: int) -> int:
    """Vertices in a group, for so many unknowns."""
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
    own = points[members]
    order = np.argsort(own[:, np.ptp(own, axis=0).argmax()], kind="stable")
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
    """Of a symmetric positive semi-definite matrix; motions without stiffness stay at rest."""
    diagonal = matrix.diagonal()
    # A group of one or two vertices has fewer than six motions.
    diagonal += 1e-10 * diagonal.max()
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if int(failed):
        return torch.zeros_like(matrix)
    # Symmetric, and kept column by column: turned round, its rows lie together.
    return torch.cholesky_inverse(factor).mT.contiguous()
