# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies and colliders with tips and sharp edges, which the literature tests contact with."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull

from supple.core import TetMesh
from supple.core.scene.channel import Channel
from supple.core.scene.contact_settings import Collider

Points = NDArray[np.float64]

# Corners of a tet and the middles of its edges: the four at the corners, and the octahedron between
# them, cut along one diagonal.
_EDGES = list(itertools.combinations(range(4), 2))
_FINER = [
    *((0, 4, 5, 6), (1, 4, 7, 8), (2, 5, 7, 9), (3, 6, 8, 9)),
    *((4, 5, 6, 8), (4, 5, 7, 8), (5, 6, 8, 9), (5, 7, 8, 9)),
]


def spike(half: float, height: float) -> TetMesh:
    """A square pyramid that stands on its tip, which is the origin."""
    return _refined(_spike_corners(half, height), [(0, 1, 2, 3), (0, 1, 3, 4)])


def wedge(half: float, height: float, length: float) -> TetMesh:
    """A prism that stands on an edge, which lies on the y axis about the origin."""
    corners = _wedge_corners(half, height, length)
    return _refined(corners, [(0, 1, 2, 5), (0, 1, 4, 5), (0, 3, 4, 5)])


def spike_collider(half: float, height: float, top: float) -> Collider:
    """The pyramid, upright, its tip at the height ``top``."""
    return _convex(_spike_corners(half, -height) + np.array([0.0, 0.0, top]), "spike")


def wedge_collider(
    half: float, height: float, length: float, top: ArrayLike, name: str = "wedge"
) -> Collider:
    """The prism, upright, the middle of its upper edge at ``top``."""
    return _convex(_wedge_corners(half, -height, length) + np.asarray(top), name)


def box_collider(low: ArrayLike, high: ArrayLike) -> Collider:
    ends = zip(np.asarray(low, float), np.asarray(high, float), strict=True)
    return _convex(np.array(list(itertools.product(*ends))), "box")


def hole(half: float, height: float, rim: float) -> Collider:
    """A plane at the height 0 with a hole that the pyramid fits."""
    tip, *brink = _spike_corners(half, height) - (0.0, 0.0, height)
    outer = np.array([[rim, rim], [-rim, rim], [-rim, -rim], [rim, -rim]])
    points = np.array([tip, *brink, *np.column_stack([outer, np.zeros(4)])])
    around = [(k, k % 4 + 1) for k in range(1, 5)]
    walls = [(0, first, second) for first, second in around]
    floor = [(a, a + 4, b) for a, b in around] + [(b, a + 4, b + 4) for a, b in around]
    return Collider(Channel.constant(points), np.array(walls + floor), name="hole")


def tiles(count: int, side: float) -> Collider:
    """A level square at the height 0, of so many by so many squares of two triangles."""
    axis = side * (np.arange(count + 1) - 0.5 * count)
    points = np.stack(np.meshgrid(axis, axis, [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    first = (np.arange(count)[:, None] * (count + 1) + np.arange(count)).ravel()
    right, beyond, across = first + count + 1, first + 1, first + count + 2
    lower, upper = (first, right, across), (first, across, beyond)
    triangles = np.concatenate([np.stack(each, axis=1) for each in (lower, upper)])
    return Collider(Channel.constant(points), triangles, name="tiles")


def funnel(wide: float, narrow: float, length: float) -> Collider:
    """Open at both ends, about the x axis: a cone, then a throat of the same length."""
    sectors = 16
    turn = 2.0 * np.pi * np.arange(sectors) / sectors
    circle = np.stack([np.zeros(sectors), np.cos(turn), np.sin(turn)], axis=1)
    rings = [(0.0, wide), (length, narrow), (2.0 * length, narrow)]
    points = np.concatenate([radius * circle + (x, 0.0, 0.0) for x, radius in rings])
    first = np.arange(sectors)
    second = np.roll(first, -1)
    triangles = []
    for ring in range(len(rings) - 1):
        a, b = first + ring * sectors, second + ring * sectors
        triangles += [np.stack([a, b, b + sectors], 1), np.stack([a, b + sectors, a + sectors], 1)]
    return Collider(Channel.constant(points), np.concatenate(triangles), name="funnel")


def _spike_corners(half: float, height: float) -> Points:
    base = [(half, half), (-half, half), (-half, -half), (half, -half)]
    return np.array([(0.0, 0.0, 0.0), *((x, y, height) for x, y in base)])


def _wedge_corners(half: float, height: float, length: float) -> Points:
    section = [(0.0, 0.0), (half, height), (-half, height)]
    return np.array([(x, y, z) for y in (-0.5 * length, 0.5 * length) for x, z in section])


def _convex(points: Points, name: str) -> Collider:
    triangles = ConvexHull(points).simplices.astype(np.int64)
    return Collider(Channel.constant(points), triangles, name=name)


def _refined(points: Points, corners: ArrayLike) -> TetMesh:
    """Each tet as eight, twice.

    Source: Bey, "Tetrahedral grid refinement", 1995.
    """
    tets = np.asarray(corners, dtype=np.int64)
    for _ in range(2):
        edges = np.sort(tets[:, _EDGES].reshape(-1, 2), axis=1)
        unique, which = np.unique(edges, axis=0, return_inverse=True)
        ten = np.concatenate([tets, which.reshape(-1, 6) + len(points)], axis=1)
        points = np.concatenate([points, points[unique].mean(axis=1)])
        tets = ten[:, _FINER].reshape(-1, 4)
    spans = points[tets[:, 1:]] - points[tets[:, :1]]
    inverted = np.linalg.det(spans) < 0.0
    tets[inverted, :2] = tets[inverted, 1::-1]
    return TetMesh(points, tets)
