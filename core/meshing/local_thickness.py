# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how thick the solid is below each part of its surface, by rays along the three axes.

Robust: it counts crossings with their direction, so shells may overlap, and leaves out rays that
pass through a hole.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..geometry.groups import chunks, expand

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

_RAY_COUNT = 48  # across the longest side
_OFFSETS = (0.382, 0.618)  # of the first rays, so that none runs along edges of a regular mesh
_MIN_COSINE = 3.0**-0.5  # of the cosines to the axes, the largest is at least this
_MAX_PAIRS = 1_000_000  # of triangles and rays at once
#: What is bent more stiffly than by this factor is reported.
MAX_BENDING_RATIO = 1.5
# The factor of the squared edge length over thickness in the surplus stiffness of a round bar,
# measured in the lattice for bars from a sixth of an edge to two edges across; of a slab a quarter
# less.
_SHEAR_FACTOR = 1.25


def thin_part(vertices: FloatArray, triangles: IndexArray, fraction: float) -> float:
    """The thickness (m) below which a ``fraction`` of the surface is; infinite without a solid.

    Args:
        vertices: (V, 3).
        triangles: (T, 3).
        fraction: of the area.
    """
    thickness, area, _ = samples(vertices, triangles)
    if len(thickness) == 0:
        return float("inf")
    order = np.argsort(thickness, kind="stable")
    thinner = np.cumsum(area[order])
    return float(thickness[order][np.searchsorted(thinner, fraction * thinner[-1])])


def samples(
    vertices: FloatArray, triangles: IndexArray
) -> tuple[FloatArray, FloatArray, IndexArray]:
    """Return (S,) samples of the surface: thickness (m) below points of the surface, weights as of
    areas, and the triangles that the points are on.

    Args:
        vertices: (V, 3).
        triangles: (T, 3).
    """
    each = [_samples(vertices, triangles, axis) for axis in range(3)]
    thickness, area, triangle = (np.concatenate(part) for part in zip(*each, strict=True))
    return thickness, area, triangle


def _samples(
    vertices: FloatArray, triangles: IndexArray, axis: int
) -> tuple[FloatArray, FloatArray, IndexArray]:
    """``samples`` of the surface that faces an axis."""
    corners = vertices[triangles][..., [(axis + 1) % 3, (axis + 2) % 3, axis]]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.sqrt((normal**2).sum(axis=1))
    facing = np.flatnonzero(np.abs(normal[:, 2]) > 1e-9 * length)
    ray, triangle, depth = _crossings(corners, facing, normal[:, 2])
    order = np.lexsort((depth, ray))
    ray, triangle, depth = ray[order], triangle[order], depth[order]
    begin, end = _solid(ray, normal[triangle, 2] < 0.0)
    chord = np.tile(depth[end] - depth[begin], 2)
    at = triangle[np.concatenate([begin, end])]
    cosine = np.abs(normal[at, 2]) / length[at]
    mask = cosine >= _MIN_COSINE
    # A slab is thinner than a ray through it is long, and the oblique is hit less often.
    return chord[mask] * cosine[mask], 1.0 / cosine[mask], at[mask]


def _solid(ray: IndexArray, enters: NDArray[np.bool_]) -> tuple[IndexArray, IndexArray]:
    """Crossings at which rays enter the solid and leave it, where rays leave as often as enter."""
    count = np.cumsum(np.where(enters, 1, -1))
    before = count - np.where(enters, 1, -1)
    first = np.flatnonzero(np.diff(ray, prepend=-1))
    rays = np.diff(first, append=len(ray))
    base = before[first]
    closed = np.repeat(count[first + rays - 1] == base, rays)
    inside_before, inside = before - np.repeat(base, rays), count - np.repeat(base, rays)
    return np.flatnonzero(closed & (inside_before == 0)), np.flatnonzero(closed & (inside == 0))


def _crossings(
    corners: FloatArray, facing: IndexArray, area: FloatArray
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Find the crossings of rays along the third axis with triangles (T, 3, 3): ray, triangle,
    depth.

    Args:
        corners: of all triangles.
        facing: indices of those that rays can cross.
        area: (T,) twice the signed area that rays see of each.
    """
    spacing = float(np.ptp(corners.reshape(-1, 3), axis=0).max()) / _RAY_COUNT
    origin = corners.reshape(-1, 3)[:, :2].min(axis=0) + np.multiply(_OFFSETS, spacing)
    scaled = (corners[..., :2] - origin) / spacing
    low = np.ceil(scaled.min(axis=1)).astype(np.intp)
    counts = np.maximum(np.floor(scaled.max(axis=1)).astype(np.intp) - low + 1, 0)
    crossings = [
        _inside(*pairs, low, counts, scaled, corners[..., 2], area / spacing**2)
        for pairs in _pairs(facing, counts[facing].prod(axis=1))
    ]
    if not crossings:
        return np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0)
    ray, triangle, depth = (np.concatenate(part) for part in zip(*crossings, strict=True))
    return ray, triangle, depth


def _pairs(triangles: IndexArray, counts: IndexArray) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Each triangle as often as it has rays near it, and their numbers among those; in pieces."""
    for part in chunks(counts, _MAX_PAIRS):
        owner, numbers = expand(counts[part])
        yield triangles[part][owner], numbers


def _inside(
    triangle: IndexArray,
    number: IndexArray,
    low: IndexArray,
    counts: IndexArray,
    corners: FloatArray,
    heights: FloatArray,
    area: FloatArray,
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the pairs of triangles and rays that cross: ray, triangle, depth."""
    across = counts[triangle, 1]
    place = low[triangle] + np.stack([number // across, number % across], axis=1)
    a, b, c = (corners[triangle, k] - place for k in range(3))
    shares = np.stack([_cross(b, c), _cross(c, a), _cross(a, b)], axis=1) / area[triangle, None]
    hit = (shares >= 0.0).all(axis=1)
    depth = (shares[hit] * heights[triangle[hit]]).sum(axis=1)
    return place[hit, 0] * (2 * _RAY_COUNT) + place[hit, 1], triangle[hit], depth


def _cross(one: FloatArray, other: FloatArray) -> FloatArray:
    product: FloatArray = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    return product


def bending_ratio(edge_length: float, thickness: float) -> float:
    """The bending stiffness of a part of a thickness, in units of that with short edges.

    A linear tetrahedron has one strain, so that a part with few of them across bends by shearing
    them. That adds as much to its stiffness as the square of their edges over its thickness.
    """
    return 1.0 + _SHEAR_FACTOR * (edge_length / thickness) ** 2
