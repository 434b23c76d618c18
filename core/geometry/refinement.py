# SPDX-License-Identifier: GPL-3.0-or-later
"""Smaller triangles for a surface, well shaped where it is flat.

Faces of many sides come as long thin triangles, all of whose edges would be split again and again.
Edges of thin and of long triangles are therefore flipped, if the two triangles at an edge are
coplanar, until these are Delaunay (Lawson, "Software for C1 surface interpolation", 1977), before
and after points are added. All other triangles stay as they are drawn: coplanar faces bend.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .groups import numbered_pairs

# The distance from a plane that counts as coplanar, relative to the size of a surface, because of
# meshes in single precision.
FLATNESS_RATIO = 1e-6
# An edge is flipped where the sine of its two opposite angles together is below minus this. In a
# regular polygon many edges are equally good.
LEAST_SINE = 1e-6
# Triangles whose smallest angle has a smaller sine are thin.
THIN_SINE = 0.25
# Only one of the edges within flat parts is split at a time if their midpoints are nearer than
# this ratio of the longest allowed edge. A disc with 60 teeth gets 4562 points by 0, and 1478 to
# 1536 by 0.25 to 0.75; from 1 on, regular meshes do not stay regular.
SPACING_RATIO = 0.5
# Digits of lengths and sines that tell edges apart.
RANK_DIGITS = 6
# Rounds of flips, and of points added so; after them all long edges are split.
MAX_FLIP_ROUNDS, MAX_ROUNDS = 200, 100

Points = NDArray[np.float64]
Triangles = NDArray[np.int32]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


class Triangulation(NamedTuple):
    """Triangles of a surface.

    Args:
        points: (P, 3) in metres.
        triangles: (F, 3) points.
        labels: (F,) by which triangles differ: none is flipped with another one's.
    """

    points: Points
    triangles: Triangles
    labels: NDArray[np.bool_]


class _Edges(NamedTuple):
    """E edges of triangles.

    Args:
        ends: (E, 2) points, the lower one first.
        number: (F, 3) the edge from each corner of a triangle to the next.
        is_inner: (E,) whether it lies between two triangles in one plane, with one label, that it
            has in opposite directions.
        sides: (E, 2) these triangles, and (E, 2) the corner opposite; anything for others.
        apexes: see ``sides``.
    """

    ends: Indices
    number: Indices
    is_inner: Mask
    sides: Indices
    apexes: Indices


def refined(surface: Triangulation, longest: float) -> Triangulation:
    """The same surface with edges of at most ``longest`` metres; the points that there were come
    first."""
    size = float(np.linalg.norm(np.ptp(surface.points, axis=0))) if len(surface.points) else 0.0
    flatness = FLATNESS_RATIO * size
    rounds = 0
    while True:
        is_flipping = rounds < MAX_ROUNDS
        edges = _edges_of(surface, flatness)
        if is_flipping:
            surface, edges = _flipped(surface, edges, flatness, longest)
        lengths = np.linalg.norm(np.subtract(*surface.points[edges.ends].swapaxes(0, 1)), axis=1)
        long = lengths > longest
        if not long.any():
            return surface
        if is_flipping:
            long = _far_apart(surface.points, edges, lengths / longest, long, longest)
            rounds += 1
        middles = np.full(len(edges.ends), -1)
        middles[long] = len(surface.points) + np.arange(long.sum())
        points = np.concatenate([surface.points, surface.points[edges.ends[long]].mean(axis=1)])
        triangles, parents = _split(surface.triangles, middles[edges.number])
        surface = Triangulation(points, triangles, surface.labels[parents])


def _far_apart(
    points: Points, edges: _Edges, ratios: NDArray[np.float64], long: Mask, longest: float
) -> Mask:
    """Return (E,) a mask of long edges without edges within flat parts that have a midpoint near
    that of an edge outside of flat parts or of a longer one.

    Args:
        ratios: (E,) of their lengths to ``longest``.
    """
    # It loads scipy.spatial, which takes a moment that most scenes need not wait.
    from scipy.spatial import cKDTree

    which = np.flatnonzero(long)
    tree = cKDTree(points[edges.ends[which]].mean(axis=1))
    pairs = tree.query_pairs(SPACING_RATIO * longest, output_type="ndarray")
    is_inner = edges.is_inner[which]
    rank = np.empty(len(which), dtype=np.intp)
    # Values that differ by rounding only keep the order of the edges.
    order = np.lexsort((-ratios[which].round(RANK_DIGITS), is_inner))
    rank[order] = np.arange(len(which))
    later = np.where(rank[pairs[:, 0]] > rank[pairs[:, 1]], pairs[:, 0], pairs[:, 1])
    stays = np.zeros(len(which), dtype=bool)
    stays[later] = True
    chosen = np.zeros(len(long), dtype=bool)
    chosen[which[~(stays & is_inner)]] = True
    return chosen


def _edges_of(surface: Triangulation, flatness: float) -> _Edges:
    points, triangles, labels = surface
    starts, stops = triangles.reshape(-1), np.roll(triangles, -1, axis=1).reshape(-1)
    ends, number = numbered_pairs(np.sort(np.stack([starts, stops], axis=1), axis=1))
    count = len(ends)
    # The places of the triangles that contain each edge forwards and backwards.
    places = np.arange(3 * len(triangles))
    is_forward = starts < stops
    sides = np.zeros((count, 2), dtype=np.intp)
    is_inner = np.bincount(number, minlength=count) == 2
    for side, mask in enumerate((is_forward, ~is_forward)):
        is_inner &= np.bincount(number[mask], minlength=count) == 1
        sides[number[mask], side] = places[mask]
    apexes = triangles[sides // 3, (sides % 3 + 2) % 3].astype(np.intp)
    sides = sides // 3
    is_inner &= labels[sides[:, 0]] == labels[sides[:, 1]]
    inner = np.flatnonzero(is_inner)
    is_inner[inner] = _are_flat(points, triangles, sides[inner], apexes[inner], flatness)
    return _Edges(ends, number.reshape(-1, 3), is_inner, sides, apexes)


def _are_flat(
    points: Points, triangles: Triangles, sides: Indices, apexes: Indices, flatness: float
) -> Mask:
    """(E,) whether two triangles face the same way, and each apex is in the plane of the other."""
    normals = []
    for side in (0, 1):
        a, b, c = points[triangles[sides[:, side]]].swapaxes(0, 1)
        normals.append(np.cross(b - a, c - a))
    flat = np.einsum("ei,ei->e", *normals) > 0.0
    for side in (0, 1):
        corner = points[triangles[sides[:, side], 0]]
        heights = np.einsum("ei,ei->e", normals[side], points[apexes[:, 1 - side]] - corner)
        flat &= np.abs(heights) <= flatness * np.linalg.norm(normals[side], axis=1)
    return flat


def _flipped(
    surface: Triangulation, edges: _Edges, flatness: float, longest: float
) -> tuple[Triangulation, _Edges]:
    """The same points with Delaunay triangles in flat parts in place of thin triangles and those
    with edges above ``longest``, and the edges of these."""
    for _ in range(MAX_FLIP_ROUNDS):
        chosen = _edges_to_flip(surface, edges, longest)
        if len(chosen) == 0:
            break
        triangles = surface.triangles.copy()
        low, high = edges.ends[chosen].T
        ahead, behind = edges.apexes[chosen].T
        # The first side has the edge from its lower end to the higher one.
        triangles[edges.sides[chosen, 0]] = np.stack([ahead, low, behind], axis=1)
        triangles[edges.sides[chosen, 1]] = np.stack([behind, high, ahead], axis=1)
        surface = surface._replace(triangles=triangles)
        edges = _edges_of(surface, flatness)
    return surface, edges


def _edges_to_flip(surface: Triangulation, edges: _Edges, longest: float) -> Indices:
    """Edges of thin or long triangles that are not Delaunay, no two of one triangle."""
    points, sines = surface.points, np.zeros(len(edges.ends))
    inner = np.flatnonzero(edges.is_inner)
    poor = _are_poor(points, surface.triangles, longest)
    inner = inner[poor[edges.sides[inner]].any(axis=1)]
    sines[inner] = _sines(points, edges.ends[inner], edges.apexes[inner])
    chosen = _mutual(sines, edges.number, edges.sides)
    # The new edge must be none that is there, nor that of another flip.
    new = np.sort(edges.apexes[chosen], axis=1)
    _, first = np.unique(new, axis=0, return_index=True)
    known = numbered_pairs(np.concatenate([edges.ends, new[first]]))[1]
    fresh = first[~np.isin(known[len(edges.ends) :], known[: len(edges.ends)])]
    return chosen[fresh]


def _are_poor(points: Points, triangles: Triangles, longest: float) -> Mask:
    """(F,) whether triangles are thin, or have an edge above ``longest``."""
    corners = points[triangles]
    sides = corners[:, [1, 2, 0]] - corners
    lengths = np.sort(np.linalg.norm(sides, axis=2), axis=1)
    areas = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    is_thin = areas < THIN_SINE * lengths[:, 1] * lengths[:, 2]
    return is_thin | (lengths[:, 2] > longest)


def _sines(points: Points, ends: Indices, apexes: Indices) -> NDArray[np.float64]:
    """(E,) sines of the two angles opposite to edges together; below 0 where these are more than
    half a turn."""
    cosines, sines = [], []
    for side in (0, 1):
        one, other = (points[ends[:, end]] - points[apexes[:, side]] for end in (0, 1))
        size = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        cosines.append(np.einsum("ei,ei->e", one, other) / size)
        sines.append(np.linalg.norm(np.cross(one, other), axis=1) / size)
    return sines[0] * cosines[1] + cosines[0] * sines[1]


def _mutual(sines: NDArray[np.float64], number: Indices, sides: Indices) -> Indices:
    """The edges to flip that are the worst of both their triangles."""
    bad = np.flatnonzero(sines < -LEAST_SINE)
    rank = np.full(len(sines), len(sines))
    order = np.argsort(sines[bad].round(RANK_DIGITS), kind="stable")
    rank[bad[order]] = np.arange(len(bad))
    worst = rank[number].min(axis=1)
    return bad[(worst[sides[bad]] == rank[bad, None]).all(axis=1)]


def _split(triangles: Triangles, middles: Indices) -> tuple[Triangles, Indices]:
    """Triangles (F, 3) with those edges halved that have a middle, (F, 3), else -1; and the
    triangle that each of the new ones is a part of."""
    count = (middles >= 0).sum(axis=1)
    # The edge that is alone, halved or not, comes first.
    first = np.where(count == 2, (middles < 0).argmax(axis=1), (middles >= 0).argmax(axis=1))
    turn = (first[:, None] + np.arange(3)) % 3
    (a, b, c), (ab, bc, ca) = (
        np.take_along_axis(values, turn, axis=1).T for values in (triangles, middles)
    )
    one, two, three = (count == 1), (count == 2), (count == 3)
    pieces = [
        triangles[count == 0],
        *(_rows(one, *corners) for corners in ((a, ab, c), (ab, b, c))),
        *(_rows(two, *corners) for corners in ((a, b, bc), (a, bc, ca), (ca, bc, c))),
        *(
            _rows(three, *corners)
            for corners in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        ),
    ]
    parents = [np.tile(np.flatnonzero(count == middle), middle + 1) for middle in range(4)]
    return np.concatenate(pieces).astype(np.int32), np.concatenate(parents)


def _rows(mask: Mask, *columns: Indices) -> Indices:
    return np.stack([column[mask] for column in columns], axis=1)
