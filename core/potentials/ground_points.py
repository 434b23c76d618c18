# SPDX-License-Identifier: GPL-3.0-or-later
"""The points of bodies that the ground holds up, and how they follow vertices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS, BlockMatrix
from ..compiled import is_compiled
from ..geometry.segments import segment_sums
from ..kernels import embedded_points as loops


class GroundPoints(ABC):
    """S points that follow N vertices."""

    #: (U,) vertices that move and carry points.
    vertices: Tensor

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def gather(self, values: Tensor) -> Tensor:
        """(…, S) at the points from (…, N) at the vertices."""

    @abstractmethod
    def add(self, values: Tensor, out: Tensor) -> None:
        """Adds (…, S) forces on the points to the (…, N) on the vertices."""

    @abstractmethod
    def of_bodies(self, values: Tensor) -> Tensor:
        """(S,) from (N,) values that all vertices of a body share."""

    @abstractmethod
    def add_blocks(self, blocks: Tensor, matrix: BlockMatrix) -> None:
        """Adds (S, 9) second derivatives by the positions of the points."""


class GroundVertices(GroundPoints):
    """Vertices that are points themselves.

    Args:
        vertices: (S,) different ones that move.
    """

    def __init__(self, vertices: Tensor) -> None:
        self.vertices = vertices

    def __len__(self) -> int:
        return len(self.vertices)

    def gather(self, values: Tensor) -> Tensor:
        return values[..., self.vertices]

    def add(self, values: Tensor, out: Tensor) -> None:
        out.index_add_(-1, self.vertices, values)

    def of_bodies(self, values: Tensor) -> Tensor:
        return values[self.vertices]

    def add_blocks(self, blocks: Tensor, matrix: BlockMatrix) -> None:
        matrix.add_diagonal_blocks(self.vertices, blocks)


class EmbeddedPoints(GroundPoints):
    """Points that are sums of the vertices of one tet each.

    Args:
        corners: (4, S) indices of vertices; a point that is a vertex names it four times.
        shares: (4, S) of each corner, which sum to one.
        free: (N,) which vertices move by themselves.
    """

    def __init__(self, corners: Tensor, shares: Tensor, free: Tensor) -> None:
        self.corners, self.shares = corners, shares
        self._flat = corners.reshape(-1)
        flat = corners.cpu().numpy().ravel()
        order = np.argsort(flat, kind="stable")
        carriers, offsets = np.unique(flat[order], return_index=True)
        self.vertices = _on(carriers[free.cpu().numpy()[carriers]], corners)
        self._carriers, self._order = _on(carriers, corners), _on(order, corners)
        self._offsets = _on(np.append(offsets, len(order)), corners)
        # Kept for the last pattern.
        self._element_map = lru_cache(maxsize=1)(
            lambda pattern: pattern.locate(corners.cpu().numpy())
        )
        self._places = lru_cache(maxsize=1)(lambda pattern: pattern.places(corners.numpy()))

    @cached_property
    def _products(self) -> Tensor:
        """(S, 10) of the shares of two corners."""
        first, second = np.array(CORNER_PAIRS).T
        return (self.shares[first] * self.shares[second]).T.contiguous()

    @cached_property
    def _arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Corners and shares."""
        return self.corners.numpy(), self.shares.numpy()

    def __len__(self) -> int:
        return self.corners.shape[1]

    def gather(self, values: Tensor) -> Tensor:
        if self._has_loops(values):
            out = values.new_empty(*values.shape[:-1], len(self))
            self._loop(loops.gather, values, out)
            return out
        at_corners = values.index_select(-1, self._flat).view(*values.shape[:-1], 4, -1)
        return (at_corners * self.shares).sum(-2)

    def add(self, values: Tensor, out: Tensor) -> None:
        if self._has_loops(values):
            self._loop(loops.add, values, out)
            return
        parts = (values[..., None, :] * self.shares).flatten(-2).index_select(-1, self._order)
        # Summed in one order on every device.
        sums = segment_sums(parts.movedim(-1, 0).contiguous(), self._offsets)
        out[..., self._carriers] += sums.movedim(0, -1)

    def add_pulls(self, values: Tensor, goals: Tensor, factors: Tensor, out: Tensor) -> None:
        """Adds factor × (value − goal) of points, from (…, N) values at the vertices, to (…, N).

        Args:
            goals: (…, S) of the points.
            factors: (S,) of the points.
        """
        if self._has_loops(values):
            arrays = _rows(values), _rows(goals), factors.numpy()
            loops.add_pulls(*arrays, *self._arrays, out.numpy())
            return
        self.add(self.gather(values).sub_(goals).mul_(factors), out)

    def pull_energy_change(
        self, values: Tensor, before: Tensor, after: Tensor, factors: Tensor
    ) -> Tensor:
        """Σ ½ factor |value − goal|² over points, from (…, N) values at the vertices: how much it
        changes where (…, S) goals do."""
        if self._has_loops(values):
            arrays = _rows(values), _rows(before), _rows(after), factors.numpy()
            change = loops.pull_energy_change(*arrays, *self._arrays)
            return values.new_tensor(change)
        # ½ k (|p − t'|² − |p − t|²) = k (t − t')·(p − (t + t')/2)
        middle = self.gather(values).sub_(0.5 * (before + after))
        return (factors * ((before - after) * middle)).sum()

    def of_bodies(self, values: Tensor) -> Tensor:
        return values[self.corners[0]]

    @staticmethod
    def _has_loops(values: Tensor) -> bool:
        on_tape = values.requires_grad
        return is_compiled() and not (values.is_cuda or on_tape) and values.is_floating_point()

    def _loop(self, loop: Callable[..., None], values: Tensor, out: Tensor) -> None:
        rows = values.contiguous().view(-1, values.shape[-1]).numpy()
        loop(rows, self.corners.numpy(), self.shares.numpy(), out.view(-1, out.shape[-1]).numpy())

    def add_blocks(self, blocks: Tensor, matrix: BlockMatrix) -> None:
        if self._has_loops(blocks):
            places = self._places(matrix.pattern)
            loops.add_blocks(blocks.numpy(), places, self.shares.numpy(), matrix.values.numpy())
            return
        where = self._element_map(matrix.pattern)
        # Few points touch at a time.
        some = torch.nonzero(blocks.any(1)).flatten()
        if len(some) > 0:
            products = self._products[some, :, None] * blocks[some, None]
            elements = blocks.new_zeros(len(self), len(CORNER_PAIRS), 9)
            matrix.add_elements(where, elements.index_copy_(0, some, products))


def _rows(values: Tensor) -> NDArray[Any]:
    """Its numbers, row by row: loops are compiled for no other order."""
    return values.contiguous().numpy()


def _on(indices: NDArray[Any], template: Tensor) -> Tensor:
    return torch.as_tensor(indices.astype(np.int64), device=template.device)
