# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of entries in arrays, ragged lists and their sums, and connected components."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]


def first_of_each(owner: NDArray[np.integer[Any]], *keys: NDArray[Any]) -> Indices:
    """Return the index of the least entry of each owner; (K,) entries have owners.

    Args:
        owner: (K,) numbers from 0 on.
        keys: (K,) keys to compare entries by; the next one decides between equal entries.
    """
    order = np.lexsort((*reversed(keys), owner))
    return order[np.flatnonzero(np.diff(owner[order], prepend=-1))]


def grouped(numbers: NDArray[np.integer[Any]], count: int) -> tuple[Indices, Indices]:
    """The order in which (K,) entries of the same number, below ``count``, follow each other as
    they came; and (count + 1,) where those of each number begin in it."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=count))])
    return np.argsort(numbers, kind="stable"), offsets


def runs(keys: NDArray[np.integer[Any]]) -> tuple[Indices, Indices]:
    """The order in which (K,) equal keys, from 0 on, follow each other as they came; where each of
    the different ones begins in it, and the end of the last."""
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return order, np.append(first, len(keys))


def equal_rows(rows: NDArray[np.integer[Any]]) -> tuple[Indices, Indices]:
    """The order in which equal rows of (K, C) numbers follow each other, the first of them first,
    and the start of each group in it. The order of the numbers in a row does not count."""
    numbers = np.sort(rows, axis=1)
    order = np.lexsort(numbers.T)
    changes = (np.diff(numbers[order], axis=0) != 0).any(axis=1)
    return order, np.flatnonzero(np.concatenate([[True], changes]))


def distinct_pairs(pairs: NDArray[np.integer[Any]]) -> Indices:
    """The distinct ones of (K, 2) pairs of numbers from 0 on, in order. NumPy takes ten times as
    long for rows."""
    keys, base = _pair_keys(pairs)
    return np.stack(np.divmod(np.unique(keys), base), axis=1)


def numbered_pairs(pairs: NDArray[np.integer[Any]]) -> tuple[Indices, Indices]:
    """The same, and (K,) which of these each is."""
    keys, base = _pair_keys(pairs)
    distinct, number = np.unique(keys, return_inverse=True)
    return np.stack(np.divmod(distinct, base), axis=1), number.ravel()


def _pair_keys(pairs: NDArray[np.integer[Any]]) -> tuple[Indices, int]:
    """(K,) one number a pair, in the same order, and the factor of the first of a pair."""
    base = int(pairs.max(initial=0)) + 1
    return pairs[:, 0].astype(np.intp) * base + pairs[:, 1], base


def expand(counts: NDArray[np.integer[Any]]) -> tuple[Indices, Indices]:
    """Unroll a ragged list: (owner, position within owner) of each of `counts.sum()` entries."""
    owner = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return owner, np.arange(len(owner)) - np.repeat(ends - counts, counts)


def chunks(counts: NDArray[np.integer[Any]], most: int) -> Iterator[slice]:
    """Consecutive slices of a ragged list, each with `most` entries at most (or one owner)."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, done + most, side="right"))
        stop = max(stop, start + 1)
        yield slice(start, stop)
        start = stop


FloatArray = NDArray[np.float64]
Cells = NDArray[np.integer[Any]]


def vertex_sums(values: FloatArray, cells: Cells, count: int) -> FloatArray:
    """(count, K) sums at vertices of the (M, corners, K) values at the corners of cells."""
    columns = values.reshape(cells.size, -1).T
    return np.stack([np.bincount(cells.ravel(), column, count) for column in columns], axis=1)


def vertex_areas(vertices: FloatArray, triangles: Cells) -> FloatArray:
    """(V,) a third of the area of the (F, 3) triangles around each of (V, 3) vertices, in m²."""
    thirds = corner_areas(vertices, triangles)
    return np.bincount(triangles.ravel(), thirds, len(vertices)).astype(np.float64)


def corner_areas(vertices: FloatArray, triangles: Cells) -> FloatArray:
    """(3F,) a third of the area of a triangle, for each of its corners, in m²."""
    a, b, c = vertices[triangles].swapaxes(0, 1)
    return np.repeat(np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6.0, 3)


def components(count: int, links: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """The (count,) number of the connected component of each node, from 0 in the order of their
    first nodes.

    Args:
        links: (L, 2) nodes that are connected.
    """
    # Blender itself imports this module, but does not have scipy.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(links), dtype=bool), tuple(links.T)), (count, count))
    return connected_components(graph, directed=False)[1].astype(np.intp)


def free_groups(
    pairs: NDArray[np.integer[Any]], is_held: NDArray[np.bool_]
) -> list[NDArray[np.intp]]:
    """Return the groups of bodies that are linked to each other and to nothing that is held.

    Args:
        pairs: (L, 2) linked bodies. Larger numbers than bodies have are other things, all held.
        is_held: (B,) whether each body is held by itself.
    """
    count, held = len(is_held), is_held.copy()
    outside = (pairs >= count).any(axis=1)
    touching = pairs[outside].min(axis=1, initial=count)
    held[touching[touching < count]] = True
    group_of = components(count, pairs[~outside])
    numbers = np.setdiff1d(np.unique(group_of), group_of[held])
    return [np.flatnonzero(group_of == number) for number in numbers]
