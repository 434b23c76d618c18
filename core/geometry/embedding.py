# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries a surface along with the tets it is embedded in, and interpolates between points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SceneError
from .groups import first_of_each
from .tet_mesh import FACES, TetMesh
from .triangles import point_triangle_distance
from .winding_number import PointGrid

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

#: Barycentric coordinates of a point on a face, after rounding.
INSIDE_TOLERANCE = -1e-9
# The least of a point that follows a tet of its own part.
_MIN_COORDINATE = -0.5


@dataclass(frozen=True, eq=False)
class Embedding:
    """The tet vertices and weights that each of V points follows.

    Attributes:
        indices: (V, K) vertices, int32: the four of one tet, or more of several.
        weights: (V, K) which sum to one. In a tet they are barycentric coordinates, and negative
            ones extrapolate.
    """

    indices: NDArray[np.int32]
    weights: FloatArray

    def of(self, points: IndexArray) -> Embedding:
        """Return the embedding of some of the points."""
        return Embedding(self.indices[points], self.weights[points])

    def interpolate(self, positions: ArrayLike) -> FloatArray:
        """Return the (V, 3) points for tet mesh vertices at `positions` (N, 3), in the same
        unit."""
        corners = np.take(np.asarray(positions, dtype=np.float64), self.indices, axis=0)
        # More than twice as fast as einsum for many columns.
        return np.matmul(self.weights[:, None], corners)[:, 0]


def embed(mesh: TetMesh, points: ArrayLike) -> Embedding:
    """Embed points (V, 3), in metres, in the rest shape of `mesh`.

    A point inside a tet follows that tet. A point outside all of them follows one close by: the
    one with the smallest sum of distance, over the mesh's edge length, and of extrapolation, its
    most negative barycentric coordinate. If the mesh knows its original surface, points close to
    that follow tets on it; among overlapping tets, those on their side of a gap. Affine motions of
    the mesh are reproduced exactly.

    Raises:
        SceneError: a point is not finite.
    """
    positions = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    owner = followed_tets(mesh, positions)
    weights = _barycentric(mesh, owner, positions)
    return Embedding(mesh.tets[owner].astype(np.int32), weights)


def followed_tets(mesh: TetMesh, positions: FloatArray) -> IndexArray:
    """Return the (V,) tets that (V, 3) points follow, by the rules of `embed`.

    Raises:
        SceneError: a point is not finite.
    """
    if not np.isfinite(positions).all():
        broken = int((~np.isfinite(positions).all(axis=1)).argmax())
        raise SceneError(f"Vertex {broken} is not at a finite position; move or delete it.")
    owner = _owners_in_parts(mesh, positions)
    _find_containing(mesh, positions, owner)
    _find_close(mesh, positions, owner)
    return owner


def _owners_in_parts(mesh: TetMesh, points: FloatArray) -> IndexArray:
    """The owner of each point on or close to the surface that the tets were made from, among the
    tets around its closest point; -1 of others."""
    if mesh.surface_tets is None or len(points) == 0:
        return np.full(len(points), -1)
    owner, least = mesh.surface_tets.followed(points, mesh.vertices, mesh.tets)
    return np.where(least > _MIN_COORDINATE, owner, -1)


def _find_containing(mesh: TetMesh, points: FloatArray, owner: IndexArray) -> None:
    """Set the owner of each remaining point that lies in a tet."""
    unassigned = np.flatnonzero(owner < 0)
    if len(unassigned) == 0:
        return
    corners = mesh.vertices[mesh.tets]
    margin = 1e-9 * mesh.edge_length
    low, high = corners.min(axis=1) - margin, corners.max(axis=1) + margin
    for tet, row in PointGrid(points[unassigned], mesh.edge_length).pairs(low, high):
        point = unassigned[row]
        least = _barycentric(mesh, tet, points[point]).min(axis=1)
        inside = least >= INSIDE_TOLERANCE
        point, tet, _ = _best(point[inside], tet[inside], -least[inside])
        owner[point] = tet


def _find_close(mesh: TetMesh, points: FloatArray, owner: IndexArray) -> None:
    """Set the owner of the remaining points, looking farther and farther for a tet."""
    if (owner >= 0).all():
        return
    on_surface = np.zeros(len(mesh.vertices), dtype=bool)
    on_surface[mesh.surface] = True
    tets = np.flatnonzero(on_surface[mesh.tets].any(axis=1))
    corners = mesh.vertices[mesh.tets[tets]]
    low, high = corners.min(axis=1), corners.max(axis=1)
    search_radius = 0.5 * mesh.edge_length
    while (owner < 0).any():
        unassigned = np.flatnonzero(owner < 0)
        grid = PointGrid(points[unassigned], search_radius)
        chunks = [
            _closest(mesh, points, unassigned[row], tets[near], search_radius)
            for near, row in grid.pairs(low - search_radius, high + search_radius)
        ]
        if chunks:
            point, tet, _ = _best(*(np.concatenate(part) for part in zip(*chunks, strict=True)))
            owner[point] = tet
        search_radius *= 2.0


def _closest(
    mesh: TetMesh, points: FloatArray, point: IndexArray, tet: IndexArray, search_radius: float
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the best of the pairs at most `search_radius` apart for each point, and its score."""
    edge = mesh.edge_length
    coordinates = _barycentric(mesh, tet, points[point])
    altitudes = 1.0 / np.sqrt((mesh.shape_gradients[tet] ** 2).sum(axis=2))
    extrapolation = -coordinates.min(axis=1)
    # The distance to the planes of the faces bounds the distance to the tet, at little cost.
    beyond = (-coordinates * altitudes).max(axis=1)
    bound = extrapolation + beyond / edge

    def score(pair: IndexArray) -> FloatArray:
        distance = _tet_distance(mesh, tet[pair], points[point[pair]])
        return np.where(distance <= search_radius, extrapolation[pair] + distance / edge, np.inf)

    promising = first_of_each(point, bound)
    limit = np.full(len(points), np.inf)
    limit[point[promising]] = score(promising)
    rounding = 1e-6 * search_radius / edge
    hopeful = np.flatnonzero((bound <= limit[point] + rounding) & (beyond <= search_radius))
    scores = score(hopeful)
    close = np.isfinite(scores)
    return _best(point[hopeful[close]], tet[hopeful[close]], scores[close])


def _best(
    point: IndexArray, tet: IndexArray, score: FloatArray
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """For each point the tet of the lowest score, the first such one."""
    first = first_of_each(point, score, tet)
    return point[first], tet[first], score[first]


def _barycentric(mesh: TetMesh, tet: IndexArray, points: FloatArray) -> FloatArray:
    """(K, 4) barycentric coordinates of points (K, 3) in their own tets (K,)."""
    offset = points - mesh.vertices[mesh.tets[tet, 0]]
    last = np.einsum("kai,ki->ka", mesh.shape_gradients[tet, 1:], offset)
    return np.concatenate([1.0 - last.sum(axis=1, keepdims=True), last], axis=1)


def _tet_distance(mesh: TetMesh, tet: IndexArray, points: FloatArray) -> FloatArray:
    """(K,) distance from points (K, 3) outside their tets (K,) to them."""
    corners = mesh.vertices[mesh.tets[tet]]
    faces = [point_triangle_distance(points, *corners[:, face].swapaxes(0, 1)) for face in FACES]
    return np.min(faces, axis=0)


# The number of points that a position interpolates.
NEIGHBOUR_COUNT = 4
# The distance of equal points, relative to the largest distance.
MIN_DISTANCE_RATIO = 1e-9


def nearest_weights(
    points: NDArray[np.float64], places: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The nearest points of (Q, 3) places among (P, 3), and their weights, the inverse distances.

    Returns:
        (Q, K) indices of points and (Q, K) weights that sum to one, K being four, or P where that
        is less.

    Source: Shepard, "A two-dimensional interpolation function for irregularly-spaced data", 1968.
    """
    # It loads scipy.spatial, which takes a moment that other scenes need not wait.
    from scipy.spatial import KDTree

    count = min(NEIGHBOUR_COUNT, len(points))
    distances, which = (
        table.reshape(len(places), count) for table in KDTree(points).query(places, k=count)
    )
    # If all points coincide, any weights are right.
    weights = 1.0 / (distances + MIN_DISTANCE_RATIO * (distances.max() or 1.0))
    return which, weights / weights.sum(axis=1, keepdims=True)
