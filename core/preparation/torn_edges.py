# SPDX-License-Identifier: GPL-3.0-or-later
"""Edges of a surface whose ends follow tetrahedra that move differently.

Points outside of all tetrahedra follow one close by. The ends of a short edge may follow two of
them that have little in common, and a small strain then tears the edge or turns it over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.embedding import Embedding
from ..geometry.groups import grouped
from ..geometry.tet_mesh import TetMesh

Points = NDArray[np.float64]
Values = NDArray[np.float64]
Edges = NDArray[np.int64]

# The largest strain of an intact edge relative to that of the tetrahedra; edges within one
# tetrahedron have 1 to 3.
MAX_SPREAD = 3.0
# Edges are short below this ratio of the edges of the tetrahedra; others show no tear.
SHORT_RATIO = 0.1
MAX_ROUNDS = 3
# The least barycentric coordinate of a point in the tetrahedron of its neighbours.
LEAST_COORDINATE = -0.5


def without_torn_edges(
    embedding: Embedding, mesh: TetMesh, points: Points, edges: Edges
) -> Embedding:
    """Return the embedding in which ends of short torn edges follow tetrahedra of their neighbours,
    where that tears their edges less. The same object where no edge is torn.

    Args:
        embedding: of (V, 3) points at rest, in metres, each in one tetrahedron.
        edges: (E, 2) points.
    """
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    short = edges[lengths < SHORT_RATIO * mesh.mean_edges.mean()]
    torn = short[_spreads(embedding, mesh, points, short) > MAX_SPREAD]
    if len(torn) == 0:
        return embedding
    embedding = Embedding(embedding.indices.copy(), embedding.weights.copy())
    around, offsets = grouped(edges.ravel(), len(points))
    for _ in range(MAX_ROUNDS):
        ends = np.unique(torn)
        for point in ends:
            at_point = edges[around[offsets[point] : offsets[point + 1]] // 2]
            _follow_neighbours(embedding, mesh, points, at_point, int(point))
        torn = short[_spreads(embedding, mesh, points, short) > MAX_SPREAD]
        if len(torn) == 0:
            break
    return embedding


def _follow_neighbours(
    embedding: Embedding, mesh: TetMesh, points: Points, edges: Edges, point: int
) -> None:
    """Let a point follow the tetrahedron, of its own and its neighbours', that tears its (K, 2)
    edges least."""
    others = edges.sum(axis=1) - point
    tets = np.unique(embedding.indices[np.append(others, point)], axis=0)
    weights = _coordinates(mesh.vertices[tets], points[point])
    near = weights.min(axis=1) > LEAST_COORDINATE
    tets, weights = tets[near], weights[near]
    if len(tets) == 0:
        return
    count = len(others)
    both = Embedding(
        np.concatenate([tets, embedding.indices[others]]),
        np.concatenate([weights, embedding.weights[others]]),
    )
    places = np.concatenate([np.repeat(points[point][None], len(tets), axis=0), points[others]])
    pairs = np.stack(
        [np.repeat(np.arange(len(tets)), count), len(tets) + np.tile(np.arange(count), len(tets))],
        axis=1,
    )
    worst = _spreads(both, mesh, places, pairs).reshape(len(tets), count).max(axis=1)
    best = int(np.lexsort((-weights.min(axis=1), worst))[0])
    embedding.indices[point], embedding.weights[point] = tets[best], weights[best]


def _coordinates(corners: Points, point: Points) -> Values:
    """(T, 4) barycentric coordinates of a point in tetrahedra with (T, 4, 3) corners."""
    edges = (corners[:, 1:] - corners[:, :1]).swapaxes(1, 2)
    last = np.linalg.solve(edges, (point - corners[:, 0])[:, :, None])[:, :, 0]
    return np.concatenate([1.0 - last.sum(axis=1, keepdims=True), last], axis=1)


def _spreads(embedding: Embedding, mesh: TetMesh, points: Points, edges: Edges) -> Values:
    """Return the (E,) spread κ of each edge (``kernels/held_pairs``): a strain of the tetrahedra
    changes the edge by at most κ times that strain of its length."""
    shape = len(edges), 2 * embedding.indices.shape[1]
    nodes = embedding.indices[edges].reshape(shape)
    shares = (embedding.weights[edges] * np.array([1.0, -1.0])[:, None]).reshape(shape)
    total, farthest = np.zeros(len(edges)), np.zeros(len(edges))
    corners, width = mesh.vertices[nodes], nodes.shape[1]
    for one in range(width):
        is_same = nodes == nodes[:, one, None]
        is_first = ~is_same[:, :one].any(axis=1)
        total += np.where(is_first, np.abs((shares * is_same).sum(axis=1)), 0.0)
        apart = np.linalg.norm(corners - corners[:, one, None], axis=2)
        farthest = np.maximum(farthest, apart.max(axis=1))
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    return np.asarray(0.5 * total * farthest / np.maximum(lengths, np.finfo(float).tiny))
