# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces that lie folded over themselves."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .groups import distinct_pairs, expand
from .tet_mesh import TetMesh, signed_volumes
from .triangles import triangle_distance

Points = NDArray[np.float64]

# The two ends of each edge of a tet, then the other two corners.
EDGES = np.array(
    [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 0, 2], [2, 3, 0, 1]]
)
FULL_TURN = 2.0 * np.pi
# The angles around an edge inside add up to one turn but for this rounding.
TURN_TOLERANCE = 1e-6
# Edges with a smaller strain cannot be folded: if the angles around one sum to two turns, some of
# them have doubled, which takes more strain.
MAX_SAFE_STRAIN = 0.3


class Folds:
    """Looks for tets that are inside out, and for edges around which tets go twice or not at all.

    An elastic energy has stable states in which all tets have their right side out, and yet lie
    around some edge in two turns: as around the branch point of √z, each neighbour fits, but the
    body overlaps itself.

    Args:
        mesh: of a body.
    """

    def __init__(self, mesh: TetMesh) -> None:
        self._tets, self._rest = mesh.tets, mesh.vertices
        ends = np.sort(mesh.tets[:, EDGES[:, :2]].reshape(-1, 2), axis=1).astype(np.int64)
        count = len(mesh.vertices)
        keys, self._around = np.unique(ends[:, 0] * count + ends[:, 1], return_inverse=True)
        self._edges = np.stack([keys // count, keys % count], axis=1)
        self._lengths = self._edge_lengths(mesh.vertices)

    @cached_property
    def _inside(self) -> NDArray[np.bool_]:
        """(E,) edges that tets are all around."""
        return np.abs(self._turns(self._rest) - 1.0) < TURN_TOLERANCE

    def has_folds(self, positions: Points) -> bool:
        """Whether the mesh folds at (N, 3) ``positions``, in metres."""
        strains = np.abs(self._edge_lengths(positions) / self._lengths - 1.0)
        if strains.max() < MAX_SAFE_STRAIN:
            return False
        if (signed_volumes(positions, self._tets) <= 0.0).any():
            return True
        # Inside it is a whole number of turns, and not none, since no angle is below 0.
        is_wound = self._turns(positions) > 1.5
        return bool(is_wound.any() and (is_wound & self._inside).any())

    def _edge_lengths(self, positions: Points) -> Points:
        ends = positions[self._edges]
        return np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)

    def _turns(self, positions: Points) -> Points:
        """(E,) the angles of the tets around each edge, added up, in turns."""
        a, b, c, d = positions[self._tets].swapaxes(0, 1)
        # Inward normals of the faces that the corners are opposite to, twice as long as these are
        # large: those of two faces span the edge between them times six volumes.
        normals = [np.cross(c - a, d - a), np.cross(d - a, b - a), np.cross(b - a, c - a)]
        normals.insert(0, -(normals[0] + normals[1] + normals[2]))
        volumes = np.abs(np.einsum("ij,ij->i", b - a, normals[1]))
        cosine = np.stack(
            [-np.einsum("ij,ij->i", normals[k], normals[m]) for *_, k, m in EDGES.tolist()], axis=1
        )
        sine = (
            self._edge_lengths(positions)[self._around].reshape(-1, len(EDGES)) * volumes[:, None]
        )
        angles = np.arctan2(sine, cosine)
        return np.bincount(self._around, angles.ravel(), len(self._edges)) / FULL_TURN


Triangles = NDArray[np.integer[Any]]
Pairs = NDArray[np.intp]
Flags = NDArray[np.bool_]

# Parts that open from a common point or edge by more than this angle do not come near elsewhere.
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
    shares_edge = shared.sum(axis=(1, 2)) > 1
    near = np.empty(len(pairs), dtype=bool)
    near[shares_edge] = _fold(a[shares_edge], b[shares_edge], shared[shares_edge])
    near[~shares_edge] = _overlap(a[~shares_edge], b[~shares_edge], shared[~shares_edge])
    distances = triangle_distance(a[near], b[near], distance, shared[near])
    return pairs[near][np.isfinite(distances)]


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
    return between < angles[0] + angles[1] + MIN_OPENING_RAD


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
    return np.einsum("ki,ki->k", *sides) > math.cos(MIN_OPENING_RAD)


def _from(corners: Points, first: NDArray[np.intp]) -> list[Points]:
    """The three corners (K, 3) of triangles, from one of them on."""
    rows = np.arange(len(corners))
    return [corners[rows, (first + turn) % 3] for turn in range(3)]


def _unit(vectors: Points) -> Points:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float64).tiny)
