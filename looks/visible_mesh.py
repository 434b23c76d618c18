# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the visible defects of a simulated surface: crossings, torn edges, roughness, and
depth inside of other objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.verification.exact_intersections import intersecting_pairs

Points = NDArray[np.float64]
Indices = NDArray[np.int64]

#: An edge is torn where it is longer than this many times its rest length, or shorter than a share.
TORN_STRETCH, TORN_CRUSH = 3.0, 0.2


@dataclass(frozen=True, eq=False)
class VisibleMesh:
    """A surface in its rest shape, to which others of the same faces are compared.

    Args:
        rest: (V, 3) positions in metres.
        triangles: (T, 3) vertices of its faces, as they are drawn.
        faces: (T,) the face that a triangle is a part of.
        edges: (E, 2) vertices of the faces' edges; each edge once.
    """

    rest: Points
    triangles: Indices
    faces: Indices
    edges: Indices

    @staticmethod
    def from_quads(vertices: ArrayLike, quads: ArrayLike) -> VisibleMesh:
        """Build the mesh of (F, 4) quads, each drawn as two triangles."""
        corners = np.asarray(quads, dtype=np.int64)
        triangles = np.stack([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]], axis=1)
        faces = np.repeat(np.arange(len(corners)), 2)
        rest = np.asarray(vertices, dtype=np.float64)
        return VisibleMesh(rest, triangles.reshape(-1, 3), faces, quad_edges(corners))

    def crossing_faces(self, positions: ArrayLike) -> Indices:
        """The faces that cross another, where neither of the two crosses any at rest, nor are both
        neighbours of such: the line along which shells cross may move by a face.

        Faces that share a vertex do not cross. The test is exact for the positions (V, 3).
        """
        pairs = self.faces[intersecting_pairs(positions, self.triangles)]
        crossing = self._crossing_at_rest
        is_old = np.isin(pairs, crossing).any(axis=1)
        is_old |= np.isin(pairs, self._with_neighbours(crossing)).all(axis=1)
        return np.unique(pairs[~is_old])

    @cached_property
    def _crossing_at_rest(self) -> Indices:
        return np.unique(self.faces[intersecting_pairs(self.rest, self.triangles)])

    def _with_neighbours(self, faces: Indices) -> Indices:
        """Return the faces that share a vertex with one of these faces, including them."""
        vertices = self.triangles[np.isin(self.faces, faces)]
        return np.unique(self.faces[np.isin(self.triangles, vertices).any(axis=1)])

    def stretches(self, positions: ArrayLike) -> Points:
        """(E,) lengths of the edges in units of those at rest."""
        lengths: Points = _lengths(np.asarray(positions), self.edges) / self._rest_lengths
        return lengths

    def torn_share(self, positions: ArrayLike) -> float:
        """Share of the edges that are torn."""
        stretches = self.stretches(positions)
        return float(((stretches > TORN_STRETCH) | (stretches < TORN_CRUSH)).mean())

    def roughness(self, positions: ArrayLike) -> float:
        """Mean distance of a vertex from the mean of its neighbours, over that at rest."""
        return _mean_offset(np.asarray(positions), self.edges) / self._rest_offset

    @cached_property
    def _rest_lengths(self) -> Points:
        return _lengths(self.rest, self.edges)

    @cached_property
    def _rest_offset(self) -> float:
        return _mean_offset(self.rest, self.edges)


def quad_edges(quads: Indices) -> Indices:
    """(E, 2) edges of quads (F, 4), each once, its smaller index first."""
    sides = np.stack([quads, np.roll(quads, -1, axis=1)], axis=2).reshape(-1, 2)
    return np.unique(np.sort(sides, axis=1), axis=0)


def neighbour_means(positions: Points, edges: Indices) -> Points:
    """(V, 3) means of the vertices at the other ends of each vertex's edges; its own place for a
    vertex of no edge."""
    ends = np.concatenate([edges, edges[:, ::-1]])
    count = np.bincount(ends[:, 0], minlength=len(positions))
    sums = np.stack(
        [
            np.bincount(ends[:, 0], weights=positions[ends[:, 1], axis], minlength=len(positions))
            for axis in range(3)
        ],
        axis=1,
    )
    means: Points = np.where(count[:, None] > 0, sums / np.maximum(count, 1)[:, None], positions)
    return means


def depth_in_box(positions: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Return the largest depth of a point (V, 3) below the faces of a box, in metres; 0 where none
    is inside.

    Args:
        low, high: (3,) corners of the box.
    """
    points = np.asarray(positions, dtype=np.float64)
    inside = np.minimum(points - np.asarray(low), np.asarray(high) - points).min(axis=1)
    return max(float(inside.max(initial=0.0)), 0.0)


def depth_below(positions: ArrayLike, height: float) -> float:
    """Return the largest depth of a point (V, 3) below a level ground, in metres; 0 where none
    is.
    """
    return max(height - float(np.asarray(positions)[:, 2].min()), 0.0)


def _lengths(positions: Points, edges: Indices) -> Points:
    lengths: Points = np.linalg.norm(positions[edges[:, 1]] - positions[edges[:, 0]], axis=1)
    return lengths


def _mean_offset(positions: Points, edges: Indices) -> float:
    offsets = np.linalg.norm(positions - neighbour_means(positions, edges), axis=1)
    return float(offsets.mean())
