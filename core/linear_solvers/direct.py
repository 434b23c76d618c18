# SPDX-License-Identifier: GPL-3.0-or-later
"""Sparse Cholesky factors, ordered by nested dissection.

Chen, Davis, Hager and Rajamanickam, "Algorithm 887: CHOLMOD, supernodal sparse Cholesky
factorization and update/downdate", ACM Transactions on Mathematical Software 35(3), 2008. Needs
the package cvxopt, which brings CHOLMOD along.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SuppleError

# Normals of the cutting planes tried. In a body-centred lattice the planes across the diagonals
# are the thinnest layers that separate.
_NORMALS = np.array(
    [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 1, 0],
        [1, -1, 0],
        [1, 0, 1],
        [1, 0, -1],
        [0, 1, 1],
        [0, 1, -1],
    ]
)
# The part below a cut holds between this fraction of the vertices and the rest of it.
_SMALLEST_PART = 0.4
# The size of a set that fills in for any order.
_LEAF = 32


def nested_dissection(
    offsets: NDArray[np.int32], columns: NDArray[np.int32], positions: NDArray[np.float64]
) -> NDArray[np.intp]:
    """(N,) vertices in the order to eliminate them.

    Args:
        offsets: (N + 1,) and
        columns: the neighbours of each vertex and itself, as compressed sparse rows.
        positions: (N, 3) where the vertices are, in any unit.
    """
    return _Dissection(offsets, columns, positions).order


class _Dissection:
    def __init__(
        self, offsets: NDArray[np.int32], columns: NDArray[np.int32], positions: NDArray[np.float64]
    ) -> None:
        self._offsets, self._columns = offsets, columns
        self._heights = _NORMALS @ positions.T
        # Rank along each normal within the set that is being cut; N outside it.
        self._ranks = np.full(self._heights.shape, len(positions))
        self.order = np.concatenate(self._dissect(np.arange(len(positions))))

    def _dissect(self, vertices: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        if len(vertices) <= _LEAF:
            return [vertices]
        below, above, separator = self._cut(vertices)
        return [*self._dissect(below), *self._dissect(above), separator]

    def _cut(self, vertices: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """The vertices below a plane, those above, and those above with a neighbour below: of all
        planes that leave both sides their share, the one with the fewest of the last kind."""
        count = len(vertices)
        ranks = self._heights[:, vertices].argsort(axis=1, kind="stable").argsort(axis=1)
        lowest = self._lowest_neighbours(vertices, ranks)
        # A vertex separates when it is above a plane that its lowest neighbour is below.
        reached = _counts(lowest, count).cumsum(axis=1)
        separating = reached - np.arange(1, count + 1)
        first = int(_SMALLEST_PART * count)
        tried = separating[:, first : count - first]
        normal, cut = np.unravel_index(tried.argmin(), tried.shape)
        is_below = ranks[normal] <= cut + first
        separates = ~is_below & (lowest[normal] <= cut + first)
        return [vertices[kind] for kind in (is_below, ~is_below & ~separates, separates)]

    def _lowest_neighbours(
        self, vertices: NDArray[np.intp], ranks: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """The least rank among each vertex and its neighbours in the set."""
        counts = self._offsets[vertices + 1] - self._offsets[vertices]
        first_entries = counts.cumsum() - counts
        entries = np.arange(counts.sum()) + np.repeat(
            self._offsets[vertices] - first_entries, counts
        )
        self._ranks[:, vertices] = ranks
        neighbours = self._ranks[:, self._columns[entries]]
        self._ranks[:, vertices] = self._ranks.shape[1]
        return np.minimum.reduceat(neighbours, first_entries, axis=1)


def _counts(values: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Count each of 0 … size - 1 in each row of values."""
    rows = np.arange(len(values))[:, None]
    counts = np.bincount((values + size * rows).ravel(), minlength=size * len(values))
    return counts.reshape(len(values), size)


_AXES = np.arange(3)


class NotPositiveDefiniteError(SuppleError, ArithmeticError):
    """The matrix has no Cholesky factor."""


def is_available() -> bool:
    """Whether this Python has the package that the solver needs."""
    try:
        _cvxopt()
    except SuppleError:
        return False
    return True


class DirectSolver:
    """Solves A x = b for symmetric positive definite matrices on one pattern.

    The pattern is analysed once; ``factorize`` takes a matrix and ``solve`` right-hand sides. Both
    hold Python's interpreter lock.

    Args:
        offsets: (N + 1,) and
        columns: (B,) block compressed sparse rows. Columns ascend within a row, every diagonal
            block is there, and so are both of each pair of transposed blocks.
        positions: (N, 3) rest positions of the unknown vertices, in any unit. The order of
            elimination follows from them.

    Raises:
        SuppleError: when cvxopt is not installed.
    """

    def __init__(
        self, offsets: NDArray[np.int32], columns: NDArray[np.int32], positions: NDArray[np.float64]
    ) -> None:
        cvxopt, self._cholmod = _cvxopt()
        self._size, self._blocks = len(offsets) - 1, len(columns)
        _check_shape("positions", positions, (self._size, 3))
        rows, cols, sources = _lower_triangle(offsets, columns)
        size = 3 * self._size
        # The package sorts the entries; their original places, given as values, show the order.
        matrix = cvxopt.spmatrix(
            cvxopt.matrix(sources.astype(np.float64)),
            cvxopt.matrix(rows),
            cvxopt.matrix(cols),
            (size, size),
        )
        self._matrix, self._entries = matrix, matrix.V
        self._rhs = cvxopt.matrix(0.0, (size, 1))
        self._sources = _view(self._entries).astype(np.intp)
        order = _components(nested_dissection(offsets, columns, positions)).ravel()
        # Use the order given; do not look for a better one.
        self._cholmod.options["nmethods"] = 1
        self._factor = self._cholmod.symbolic(matrix, cvxopt.matrix(order))

    def factorize(self, values: NDArray[np.floating[Any]]) -> None:
        """Factorizes the matrix of (B, 9) blocks, each row by row.

        Raises:
            NotPositiveDefiniteError: there is no factor now, and ``solve`` must not be called.
        """
        _check_shape("values", values, (self._blocks, 9))
        entries = _view(self._entries)
        entries[:] = values.ravel()[self._sources]
        # CHOLMOD would return a factor that is not finite either.
        if not np.isfinite(entries).all():
            raise NotPositiveDefiniteError(
                "The matrix to factorize holds a value that is not finite."
            )
        self._matrix.V = self._entries
        try:
            self._cholmod.numeric(self._matrix, self._factor)
        except ArithmeticError as error:
            raise NotPositiveDefiniteError(
                "The matrix to factorize is not positive definite. Project the matrices of the "
                "elements to positive semidefinite ones, or shorten the step."
            ) from error

    def solve(self, rhs: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """(N, 3) solution for a right-hand side (N, 3)."""
        _check_shape("right-hand side", rhs, (self._size, 3))
        vector = _view(self._rhs)
        vector[:] = rhs.ravel()
        self._cholmod.solve(self._factor, self._rhs)
        return vector.reshape(-1, 3).copy()


def _lower_triangle(
    offsets: NDArray[np.int32], columns: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.intp]]:
    """Rows and columns of the entries on and below the diagonal, and their places in (B, 9).

    Blocks below the diagonal are read from the transposed block above it, in which the entries of
    a result's column are contiguous.
    """
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    upper = np.flatnonzero(columns >= rows)
    shape = (len(upper), 3, 3)
    column = np.broadcast_to(_components(rows[upper])[:, :, None], shape)
    row = np.broadcast_to(_components(columns[upper])[:, None, :], shape)
    source = 9 * upper[:, None, None] + 3 * _AXES[:, None] + _AXES
    mask = row >= column
    return row[mask], column[mask], source[mask]


def _components(vertices: NDArray[np.integer[Any]]) -> NDArray[np.intc]:
    """(…, 3) the unknowns of vertices; The package reads C's int on every system."""
    return (3 * vertices[..., None] + _AXES).astype(np.intc)


def _view(matrix: object) -> NDArray[np.float64]:
    """A column of the package as the array it lies in."""
    return np.asarray(matrix)[:, 0]


def _check_shape(name: str, array: NDArray[np.generic], shape: tuple[int, int]) -> None:
    if array.shape != shape:
        raise ValueError(f"Direct solver: {name} must be {shape}, not {array.shape}.")


def _cvxopt() -> tuple[ModuleType, ModuleType]:
    try:
        return import_module("cvxopt"), import_module("cvxopt.cholmod")
    except ImportError as error:
        raise SuppleError(
            "The direct solver needs the package cvxopt, which is not installed; install it where "
            "the solver runs or choose conjugate gradients."
        ) from error
