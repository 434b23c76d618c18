# SPDX-License-Identifier: GPL-3.0-or-later
"""Generalized winding number of a triangle soup, by a tree of multipole expansions.

Barill, Dickson, Schmidt, Levin and Jacobson, "Fast winding numbers for soups and clouds",
ACM Transactions on Graphics 37(4), 2018.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .groups import Indices, chunks, expand, grouped

Real = TypeVar("Real", bound=np.floating[Any])
FloatArray = NDArray[np.floating[Any]]
Float32 = NDArray[np.float32]
IntArray = NDArray[np.integer[Any]]

_FAR_RADII = 2.0  # a cluster is far at this many of its radii
_TRIANGLES_PER_LEAF = 20
_POINTS_PER_CHUNK = 4096
_MAX_LEVELS = 10


def winding_number(
    points: FloatArray, vertices: FloatArray, triangles: IntArray
) -> NDArray[np.float64]:
    """Winding number of triangles (T, 3) over vertices (V, 3) about points (P, 3).

    1 inside a closed surface whose normals point outwards, -1 where they point inwards, 0
    outside, a fraction about an open surface. Right to within 0.1, which is enough to tell
    inside (above one half) from outside.
    """
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    centre = 0.5 * (low + high)
    scale = 1.0 / max(float((high - low).max()), float(np.finfo(np.float64).tiny))
    corners = ((vertices - centre) * scale)[triangles]
    corners, levels = _build(corners)
    axis_rows = np.ascontiguousarray(corners.transpose(1, 2, 0), dtype=np.float32)
    queries = np.ascontiguousarray(((points - centre) * scale).T, dtype=np.float32)
    result = np.empty(len(points))
    for start in range(0, len(points), _POINTS_PER_CHUNK):
        chunk = slice(start, start + _POINTS_PER_CHUNK)
        result[chunk] = _evaluate(queries[:, chunk], axis_rows, levels)
    return result


def solid_angle_fraction(a: NDArray[Real], b: NDArray[Real], c: NDArray[Real]) -> NDArray[Real]:
    """Signed solid angle over 4 pi of triangles with corners a, b, c (3, K) seen from the origin.

    van Oosterom and Strackee, "The solid angle of a plane triangle", 1983, equation 8.
    """
    la, lb, lc = (np.sqrt(_dot(v, v)) for v in (a, b, c))
    numerator = _dot(a, _cross(b, c))
    denominator = la * lb * lc + _dot(a, b) * lc + _dot(b, c) * la + _dot(c, a) * lb
    return np.arctan2(numerator, denominator) * a.dtype.type(0.5 / np.pi)


@dataclass(frozen=True)
class _Level:
    """Clusters of one tree level; children are clusters one level down, or triangles at a leaf."""

    centre: Float32  # (3, K)
    far: Float32  # (K,) squared distance from which the expansion is accurate
    dipole: Float32  # (3, K) summed area vectors
    quadrupole: Float32  # (6, K) first moment of the area vectors: xx, yy, zz, yz, zx, xy
    child_start: Indices
    child_count: Indices


def _build(corners: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[_Level]]:
    """Octree levels, root first, and the triangles' corners in the order of the leaves."""
    codes = _morton_codes(corners.mean(axis=1))
    order = np.argsort(codes, kind="stable")
    corners, codes = corners[order], codes[order]
    depth = _MAX_LEVELS
    while depth and _occupied(codes >> 3) * _TRIANGLES_PER_LEAF >= len(codes):
        depth, codes = depth - 1, codes >> 3
    summary = _Summary(corners)
    levels: list[_Level] = []
    starts, children = np.arange(len(corners)), np.arange(len(corners))
    for _ in range(depth + 1):
        first_child = np.flatnonzero(np.diff(codes, prepend=-1))
        starts = children[first_child]
        levels.append(summary.level(starts, first_child, len(children)))
        children, codes = starts, codes[first_child] >> 3
    return corners, levels[::-1]


def _morton_codes(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Numbers of cells of the unit cube around the origin, along a Z-order curve."""
    cells = np.clip((points + 0.5) * 2**_MAX_LEVELS, 0, 2**_MAX_LEVELS - 1).astype(np.int64)
    codes = np.zeros(len(points), dtype=np.int64)
    for bit in range(_MAX_LEVELS):
        for axis in range(3):
            codes |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    return codes


def _occupied(sorted_codes: NDArray[np.int64]) -> int:
    return 1 + int(np.count_nonzero(np.diff(sorted_codes)))


class _Summary:
    """Sums of triangles over consecutive clusters."""

    def __init__(self, corners: NDArray[np.float64]) -> None:
        self._corners = corners
        self._centroid = corners.mean(axis=1)
        edge = corners[:, 1:] - corners[:, :1]
        self._vector = 0.5 * np.cross(edge[:, 0], edge[:, 1])
        self._area = np.sqrt((self._vector**2).sum(axis=1)) + np.finfo(np.float64).tiny

    def level(self, starts: Indices, first_child: Indices, children: int) -> _Level:
        centre = np.add.reduceat(self._area[:, None] * self._centroid, starts)
        centre /= np.add.reduceat(self._area, starts)[:, None]
        centres = np.repeat(centre, np.diff(np.append(starts, len(self._area))), axis=0)
        reach = ((self._corners - centres[:, None]) ** 2).sum(axis=2).max(axis=1)
        x, y, z = (self._centroid - centres).T
        nx, ny, nz = self._vector.T
        products = (x * nx, y * ny, z * nz, y * nz + z * ny, z * nx + x * nz, x * ny + y * nx)
        return _Level(
            centre=np.ascontiguousarray(centre.T, dtype=np.float32),
            far=(np.maximum.reduceat(reach, starts) * _FAR_RADII**2).astype(np.float32),
            dipole=np.add.reduceat(self._vector.T, starts, axis=1).astype(np.float32),
            quadrupole=np.add.reduceat(np.stack(products), starts, axis=1).astype(np.float32),
            child_start=first_child,
            child_count=np.diff(np.append(first_child, children)),
        )


def _evaluate(points: Float32, corners: Float32, levels: list[_Level]) -> NDArray[np.float64]:
    """Winding numbers at points (3, P) of corners (3 corners, 3 axes, T)."""
    count = points.shape[1]
    total = np.zeros(count)
    point = np.arange(count)
    cluster = np.zeros(count, dtype=np.intp)
    for level in levels:
        offset = level.centre[:, cluster] - points[:, point]
        squared = _dot(offset, offset)
        far = squared > level.far[cluster]
        values = _expansion(offset[:, far], squared[far], level, cluster[far])
        total += np.bincount(point[far], weights=values, minlength=count)
        point, cluster = point[~far], cluster[~far]
        owner, rank = expand(level.child_count[cluster])
        point, cluster = point[owner], level.child_start[cluster][owner] + rank
    query = points[:, point]
    exact = solid_angle_fraction(*(corner[:, cluster] - query for corner in corners))
    return total + np.bincount(point, weights=exact, minlength=count)


def _expansion(offset: Float32, squared: Float32, level: _Level, cluster: Indices) -> Float32:
    """Dipole and first-moment terms of Barill et al. 2018, equations 12 and 13."""
    x, y, z = offset
    xx, yy, zz, yz, zx, xy = level.quadrupole[:, cluster]
    along = xx * x * x + yy * y * y + zz * z * z + yz * y * z + zx * z * x + xy * x * y
    inverse = 1.0 / squared
    terms = _dot(level.dipole[:, cluster], offset) + (xx + yy + zz) - 3.0 * inverse * along
    return terms * inverse * np.sqrt(inverse) * np.float32(0.25 / np.pi)


def _dot(a: NDArray[Real], b: NDArray[Real]) -> NDArray[Real]:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: NDArray[Real], b: NDArray[Real]) -> NDArray[Real]:
    return np.stack(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


IndexArray = NDArray[np.intp]

_MAX_CELLS = 1 << 21
_PAIRS_PER_CHUNK = 1 << 19


class PointGrid:
    """Points (P, 3) sorted into cubic cells of at least `cell` length.

    The cell grows where the bounding box would otherwise need too many cells.
    """

    def __init__(self, points: FloatArray, cell: float) -> None:
        self._points = points
        self._low = points.min(axis=0)
        extent = points.max(axis=0) - self._low
        self._cell = max(cell, float(extent.max()) * 1e-6, float(np.finfo(np.float64).tiny))
        while np.prod(np.floor(extent / self._cell) + 1.0) > _MAX_CELLS:
            self._cell *= 1.3
        self._shape = np.floor(extent / self._cell).astype(np.intp) + 1
        keys = self._key(np.floor((points - self._low) / self._cell).astype(np.intp).T)
        self._order, self._start = grouped(keys, int(np.prod(self._shape)))

    def _key(self, ijk: NDArray[np.intp]) -> IndexArray:
        i, j, k = np.clip(ijk, 0, (self._shape - 1)[:, None])
        return (i * self._shape[1] + j) * self._shape[2] + k

    def pairs(self, low: FloatArray, high: FloatArray) -> Iterator[tuple[IndexArray, IndexArray]]:
        """(box, point) index pairs, in chunks: each point inside a box [low, high], both (B, 3)."""
        first = np.clip(np.floor((low - self._low) / self._cell), 0.0, self._shape)
        last = np.minimum(np.floor((high - self._low) / self._cell), self._shape - 1.0)
        spans = np.maximum(last - first + 1.0, 0.0).astype(np.intp)
        first = first.astype(np.intp)
        # Points along k are contiguous: a box is a set of (i, j) rows.
        rows = spans[:, 0] * spans[:, 1] * (spans[:, 2] > 0)
        for boxes in chunks(rows, _PAIRS_PER_CHUNK):
            box, row = expand(rows[boxes])
            box += boxes.start
            i = first[box, 0] + row // spans[box, 1]
            j = first[box, 1] + row % spans[box, 1]
            base = (i * self._shape[1] + j) * self._shape[2] + first[box, 2]
            begin, end = self._start[base], self._start[base + spans[box, 2]]
            for part in chunks(end - begin, _PAIRS_PER_CHUNK):
                owner, offset = expand((end - begin)[part])
                owner += part.start
                index, point = box[owner], self._order[begin[owner] + offset]
                inside = np.ones(len(point), dtype=bool)
                for axis in range(3):
                    coordinate = self._points[point, axis]
                    inside &= (coordinate >= low[index, axis]) & (coordinate <= high[index, axis])
                yield index[inside], point[inside]
