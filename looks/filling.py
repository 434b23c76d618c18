# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how well tetrahedra fill a surface: volume, that of thin parts alone, and what lies
outside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.core import TetMesh
from supple.core.geometry.embedding import followed_tets
from supple.core.geometry.winding_number import winding_number

from .region import EVERYWHERE, Region
from .triangle_distance import distance_to_triangles

Points = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Lines along z on the longer side of what is measured.
LINES = 400
#: Of a side: keeps the lines off vertices and edges that lie on a grid of their own.
OFFSETS = (0.382, 0.618)
#: Samples of what is in tetrahedra along one of their edges.
SPREAD = 8
#: In cells: closer than this is on the tetrahedra.
ON_SURFACE_CELLS = 1e-3
#: In cells: farther is not looked for.
FARTHEST_CELLS = 4.0


def enclosed_volume(
    vertices: ArrayLike, triangles: ArrayLike, region: Region = EVERYWHERE
) -> float:
    """Return the volume that closed surfaces enclose within a region, in m³, summed along lines. A
    point in two shells counts once.

    Args:
        vertices: (V, 3) in metres.
        triangles: (T, 3), counter-clockwise seen from outside.
    """
    points = np.asarray(vertices, dtype=np.float64)
    corners = points[np.asarray(triangles, dtype=np.int64)]
    low = np.maximum(points.min(axis=0), region.low)
    high = np.minimum(points.max(axis=0), region.high)
    if (high <= low).any():
        return 0.0
    side = float((high - low)[:2].max()) / LINES
    counts = np.ceil((high - low)[:2] / side).astype(np.int64)
    line, height, sign = _hits(corners, low, side, counts)
    order = np.lexsort((height, line))
    line, height, sign = line[order], height[order], sign[order]
    # Upwards, a face that looks down is where a line enters.
    layers = np.cumsum(-sign) - _before_each_line(line, -sign)
    ends = np.clip(height, low[2], high[2])
    spans = np.diff(ends) * (np.diff(line) == 0)
    return float((spans * (layers[:-1] >= 1)).sum()) * side * side


def _hits(
    corners: Points, low: Points, side: float, counts: Indices
) -> tuple[Indices, Points, Indices]:
    """Find the crossings of the lines with triangles (T, 3, 3): number of the line, height, and
    1 where the triangle looks up, -1 where it looks down.
    """
    flat = (corners[:, :, :2] - low[:2]) / side - OFFSETS
    first = np.maximum(np.ceil(flat.min(axis=1)).astype(np.int64), 0)
    last = np.minimum(np.floor(flat.max(axis=1)).astype(np.int64), counts - 1)
    sizes = np.maximum(last - first + 1, 0)
    totals = sizes.prod(axis=1)
    which = np.repeat(np.arange(len(corners)), totals)
    local = np.arange(len(which)) - np.repeat(np.cumsum(totals) - totals, totals)
    i = first[which, 0] + local // sizes[which, 1]
    j = first[which, 1] + local % sizes[which, 1]
    a, b, c = flat[which].swapaxes(0, 1)
    point = np.stack([i, j], axis=1)
    areas = np.stack([_area(b, c, point), _area(c, a, point), _area(a, b, point)], axis=1)
    total = areas.sum(axis=1)
    is_hit = ((areas > 0.0).all(axis=1) | (areas < 0.0).all(axis=1)) & (total != 0.0)
    shares = areas[is_hit] / total[is_hit, None]
    height = (shares * corners[which[is_hit], :, 2]).sum(axis=1)
    line = i[is_hit] * counts[1] + j[is_hit]
    return line, height, np.sign(total[is_hit]).astype(np.int64)


def _area(p: Points, q: Points, r: Points) -> Points:
    """Twice that of triangles in the plane, positive counter-clockwise."""
    u, v = q - p, r - p
    area: Points = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    return area


def _before_each_line(line: Indices, steps: Indices) -> Indices:
    """(K,) the sum of all steps on the lines before that of each."""
    if len(line) == 0:
        return steps
    starts = np.flatnonzero(np.diff(line, prepend=line[0] - 1))
    before = np.concatenate([[0], np.cumsum(steps)])[starts]
    return np.repeat(before, np.diff(starts, append=len(line)))


def material_volume(
    mesh: TetMesh, vertices: ArrayLike, triangles: ArrayLike, region: Region
) -> float:
    """Return the volume of material in tetrahedra at rest, within a region, in m³.

    The material of a tet is the inside of the closed surfaces that lies in it or, outside of all
    tets, closest to it. Samples of it tell how much of a tet on the bounds is within.
    """
    corners = mesh.vertices[mesh.tets]
    low, high = corners.min(axis=1), corners.max(axis=1)
    on_bounds = ((high > region.low) & (low < region.high)).all(axis=1) & (
        (low < region.low) | (high > region.high)
    ).any(axis=1)
    within = ((low >= region.low) & (high <= region.high)).all(axis=1).astype(np.float64)
    if on_bounds.any():
        window = Region(tuple(low[on_bounds].min(axis=0)), tuple(high[on_bounds].max(axis=0)))
        samples = _samples(window, mesh.edge_length / SPREAD)
        inside = winding_number(samples, np.asarray(vertices), np.asarray(triangles)) > 0.5
        samples = samples[inside]
        owners = followed_tets(mesh, samples)
        counted = ((samples >= region.low) & (samples <= region.high)).all(axis=1)
        total = np.bincount(owners, minlength=len(corners))
        share = np.bincount(owners, counted, len(corners)) / np.maximum(total, 1)
        within[on_bounds] = share[on_bounds]
    return float((mesh.material_volumes * within).sum())


def _samples(window: Region, side: float) -> Points:
    """(S, 3) one in each cube of a grid, anywhere in it."""
    low = np.asarray(window.low)
    counts = np.ceil((np.asarray(window.high) - low) / side).astype(np.int64)
    cubes = np.indices(counts).reshape(3, -1).T
    samples: Points = low + side * (cubes + np.random.default_rng(0).random(cubes.shape))
    return samples


def distances_outside(mesh: TetMesh, points: ArrayLike) -> Points:
    """Return the (V,) distances of points outside of all tetrahedra at rest, in edge lengths of
    the mesh; 0 for those inside. What is farther than ``FARTHEST_CELLS`` has that distance.
    """
    positions = np.asarray(points, dtype=np.float64)
    cell = mesh.edge_length
    distance = distance_to_triangles(positions, mesh.vertices, mesh.surface, FARTHEST_CELLS * cell)
    cells = np.minimum(distance / cell, FARTHEST_CELLS)
    is_inside = winding_number(positions, mesh.vertices, mesh.surface) > 0.5
    outside: Points = np.where(is_inside | (cells < ON_SURFACE_CELLS), 0.0, cells)
    return outside
