# SPDX-License-Identifier: GPL-3.0-or-later
"""Which triangles of a surface lie over others that they share points with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .groups import distinct_pairs, expand
from .triangle_pairs import triangle_distance

Points = NDArray[np.float64]
Triangles = NDArray[np.integer[Any]]
Pairs = NDArray[np.intp]
Flags = NDArray[np.bool_]

# What opens from a common point or edge by more than this angle does not come near elsewhere.
MIN_OPENING_RAD = 0.05


def folded_triangles(points: Points, triangles: Triangles, distance: float) -> Pairs:
    """(K, 2) pairs of triangles that have points in common and cross elsewhere, or come within
    ``distance`` metres: an edge of each, or a corner and the other, that share nothing.

    Args:
        points: (P, 3) in metres.
        triangles: (F, 3) indices of points.
    """
    pairs = _neighbours(triangles)
    corners = points[triangles]
    a, b = corners[pairs.T]
    first, second = triangles[pairs.T]
    shared = first[:, :, None] == second[:, None, :]
    by_edge = shared.sum(axis=(1, 2)) > 1
    near = np.empty(len(pairs), dtype=bool)
    near[by_edge] = _fold(a[by_edge], b[by_edge], shared[by_edge])
    near[~by_edge] = _overlap(a[~by_edge], b[~by_edge], shared[~by_edge])
    found = triangle_distance(a[near], b[near], distance, shared[near])
    return pairs[near][np.isfinite(found)]


def _neighbours(triangles: Triangles) -> Pairs:
    """(K, 2) pairs of triangles that share points, the lower index first."""
    points = triangles.ravel()
    order = np.argsort(points, kind="stable")
    owners, counts = order // 3, np.bincount(points)
    starts = np.cumsum(counts) - counts
    entry, place = expand(counts[points[order]])
    other = starts[points[order]][entry] + place
    first, second = owners[entry], owners[other]
    return distinct_pairs(np.stack([first, second], axis=1)[first < second])


def _overlap(a: Points, b: Points, shared: Flags) -> Flags:
    """(K,) whether triangles (K, 3 corners, 3) that share a point lie in cones that overlap."""
    axes, angles = zip(
        _cone(a, shared.any(axis=2).argmax(axis=1)),
        _cone(b, shared.any(axis=1).argmax(axis=1)),
        strict=True,
    )
    between = np.arccos(np.clip(np.einsum("ki,ki->k", *axes), -1.0, 1.0))
    overlap: Flags = between < angles[0] + angles[1] + MIN_OPENING_RAD
    return overlap


def _cone(corners: Points, apex: NDArray[np.intp]) -> tuple[Points, NDArray[np.float64]]:
    """Axes (K, 3) and half angles (K,) of the cones around triangles, seen from one corner."""
    start, first, second = _from(corners, apex)
    first, second = _unit(first - start), _unit(second - start)
    cosine = np.clip(np.einsum("ki,ki->k", first, second), -1.0, 1.0)
    return _unit(first + second), 0.5 * np.arccos(cosine)


def _fold(a: Points, b: Points, shared: Flags) -> Flags:
    """(K,) whether triangles (K, 3 corners, 3) that share an edge lie on the same side of it."""
    top, start, end = _from(a, (~shared.any(axis=2)).argmax(axis=1))
    other_top = _from(b, (~shared.any(axis=1)).argmax(axis=1))[0]
    along = _unit(end - start)
    sides = [
        _unit(each - np.einsum("ki,ki->k", each, along)[:, None] * along)
        for each in (top - start, other_top - start)
    ]
    fold: Flags = np.einsum("ki,ki->k", *sides) > math.cos(MIN_OPENING_RAD)
    return fold


def _from(corners: Points, first: NDArray[np.intp]) -> list[Points]:
    """The three corners (K, 3) of triangles, from one of them on."""
    rows = np.arange(len(corners))
    return [corners[rows, (first + turn) % 3] for turn in range(3)]


def _unit(vectors: Points) -> Points:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float64).tiny)
