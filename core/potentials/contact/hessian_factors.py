# SPDX-License-Identifier: GPL-3.0-or-later
"""Hessians of collisions as Gauss–Newton factors: sums of squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .topology import Indices, Values


class PairHessians(Protocol):
    """Second derivatives by the vertices of pairs."""

    @property
    def vertices(self) -> Indices:
        """(K, 4) that each pair lies between; any may be there twice."""

    def __len__(self) -> int: ...

    def matrices(self) -> Values:
        """(K, 12, 12) of each pair, in N/m; rows are 3 × vertex + component."""


@dataclass(frozen=True, eq=False)
class HessianFactors:
    """The matrix of Σ w (Σ_i r_i · x_i)²: positive semi-definite, whatever the rows are.

    Args:
        vertices: (K, 4) that each pair lies between; any may be there twice.
        rows: (K, R, 4, 3) r, by vertex and component.
        weights: (K, R) w, none of them negative, in N/m for rows without units.
    """

    vertices: Indices
    rows: Values
    weights: Values

    def __len__(self) -> int:
        return len(self.vertices)

    def matrices(self) -> Values:
        """(K, 12, 12) of each pair."""
        # Both factors are the same, and so the products are symmetric to the last bit.
        roots = np.sqrt(self.weights)[:, :, None] * self.rows.reshape(*self.weights.shape, 12)
        return np.asarray(roots.swapaxes(1, 2) @ roots)


def assembled(parts: Sequence[PairHessians], count: int) -> Any:
    """(3V, 3V) their sum over ``count`` vertices, in blocks, each of which is there once and
    ascending; rows are 3 × vertex + component."""
    vertices = np.concatenate([part.vertices for part in parts])
    blocks, end = np.empty((len(vertices), 4, 4, 3, 3)), 0
    for part in parts:
        start, end = end, end + len(part)
        blocks[start:end] = part.matrices().reshape(-1, 4, 3, 4, 3).swapaxes(2, 3)
    rows, columns = np.repeat(vertices, 4, axis=1).ravel(), np.tile(vertices, 4).ravel()
    order = _sorted(columns, count)
    order = order[_sorted(rows[order], count)]
    keys = rows[order] * count + columns[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    offsets = np.append(first, len(keys))
    gather = sparse.csr_array((np.ones(len(keys)), order, offsets), shape=(len(first), len(keys)))
    total = (gather @ blocks.reshape(-1, 9)).reshape(-1, 3, 3)
    different = keys[first]
    bounds = np.searchsorted(different, count * np.arange(count + 1))
    return sparse.bsr_array(
        (total, different % count, bounds), shape=(3 * count, 3 * count), blocksize=(3, 3)
    )


def _sorted(indices: Indices, count: int) -> NDArray[np.int32]:
    """The order of indices below ``count``, of equal ones that in which they are: by counting, as
    columns of a sparse matrix are, which takes a third of the time of sorting."""
    size = len(indices)
    entries = (np.ones(size, dtype=np.int8), indices, np.arange(size + 1))
    order: NDArray[np.int32] = sparse.csr_array(entries, shape=(size, count)).tocsc().indices
    return order
