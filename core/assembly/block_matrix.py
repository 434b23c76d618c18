# SPDX-License-Identifier: GPL-3.0-or-later
"""Symmetric matrices of 3 × 3 blocks in a fixed pattern, and blocks beside it."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import runs_loops, use_threads
from ..geometry.groups import runs
from ..kernels.block_matrix import add_elements
from ..math3.torch_matrices import segment_sums


@dataclass(frozen=True, eq=False)
class OffPatternBlocks:
    """Symmetric blocks to be added to a matrix, as block compressed sparse rows.

    Args:
        offsets: (n + 1,) int32.
        columns: (B,) int32, ascending within a row.
        values: (B, 9) blocks, row by row.
    """

    offsets: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[Any]

    @staticmethod
    def none(size: int, dtype: Any) -> OffPatternBlocks:
        """Return no blocks for ``size`` unknowns."""
        return OffPatternBlocks(
            np.zeros(size + 1, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty((0, 9), dtype)
        )

    @staticmethod
    def of(
        matrix: Any, vertex_to_unknown: NDArray[np.int64], size: int, dtype: Any
    ) -> OffPatternBlocks:
        """The rows and columns of unknowns in a sparse matrix over all vertices.

        Args:
            matrix: (3N, 3N) symmetric; rows are 3 × vertex + component. In block rows, no block
                may occur twice.
            vertex_to_unknown: (N,) the unknown of each vertex, -1 where it is none.
            size: of unknowns.
        """
        blocks = matrix if matrix.format == "bsr" else matrix.tocsr().tobsr((3, 3))
        rows = vertex_to_unknown[
            np.repeat(np.arange(len(vertex_to_unknown)), np.diff(blocks.indptr))
        ]
        columns = vertex_to_unknown[blocks.indices]
        mask = np.flatnonzero((rows >= 0) & (columns >= 0))
        order = mask[np.argsort(rows[mask] * size + columns[mask])]
        offsets = np.searchsorted(rows[order], np.arange(size + 1))
        return OffPatternBlocks(
            offsets.astype(np.int32),
            columns[order].astype(np.int32),
            np.ascontiguousarray(blocks.data[order].reshape(-1, 9), dtype=dtype),
        )

    def __len__(self) -> int:
        return len(self.columns)

    def added_to(
        self, offsets: NDArray[np.int32], columns: NDArray[np.int32], values: NDArray[Any]
    ) -> OffPatternBlocks:
        """The sum with other blocks of the same kind."""
        size = len(self.offsets) - 1
        rows = np.concatenate([np.repeat(np.arange(size), np.diff(offsets)), self.rows])
        keys = rows * size + np.concatenate([columns, self.columns])
        different, where = np.unique(keys, return_inverse=True)
        total = np.zeros((len(different), 9), dtype=self.values.dtype)
        # The blocks of either are different ones.
        total[where[: len(columns)]] = values
        total[where[len(columns) :]] += self.values
        bounds = np.searchsorted(different, size * np.arange(size + 1))
        return OffPatternBlocks(bounds.astype(np.int32), (different % size).astype(np.int32), total)

    @property
    def rows(self) -> NDArray[np.int64]:
        """(B,) the row of each block."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def diagonal(self) -> NDArray[Any]:
        """(n, 9), zero where there is no block."""
        rows = self.rows
        diagonal = np.flatnonzero(rows == self.columns)
        out = np.zeros((len(self.offsets) - 1, 9), dtype=self.values.dtype)
        out[rows[diagonal]] = self.values[diagonal]
        return out


#: The pairs of a tet's corners whose blocks an element matrix lists; the others are transposes.
CORNER_PAIRS = ((0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3))

#: Fewer blocks than this a thread cost more to hand out than to add up.
BLOCKS_PER_THREAD = 5000

RankOneTerms = tuple[tuple[Tensor, float], ...]


class BlockPattern:
    """Which blocks there are: one for each pair of vertices that share a tet and are not pinned.

    Args:
        elements: (4, M) vertex indices of all tets.
        vertices: (n,) the vertices of unknowns, in their order.
        vertex_count: N, of all vertices.
        device: of everything but ``offsets`` and ``columns``.
    """

    def __init__(
        self,
        elements: NDArray[np.int32],
        vertices: NDArray[np.int64],
        vertex_count: int,
        device: torch.device,
    ) -> None:
        self.device = device
        self.size = len(vertices)
        #: (N,) the unknown of each vertex, -1 where it is none.
        self.vertex_to_unknown = np.full(vertex_count, -1, dtype=np.int64)
        self.vertex_to_unknown[vertices] = np.arange(self.size)
        #: (n,) the vertex of each unknown.
        self.vertices = torch.as_tensor(vertices, device=device)
        upper = np.unique(self._contributions(elements)[0])
        # Every unknown has its diagonal, also where no tet has put anything yet.
        diagonal = np.arange(self.size) * (self.size + 1)
        self._keys = np.unique(np.concatenate([upper, self._mirrored(upper), diagonal]))
        rows = self._keys // self.size
        #: (n + 1,) and (B,) int32: block compressed sparse rows.
        self.offsets = np.searchsorted(rows, np.arange(self.size + 1)).astype(np.int32)
        self.columns = (self._keys % self.size).astype(np.int32)
        places = np.searchsorted(self._keys, diagonal)
        #: (n,) where the diagonal blocks lie among all.
        self.diagonal = torch.as_tensor(places, device=device)
        #: (N,) where that of each vertex lies; without meaning where it is no unknown.
        self.diagonal_block_of_vertex = torch.as_tensor(
            places[self.vertex_to_unknown], device=device
        )

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(B,) the row of each block."""
        return np.repeat(np.arange(self.size), np.diff(self.offsets))

    def locate(self, elements: NDArray[np.int32]) -> ElementMap:
        """Find the blocks to which the element matrices of (4, M) tets are added."""
        keys, sources, transposed = self._contributions(elements)
        order, offsets = runs(keys)
        # A transposed source is written as its complement, so that one number encodes both.
        codes = np.where(transposed, ~sources, sources)[order]
        distinct = keys[order[offsets[:-1]]]
        return ElementMap(
            np.searchsorted(self._keys, distinct).astype(np.int32),
            np.searchsorted(self._keys, self._mirrored(distinct)).astype(np.int32),
            offsets.astype(np.int32),
            codes.astype(np.int32),
            self.device,
        )

    def places(self, elements: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the (4, 4, M) places of the blocks of each two corners of (4, M) tets; -1 where
        one is pinned."""
        corners = self.vertex_to_unknown[elements]
        rows, columns = corners[:, None], corners[None]
        places = np.searchsorted(self._keys, rows * self.size + columns)
        return np.where((rows >= 0) & (columns >= 0), places, -1).astype(np.int32)

    def _mirrored(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keys of the transposed blocks."""
        rows, columns = np.divmod(keys, self.size)
        return columns * self.size + rows

    def _contributions(
        self, elements: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Keys of the blocks of the upper triangle that element blocks go to, which these are, and
        whether turned."""
        corners = self.vertex_to_unknown[elements]
        first, second = (corners[list(side)] for side in zip(*CORNER_PAIRS, strict=True))
        sources = np.arange(elements.shape[1]) * len(CORNER_PAIRS)
        sources = sources + np.arange(len(CORNER_PAIRS))[:, None]
        mask = (first >= 0) & (second >= 0)
        first, second = first[mask], second[mask]
        keys = np.minimum(first, second) * self.size + np.maximum(first, second)
        return keys, sources[mask], first > second


@dataclass(frozen=True)
class ElementMap:
    """For blocks of the upper triangle of a pattern the element blocks that add up to them.

    Args:
        places: (U,) which blocks they are.
        mirrors: (U,) places of their transposes; a diagonal block is its own.
        offsets: (U + 1,) where the sources of each block begin in ``codes``.
        codes: number of the element block, or its complement where it is to be transposed.
    """

    places: NDArray[np.int32]
    mirrors: NDArray[np.int32]
    offsets: NDArray[np.int32]
    codes: NDArray[np.int32]
    device: torch.device

    @cached_property
    def segments(self) -> list[tuple[Tensor, Tensor]]:
        """Return starts and sources on the device, of blocks that are added as they are, and of
        transposed ones."""
        numbers, transposed = np.maximum(self.codes, ~self.codes), self.codes < 0
        segments = []
        for chosen in (~transposed, transposed):
            before = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int32)
            offsets = torch.as_tensor(before[self.offsets], device=self.device)
            segments.append((offsets, torch.as_tensor(numbers[chosen], device=self.device)))
        return segments

    @cached_property
    def halves(self) -> tuple[Tensor, Tensor, Tensor]:
        """On the device: places, and which of them have mirrors elsewhere, and those."""
        is_apart = np.flatnonzero(self.places != self.mirrors)
        parts = self.places, is_apart, self.mirrors[is_apart]
        places, apart, mirrors = (torch.as_tensor(part, device=self.device) for part in parts)
        return places.long(), apart, mirrors.long()


class BlockMatrix:
    """A symmetric matrix on a pattern, zero at first; ``values`` holds (B, 9) blocks, row by row.

    Beside them it may have ``off_pattern``, whose pattern changes, and ``rank_ones``.
    """

    def __init__(self, pattern: BlockPattern, dtype: torch.dtype) -> None:
        self.pattern = pattern
        self.values = torch.zeros(len(pattern.columns), 9, dtype=dtype, device=pattern.device)
        #: The numpy type.
        self.dtype = self.values[:0].cpu().numpy().dtype
        self.off_pattern = OffPatternBlocks.none(pattern.size, self.dtype)
        #: Terms c u uᵀ: u, (n, 3), and c, above 0.
        self.rank_ones: RankOneTerms = ()

    def copy(self) -> BlockMatrix:
        """Another one, which may be added to."""
        other = copy(self)
        other.values = self.values.clone()
        return other

    def add_rank_one(self, direction: Tensor, factor: float) -> None:
        """Adds the factor, above 0, times u uᵀ of an (n, 3) direction u."""
        self.rank_ones = (*self.rank_ones, (direction, factor))

    def add_diagonal(self, values: Tensor) -> None:
        """Adds (n,) values, one an unknown vertex, to the diagonal."""
        self.values[self.pattern.diagonal, ::4] += values[:, None]

    def add_off_pattern(self, off_pattern: OffPatternBlocks) -> None:
        """Adds blocks that may lie outside the pattern."""
        if len(self.off_pattern):
            present = self.off_pattern
            off_pattern = off_pattern.added_to(present.offsets, present.columns, present.values)
        self.off_pattern = off_pattern

    def add_sparse(self, matrix: Any) -> None:
        """Adds a sparse matrix over all vertices, as ``OffPatternBlocks.of`` takes it."""
        pattern = self.pattern
        self.add_off_pattern(
            OffPatternBlocks.of(matrix, pattern.vertex_to_unknown, pattern.size, self.dtype)
        )

    def add_diagonal_blocks(self, vertices: Tensor, blocks: Tensor) -> None:
        """Adds (S, 9) blocks to the diagonal at (S,) different vertices that are not pinned."""
        self.values[self.pattern.diagonal_block_of_vertex[vertices]] += blocks

    def add_elements(self, where: ElementMap, blocks: Tensor) -> None:
        """Adds (M, 10, 9) element blocks, in the order of ``CORNER_PAIRS``."""
        if runs_loops(blocks):
            use_threads(len(self.values), BLOCKS_PER_THREAD)
            targets = where.places, where.mirrors, where.offsets
            add_elements(targets, where.codes, blocks.view(-1, 9).numpy(), self.values.numpy())
            return
        as_they_are, transposed = (
            segment_sums(blocks.view(-1, 9).index_select(0, sources), offsets).view(-1, 3, 3)
            for offsets, sources in where.segments
        )
        sums, values = as_they_are + transposed.mT, self.values.view(-1, 3, 3)
        places, apart, mirrors = where.halves
        values[places] += sums
        values[mirrors] += sums[apart].mT

    def add_few_elements(self, corners: NDArray[np.int32], matrices: NDArray[np.float64]) -> None:
        """Adds (A, 12, 12) element matrices, corner by corner, of elements of the pattern with
        (A, 4) corners."""
        places = self.pattern.places(np.ascontiguousarray(corners.T)).ravel()
        blocks = matrices.reshape(-1, 4, 3, 4, 3).transpose(1, 3, 0, 2, 4).reshape(-1, 9)
        mask = places >= 0
        places, blocks = places[mask], blocks[mask]
        order, offsets = runs(places)
        if len(places) > 0:
            sums = torch.as_tensor(np.add.reduceat(blocks[order], offsets[:-1])).to(self.values)
            self.values[torch.as_tensor(places[order[offsets[:-1]]]).long()] += sums

    def diagonal_blocks(self, vertices: Tensor | None = None) -> Tensor:
        """Return the (n, 3, 3) diagonal blocks, off-pattern blocks included.

        Args:
            vertices: (n,) whose blocks they are, none of them pinned; None are all unknowns.
        """
        pattern = self.pattern
        places = (
            pattern.diagonal if vertices is None else pattern.diagonal_block_of_vertex[vertices]
        )
        blocks = self.values[places]
        if len(self.off_pattern):
            more = self.off_pattern.diagonal()
            if vertices is not None:
                more = more[pattern.vertex_to_unknown[vertices.cpu().numpy()]]
            blocks = blocks + torch.as_tensor(more).to(blocks)
        return blocks.view(-1, 3, 3)


class ScalarRows:
    """The (3n, 3n) matrix of a block pattern in compressed sparse rows.

    Unknowns lie component after component: number c n + i.

    Args:
        pattern: of the blocks.
        dtype: of the matrix.
    """

    def __init__(self, pattern: BlockPattern, dtype: torch.dtype) -> None:
        places, columns = _entries(pattern)
        order = np.empty(places.size, dtype=np.int32)
        order[places.ravel()] = np.arange(places.size)
        offsets = 3 * (len(pattern.columns) * _AXES[:, None] + pattern.offsets[:-1])
        # The place of each entry among (B, 9) blocks.
        self._order = torch.as_tensor(order)
        self._zero = torch.zeros(3 * pattern.size, dtype=dtype)
        self._off_pattern_matrix: Tensor | None = None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse")
            self._matrix = torch.sparse_csr_tensor(
                torch.as_tensor(np.append(offsets, places.size).astype(np.int32)),
                torch.as_tensor(columns.ravel()[order].astype(np.int32)),
                torch.zeros(places.size, dtype=dtype),
                size=(3 * pattern.size, 3 * pattern.size),
            )

    def set_values(self, matrix: BlockMatrix) -> None:
        """Copy the values of a matrix on the pattern."""
        torch.index_select(matrix.values.view(-1), 0, self._order, out=self._matrix.values())
        self._off_pattern_matrix = (
            _off_pattern_rows(matrix.off_pattern, self._zero) if len(matrix.off_pattern) else None
        )

    def matvec(self, vector: Tensor) -> Tensor:
        """(3, n) product with a (3, n) vector."""
        # Added to zero, since some builds multiply the previous memory of a result by zero
        # instead.
        product = torch.addmv(self._zero, self._matrix, vector.view(-1))
        if self._off_pattern_matrix is not None:
            product = torch.addmv(product, self._off_pattern_matrix, vector.view(-1))
        return product.view(3, -1)


_AXES = np.arange(3)


def _off_pattern_rows(off_pattern: OffPatternBlocks, template: Tensor) -> Tensor:
    """Couplings as (3n, 3n) compressed sparse rows."""
    size = len(off_pattern.offsets) - 1
    blocks = sparse.bsr_array(
        (off_pattern.values.reshape(-1, 3, 3), off_pattern.columns, off_pattern.offsets),
        shape=(3 * size, 3 * size),
    ).tocoo()
    rows, columns = (size * (index % 3) + index // 3 for index in (blocks.row, blocks.col))
    matrix = sparse.csr_array((blocks.data, (rows, columns)), shape=(3 * size, 3 * size))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        return torch.sparse_csr_tensor(
            torch.as_tensor(matrix.indptr.astype(np.int32)),
            torch.as_tensor(matrix.indices.astype(np.int32)),
            torch.as_tensor(matrix.data),
            size=matrix.shape,
        ).to(template)


def _entries(pattern: BlockPattern) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the (B, 3, 3) places of each block's entries in compressed rows, and their columns."""
    counts, first = np.diff(pattern.offsets)[pattern.rows], pattern.offsets[pattern.rows]
    row, column = _AXES[:, None], _AXES
    within = np.arange(len(counts)) - first
    places = (
        3 * (len(counts) * row + first[:, None, None])
        + column * counts[:, None, None]
        + within[:, None, None]
    )
    columns = np.broadcast_to(pattern.size * column + pattern.columns[:, None, None], places.shape)
    return places, columns


class BlockRows:
    """The matrix of a block pattern in compressed rows of blocks.

    torch's own sparse products are cuSPARSE's on CUDA, which do not promise the same bits again.
    """

    def __init__(self, pattern: BlockPattern) -> None:
        self._rows = _on_device(pattern, pattern.device)
        #: Offsets, columns and blocks, on the pattern and beside it.
        self._parts: list[tuple[Tensor, Tensor, Tensor]] = []

    def set_values(self, matrix: BlockMatrix) -> None:
        """Use the values of a matrix on the pattern, which must not change afterwards."""
        self._parts = [(*self._rows, matrix.values)]
        if len(more := matrix.off_pattern):
            blocks = torch.as_tensor(more.values).to(matrix.values)
            self._parts.append((*_on_device(more, matrix.values.device), blocks))

    def matvec(self, vector: Tensor) -> Tensor:
        """(3, n) product with a (3, n) vector."""
        vectors = vector.T.contiguous()
        product, *others = (_product(*part, vectors) for part in self._parts)
        for other in others:
            product += other
        return product.T.contiguous()


def matrix_rows(pattern: BlockPattern, dtype: torch.dtype) -> BlockRows | ScalarRows:
    """Return the multiplier of a vector with matrices of a pattern on its device."""
    return BlockRows(pattern) if pattern.device.type == "cuda" else ScalarRows(pattern, dtype)


def _on_device(
    pattern: BlockPattern | OffPatternBlocks, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Offsets and columns."""
    return (
        torch.as_tensor(pattern.offsets, device=device),
        torch.as_tensor(pattern.columns, device=device),
    )


def _product(offsets: Tensor, columns: Tensor, blocks: Tensor, vector: Tensor) -> Tensor:
    """(n, 3) product of (B, 9) blocks, row by row, with an (n, 3) vector."""
    terms = blocks.view(-1, 3, 3) * vector.index_select(0, columns)[:, None]
    return segment_sums(terms.sum(2), offsets)
