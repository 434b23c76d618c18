# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a triangle surface before it is filled: is it usable, how big is it, which way is
out, and how thick is the solid below each part?

Rays along the three axes measure the thickness. Robust: they count crossings with their direction,
so shells may overlap, and leave out rays that pass through a hole.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SceneError
from ..geometry.groups import chunks, expand, first_of_each, vertex_sums
from ..geometry.triangles import orient_consistently, without_unreferenced
from ..geometry.winding_number import PointGrid

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
    return one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]


def bending_ratio(edge_length: float, thickness: float) -> float:
    """The bending stiffness of a part of a thickness, in units of that with short edges.

    A linear tetrahedron has one strain, so that a part with few of them across bends by shearing
    them. That adds as much to its stiffness as the square of their edges over its thickness.
    """
    return 1.0 + _SHEAR_FACTOR * (edge_length / thickness) ** 2


_DEFAULT_TETS = 3000
_TETS_PER_CUBE = 12  # of the edge length: nine inside, and those at the surface
_TETS_PER_SQUARE = 15  # of a sheet one cell thick, per square of the edge length
_THIN_SHARE = 0.25  # of the surface
_MOST_REFINEMENT = 2.0  # in tets, for the sake of thin parts


def check_surface(vertices: ArrayLike, triangles: ArrayLike) -> tuple[FloatArray, IndexArray]:
    """The surface as arrays (V, 3) and (T, 3), without the vertices no triangle uses.

    Raises:
        SceneError: if it is empty, has no extent, or a vertex or an index is not usable.
    """
    points, faces = np.asarray(vertices, dtype=np.float64), np.asarray(triangles)
    if points.ndim != 2 or points.shape[1] != 3:
        raise SceneError(f"The surface's vertices must be (V, 3) numbers, not {points.shape}.")
    if faces.size == 0:
        raise SceneError("The mesh has no faces, so there is nothing to fill; add faces to it.")
    if faces.ndim != 2 or faces.shape[1] != 3 or not np.issubdtype(faces.dtype, np.integer):
        raise SceneError(
            f"The surface's triangles must be (T, 3) whole numbers, not {faces.shape}."
        )
    broken = ~np.isfinite(points).all(axis=1)
    if broken.any():
        raise SceneError(
            f"Vertex {int(broken.argmax())} is not at a finite position ({int(broken.sum())} such "
            "vertices); move or delete it."
        )
    outside = ((faces < 0) | (faces >= len(points))).any(axis=1)
    if outside.any():
        raise SceneError(
            f"Triangle {int(outside.argmax())} names a vertex outside 0 … {len(points) - 1}; "
            "rebuild the mesh."
        )
    points, faces = without_unreferenced(points, faces)
    size = float(np.ptp(points, axis=0).max())
    if size <= 1e-12 * max(1.0, float(np.abs(points).max())):
        raise SceneError("All vertices of the mesh are at one point; give it a size.")
    return points, faces


def default_edge_length(vertices: FloatArray, triangles: IndexArray) -> float:
    """The edge length in metres that gives about three thousand lattice tets.

    If a quarter of the surface is thinner than that, the edge is as short as these parts are
    thick, unless that takes more than twice as many tets; parts thinner than half of the edge
    become one cell thick in any case, and are not refined.
    """
    longest = float(np.ptp(vertices, axis=0).max())
    volume = abs(signed_volume(vertices, triangles))
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sheet = 0.25 * float(np.sqrt((normals**2).sum(axis=1)).sum())  # half the area: two sides
    solid = (_TETS_PER_CUBE * volume / _DEFAULT_TETS) ** (1 / 3)
    thin = (_TETS_PER_SQUARE * sheet / _DEFAULT_TETS) ** (1 / 2)
    usual = max(solid, thin)
    finest = usual * _MOST_REFINEMENT ** (-1 / 3)
    thickness = thin_part(vertices, triangles, _THIN_SHARE)
    edge_length = usual if thickness < 0.5 * finest else min(usual, max(thickness, finest))
    return float(np.clip(edge_length, longest / 100.0, longest / 4.0))


def signed_volume(vertices: FloatArray, triangles: IndexArray) -> float:
    """Volume in m^3 inside closed triangles (divergence theorem); negative if inside out."""
    a, b, c = (vertices - vertices.mean(axis=0))[triangles].swapaxes(0, 1)
    return float(np.einsum("ij,ij->", np.cross(a, b), c)) / 6.0


def is_closed(triangles: IndexArray) -> bool:
    """Whether along every edge as many triangles (T, 3) run one way as the other."""
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    keys = np.minimum(start, end) * (int(triangles.max()) + 1) + np.maximum(start, end)
    _, edge = np.unique(keys, return_inverse=True)
    return not np.bincount(edge.ravel(), weights=np.sign(end - start)).any()


def is_tetrahedron(triangles: IndexArray) -> bool:
    """Whether the triangles (T, 3) are the four faces of one tetrahedron."""
    return (
        len(np.unique(np.sort(triangles, axis=1), axis=0))
        == len(triangles)
        == 4
        == (len(np.unique(triangles)))
    )


def split_long_triangles(corners: FloatArray, longest: float) -> FloatArray:
    """Bisect triangles, given by their corners (T, 3, 3), until no edge exceeds `longest`.

    The pieces cover the same surface with the same orientation; shared edges get no shared
    vertices.
    """
    done = []
    while len(corners):
        edges = np.roll(corners, -1, axis=1) - corners
        squared = (edges**2).sum(axis=2)
        long = squared.max(axis=1) > longest**2
        done.append(corners[~long])
        corners, start = corners[long], squared[long].argmax(axis=1)
        row = np.arange(len(corners))
        a, b, c = (corners[row, (start + step) % 3] for step in range(3))
        middle = 0.5 * (a + b)
        halves = (np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1))
        corners = np.concatenate(halves)
    return np.concatenate(done)


REGULAR_TETS_PER_CUBE = 8.5  # of edge 1 in a unit of volume
_CELLS_AROUND = 3  # the lattice has this many spare along each axis


def check_budget(
    vertices: NDArray[np.float64], edge_length: float, tets_per_cube: float, most: int
) -> None:
    """Raise SceneError if the bounding box of vertices (V, 3) holds more than `most` tets."""
    size = np.ptp(vertices, axis=0)

    def tets(length: float) -> float:
        return tets_per_cube * float(np.prod(size / length + _CELLS_AROUND))

    if tets(edge_length) <= most:
        return
    enough = edge_length
    while tets(enough) > most:
        enough *= 1.05
    raise SceneError(
        f"An edge length of {edge_length:.3g} m could give {tets(edge_length):.1e} tets, more than "
        f"the {most:.0e} allowed; use {enough:.2g} m or more (a lower resolution)."
    )


@contextlib.contextmanager
def scratch_folder() -> Iterator[None]:
    """Changes the process's current folder to a temporary one, and back."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


def outward_faces(vertices: FloatArray, triangles: NDArray[np.integer[Any]]) -> IndexArray:
    """(F, 3) the triangles of a closed surface, wound so that their normals point out of it."""
    faces = orient_consistently(np.asarray(triangles, dtype=np.intp))
    return faces[:, ::-1] if signed_volume(vertices, faces) < 0.0 else faces


def vertex_normals(vertices: FloatArray, faces: NDArray[np.integer[Any]]) -> FloatArray:
    """(V, 3) the unit means of the normals of the triangles (F, 3) around each vertex, weighted by
    area; zero where there is none."""
    a, b, c = vertices[faces].swapaxes(0, 1)
    areas = np.repeat(np.cross(b - a, c - a)[:, None], 3, axis=1)
    normals = vertex_sums(areas, faces, len(vertices))
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return normals / np.where(length > 0.0, length, 1.0)


def outward_normals(
    points: FloatArray, vertices: FloatArray, triangles: NDArray[np.integer[Any]]
) -> FloatArray:
    """(P, 3) unit normals of a closed surface at points on it or near it.

    Vertex normals are the area-weighted mean of the triangles around; a point has that of the
    vertex nearest to it. Zero where there is none.

    Args:
        points: (P, 3), the vertices themselves or others.
        vertices, triangles: (V, 3) and (F, 3); which way they are wound does not matter.
    """
    faces = outward_faces(vertices, triangles)
    normals = vertex_normals(vertices, faces)
    if np.array_equal(points, vertices):
        return normals
    used = np.unique(faces)
    return normals[used[_nearest(points, vertices[used])]]


def _nearest(points: FloatArray, others: FloatArray) -> IndexArray:
    """(P,) the nearest of others (Q, 3) to each point (P, 3), the first of those equally near."""
    nearest, least = np.full(len(points), -1), np.full(len(points), np.inf)
    search_radius = float(np.ptp(others, axis=0).max()) / np.sqrt(len(others))
    search_radius = max(search_radius, float(np.finfo(np.float64).tiny))
    while (nearest < 0).any():
        left = np.flatnonzero(nearest < 0)
        low, high = points[left] - search_radius, points[left] + search_radius
        for row, other in PointGrid(others, search_radius).pairs(low, high):
            point, distance = left[row], np.linalg.norm(points[left[row]] - others[other], axis=1)
            closer = distance <= np.minimum(search_radius, np.nextafter(least[point], 0.0))
            point, other, distance = point[closer], other[closer], distance[closer]
            first = first_of_each(point, distance, other)
            nearest[point[first]], least[point[first]] = other[first], distance[first]
        search_radius *= 2.0
    return nearest
