# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of surface parts that are close, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .surface import Points

Indices = NDArray[np.int64]
Values = NDArray[np.float64]

# Edges whose cross product's square is a smaller share of what is taken for parallel push so little
# that they do not count, and may cross nowhere.
PARALLEL = 1e-6


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two points each, the closest ones of two parts: their difference is Σ c_i x_i.

    Args:
        vertices: (K, 4) indices; where there are fewer, the last is repeated.
        coefficients: (K, 4) c, zero for what is repeated.
        weights: (K,) of the pairs in the barrier's energy.
        turning: (K, 4, 3) w, in 1/m: as the vertices go by δx_i, the unit normal n, along the
            difference, turns by Σ w_i n·δx_i. Between two points none is told.
        skew: (K,) 1, but less for edges that are almost parallel, whose closest points could be
            anywhere.
    """

    vertices: Indices
    coefficients: Values
    weights: Values
    turning: Points
    skew: Values

    @staticmethod
    def of(collisions: Any, mesh: Any, points: Points) -> Pairs:
        """What the toolkit found at (V, 3) points, but for edges that are parallel."""
        edges, faces = np.asarray(mesh.edges), np.asarray(mesh.faces)
        parts = [
            _vertices(collisions.vv_collisions),
            _edge_vertices(collisions.ev_collisions, edges, points),
            _edges(collisions.ee_collisions, edges, points),
            _face_vertices(collisions.fv_collisions, faces, points),
        ]
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return Pairs(*(np.concatenate(column) for column in columns))

    def where(self, kept: NDArray[np.bool_]) -> Pairs:
        """Those of (K,) that are kept."""
        return Pairs(*(column[kept] for column in vars(self).values()))

    def __len__(self) -> int:
        return len(self.weights)

    def ends(self) -> Indices:
        """(K, 2) a vertex of either part: the first and the last."""
        return self.vertices[:, [0, 3]]

    def differences(self, points: Points) -> Points:
        """(K, 3) Σ c_i x_i at (V, 3) points."""
        return np.einsum("ka,kai->ki", self.coefficients, points[self.vertices])


def _vertices(found: Any) -> Pairs:
    ids, weights = _read(found, "vertex0_id", "vertex1_id", "weight")
    coefficients = np.tile([1.0, -1.0], (len(ids), 1))
    return _pairs(ids, coefficients, weights[:, 0], np.zeros((len(ids), 2, 3)))


def _edge_vertices(found: Any, edges: Indices, points: Points) -> Pairs:
    ids, weights = _read(found, "vertex_id", "edge_id", "weight")
    vertices = np.column_stack([ids[:, 0], edges[ids[:, 1]]])
    p, a, b = points[vertices].swapaxes(0, 1)
    along = (b - a) / _dots(b - a, b - a)[:, None]
    t = _dots(p - a, along)
    coefficients = np.column_stack([np.ones(len(t)), t - 1.0, -t])
    return _pairs(vertices, coefficients, weights[:, 0], _stack(0.0 * along, along, -along))


def _edges(found: Any, edges: Indices, points: Points) -> Pairs:
    ids, numbers = _read(found, "edge0_id", "edge1_id", "weight", "eps_x")
    vertices, (weights, parallel) = edges[ids].reshape(-1, 4), numbers.T
    a, b, c, d = points[vertices].swapaxes(0, 1)
    first, second, between = b - a, d - c, c - a
    skew = np.minimum(_square_of_cross(first, second) / parallel, 1.0)
    kept = skew > PARALLEL
    if not kept.all():
        vertices, weights, skew = vertices[kept], weights[kept], skew[kept]
        first, second, between = first[kept], second[kept], between[kept]
    u, v = _duals(first, second)
    s, t = _clamped(_dots(between, u), first, second, between)
    coefficients = np.column_stack([1.0 - s, s, t - 1.0, -t])
    # The energy of what is almost parallel is faded out by this factor.
    faded = weights * skew * (2.0 - skew)
    return _pairs(vertices, coefficients, faded, _stack(u, -u, v, -v), skew)


def _face_vertices(found: Any, faces: Indices, points: Points) -> Pairs:
    ids, weights = _read(found, "vertex_id", "face_id", "weight")
    vertices = np.column_stack([ids[:, 0], faces[ids[:, 1]]])
    p, a, b, c = points[vertices].swapaxes(0, 1)
    u, v = _duals(b - a, c - a)
    s, t = _dots(p - a, u), _dots(p - a, v)
    coefficients = np.column_stack([np.ones(len(s)), s + t - 1.0, -s, -t])
    return _pairs(vertices, coefficients, weights[:, 0], _stack(0.0 * u, u + v, -u, -v))


def _read(found: Any, *attributes: str) -> tuple[Indices, Values]:
    """(K, 2) the first two, which are indices, and (K, …) the others of each."""
    columns = [
        np.array([read(item) for item in found], dtype=float)
        for read in map(attrgetter, attributes)
    ]
    return np.column_stack(columns[:2]).astype(np.int64), np.column_stack(columns[2:])


def _pairs(
    vertices: Indices,
    coefficients: Values,
    weights: Values,
    turning: Points,
    skew: Values | None = None,
) -> Pairs:
    """With columns up to four, the last vertex repeated."""
    count, given = coefficients.shape
    filled = vertices[:, np.minimum(np.arange(4), given - 1)]
    padded, turned = np.zeros((count, 4)), np.zeros((count, 4, 3))
    padded[:, :given], turned[:, :given] = coefficients, turning
    return Pairs(filled, padded, weights, turned, np.ones(count) if skew is None else skew)


def _clamped(
    share: Values, first: Points, second: Points, between: Points
) -> tuple[Values, Values]:
    """(K,) shares along edges where they come closest, from that along the first where their lines
    do: what is almost parallel may cross beyond its ends."""
    start = np.clip(share, 0.0, 1.0)
    t = np.clip(_share(start[:, None] * first - between, second), 0.0, 1.0)
    return np.clip(_share(between + t[:, None] * second, first), 0.0, 1.0), t


def _duals(first: Points, second: Points) -> tuple[Points, Points]:
    """(K, 3) u, v in the planes of two, each across the other and with a product of 1 with its own:
    by how much points there go along either."""
    a, b, c = _dots(first, first), _dots(first, second), _dots(second, second)
    square = a * c - b * b
    a, b, c = (a / square)[:, None], (b / square)[:, None], (c / square)[:, None]
    return c * first - b * second, a * second - b * first


def _square_of_cross(first: Points, second: Points) -> Values:
    return _dots(first, first) * _dots(second, second) - _dots(first, second) ** 2


def _share(ways: Points, edges: Points) -> Values:
    return _dots(ways, edges) / _dots(edges, edges)


def _dots(first: Points, second: Points) -> Values:
    return np.asarray(np.einsum("ki,ki->k", first, second))


def _stack(*columns: Points) -> Points:
    return np.stack(columns, axis=1)
