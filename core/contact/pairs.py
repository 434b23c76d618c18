# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of surface parts that are close, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .surface import Points

Indices = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two points each, the closest ones of two parts: their difference is Σ c_i x_i.

    Args:
        vertices: (K, 4) indices; where there are fewer, the last is repeated.
        coefficients: (K, 4) c, zero for what is repeated.
        weights: (K,) of the pairs in the barrier's energy.
    """

    vertices: Indices
    coefficients: Values
    weights: Values

    @staticmethod
    def of(collisions: Any, mesh: Any, points: Points) -> Pairs:
        """What the toolkit found at (V, 3) points; without edges that are almost parallel, whose
        closest points could be anywhere."""
        edges, faces = np.asarray(mesh.edges), np.asarray(mesh.faces)
        parts = [
            _vertices(collisions.vv_collisions),
            _edge_vertices(collisions.ev_collisions, edges, points),
            _edges(collisions.ee_collisions, edges, points),
            _face_vertices(collisions.fv_collisions, faces, points),
        ]
        columns = zip(*((p.vertices, p.coefficients, p.weights) for p in parts), strict=True)
        return Pairs(*(np.concatenate(column) for column in columns))

    def __len__(self) -> int:
        return len(self.weights)

    def ends(self) -> Indices:
        """(K, 2) a vertex of either part: the first and the last."""
        return self.vertices[:, [0, 3]]

    def differences(self, points: Points) -> Points:
        """(K, 3) Σ c_i x_i at (V, 3) points."""
        return np.einsum("ka,kai->ki", self.coefficients, points[self.vertices])


def _vertices(found: Any) -> Pairs:
    ids = _read(found, lambda c: (c.vertex0_id, c.vertex1_id, c.weight))
    count = len(ids)
    return _pairs(ids[:, :2], np.tile([1.0, -1.0], (count, 1)), ids[:, 2])


def _edge_vertices(found: Any, edges: Indices, points: Points) -> Pairs:
    ids = _read(found, lambda c: (c.vertex_id, c.edge_id, c.weight))
    vertices = np.column_stack([ids[:, 0], edges[ids[:, 1].astype(int)]]).astype(int)
    p, a, b = points[vertices].swapaxes(0, 1)
    along = b - a
    t = ((p - a) * along).sum(1) / (along * along).sum(1)
    return _pairs(vertices, np.column_stack([np.ones(len(t)), t - 1.0, -t]), ids[:, 2])


def _edges(found: Any, edges: Indices, points: Points) -> Pairs:
    ids = _read(found, lambda c: (c.edge0_id, c.edge1_id, c.weight, c.eps_x))
    vertices = edges[ids[:, :2].astype(int)].reshape(-1, 4)
    a, b, c, d = points[vertices].swapaxes(0, 1)
    first, second = b - a, d - c
    crossed = np.cross(first, second)
    skew = (crossed * crossed).sum(1) > ids[:, 3]
    vertices, weights = vertices[skew], ids[skew, 2]
    s, t = _solve(first[skew], -second[skew], (c - a)[skew])
    return _pairs(vertices, np.column_stack([1.0 - s, s, t - 1.0, -t]), weights)


def _face_vertices(found: Any, faces: Indices, points: Points) -> Pairs:
    ids = _read(found, lambda c: (c.vertex_id, c.face_id, c.weight))
    vertices = np.column_stack([ids[:, 0], faces[ids[:, 1].astype(int)]]).astype(int)
    p, a, b, c = points[vertices].swapaxes(0, 1)
    s, t = _solve(b - a, c - a, p - a)
    ones = np.ones(len(s))
    return _pairs(vertices, np.column_stack([ones, s + t - 1.0, -s, -t]), ids[:, 2])


def _read(found: Any, attributes: Callable[[Any], tuple[float, ...]]) -> Values:
    """(K, …) a row of numbers for each."""
    rows = [attributes(item) for item in found]
    return np.array(rows, dtype=float) if rows else np.empty((0, 4))


def _pairs(vertices: Values | Indices, coefficients: Values, weights: Values) -> Pairs:
    """With columns up to four, the last one repeated."""
    missing = ((0, 0), (0, 4 - coefficients.shape[1]))
    filled = np.pad(vertices.astype(np.int64), missing, mode="edge")
    return Pairs(filled, np.pad(coefficients, missing), weights)


def _solve(first: Points, second: Points, target: Points) -> tuple[Values, Values]:
    """s, t for which s first + t second comes closest to the target, row by row."""
    a, b, c = (first * first).sum(1), (first * second).sum(1), (second * second).sum(1)
    p, q = (first * target).sum(1), (second * target).sum(1)
    determinant = a * c - b * b
    return (c * p - b * q) / determinant, (a * q - b * p) / determinant
