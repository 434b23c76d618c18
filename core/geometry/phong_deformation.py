# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries a surface along with the tets around it, smoothly from one tet to the next.

Source: James, "Phong Deformation: A Better C0 Interpolant for Embedded Deformation", 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .embedding import INSIDE_TOLERANCE, Embedding
from .groups import expand
from .tet_mesh import TetMesh
from .triangles import closest_in_triangle
from .winding_number import PointGrid

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# Others count that are farther than the closest by at most this many times the distance, and by no
# more than this many edge lengths.
_SPREAD_RATIO = 1.0
_MAX_SPREAD_RATIO = 0.3
# A triangle whose normal has a cosine with the point's below this counts as farther in the choice
# of a home, by this many edge lengths for each unit below: it is across a gap.
_FACING_COSINE = 0.5
_FACING_PENALTY = 2.0


@dataclass(frozen=True, eq=False)
class NearBoundary:
    """Places on the boundary near P points, several for one point.

    Attributes:
        home: (P,) the surface triangle that each point belongs to.
        point: (K,) increasing indices of points.
        triangle: (K,) indices of surface triangles.
        coordinates: (K, 3) barycentric ones of the place in the triangle.
        weights: (K,) how much it counts; those of a point sum to one.
    """

    home: IndexArray
    point: IndexArray
    triangle: IndexArray
    coordinates: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Points and triangles close to them: the place there, and how far it is."""

    point: IndexArray
    triangle: IndexArray
    coordinates: FloatArray
    distance: FloatArray
    penalty: FloatArray

    def chosen(self, which: IndexArray | NDArray[np.bool_]) -> _Pairs:
        return _Pairs(*(part[which] for part in vars(self).values()))

    @staticmethod
    def joined(parts: list[_Pairs]) -> _Pairs:
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return _Pairs(*(np.concatenate(column) for column in columns))


def near_boundary(mesh: TetMesh, points: FloatArray, normals: FloatArray) -> NearBoundary:
    """Find the boundary triangles close to points (P, 3), P > 0, all of them outside.

    A point's home is the closest triangle, those that face another way counting as farther. Each
    triangle that an edge of a tet joins to the point is weighted by its distance: the weight falls
    smoothly to zero when another one is closer by the spread, and the spread goes to zero with the
    distance.

    Args:
        mesh: of tetrahedra.
        points: (P, 3).
        normals: (P, 3) of the surface that they belong to; zero where it is not known.
    """
    pairs = _close_pairs(mesh, points, normals)
    order = np.lexsort((pairs.triangle, pairs.distance + pairs.penalty, pairs.point))
    home = pairs.triangle[order[np.flatnonzero(np.diff(pairs.point[order], prepend=-1))]]
    pairs = pairs.chosen(order)
    pairs = pairs.chosen(_are_joined(mesh, home[pairs.point], pairs.triangle))
    least = np.full(len(points), np.inf)
    np.minimum.at(least, pairs.point, pairs.distance)
    spread = np.maximum(_spread(mesh, least), np.finfo(np.float64).tiny)
    beyond = (pairs.distance - least[pairs.point]) / spread[pairs.point]
    weights = np.maximum(1.0 - beyond, 0.0) ** 2
    pairs, weights = pairs.chosen(weights > 0.0), weights[weights > 0.0]
    weights = weights / np.bincount(pairs.point, weights)[pairs.point]
    return NearBoundary(home, pairs.point, pairs.triangle, pairs.coordinates, weights)


def _spread(mesh: TetMesh, distance: FloatArray) -> FloatArray:
    return np.minimum(_SPREAD_RATIO * distance, _MAX_SPREAD_RATIO * mesh.edge_length)


def _close_pairs(mesh: TetMesh, points: FloatArray, normals: FloatArray) -> _Pairs:
    """All triangles that may be a point's home, or that count beside it."""
    corners, edge = mesh.vertices[mesh.surface], mesh.edge_length
    low, high = corners.min(axis=1), corners.max(axis=1)
    out = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    parts, left, search_radius = [], np.arange(len(points)), 0.5 * edge
    while len(left):
        least = np.full(len(points), np.inf)
        near = []
        for triangle, row in PointGrid(points[left], search_radius).pairs(
            low - search_radius, high + search_radius
        ):
            point = left[row]
            coordinates, squared = closest_in_triangle(points[point], corners[triangle])
            cosine = np.einsum("ki,ki->k", out[triangle], normals[point])
            penalty = _FACING_PENALTY * edge * np.maximum(_FACING_COSINE - cosine, 0.0)
            near.append(_Pairs(point, triangle, coordinates, np.sqrt(squared), penalty))
            np.minimum.at(least, point, near[-1].distance + penalty)
        is_done = least + _spread(mesh, least) <= search_radius
        parts += [pairs.chosen(is_done[pairs.point]) for pairs in near]
        left = left[~is_done[left]]
        search_radius *= 2.0
    return _Pairs.joined(parts)


def _are_joined(mesh: TetMesh, first: IndexArray, second: IndexArray) -> NDArray[np.bool_]:
    """Whether triangles (K,) and (K,) of the surface have corners that are of one tet."""
    count = len(mesh.vertices)
    keys = np.unique(count * mesh.tets.astype(np.intp)[:, :, None] + mesh.tets[:, None, :])
    one, two = mesh.surface[first].astype(np.intp), mesh.surface[second]
    pair_keys = count * one[:, :, None] + two[:, None, :]
    # The largest of all pairs is among the keys.
    return (keys[np.searchsorted(keys, pair_keys)] == pair_keys).any(axis=(1, 2))


def embed_smoothly(
    mesh: TetMesh,
    points: FloatArray,
    linear: Embedding,
    normals: FloatArray | None = None,
    is_pinned: NDArray[np.bool_] | None = None,
) -> Embedding:
    """The Phong deformation of points, linear in the vertices of the tets like any embedding.

    Every vertex a has the deformation gradient F_a of the tets around it, their mean by volume. A
    point X in a tet follows its corners by Σ b_a (x_a + F_a (X - X_a) / 2), with its barycentric
    coordinates b: the mean of linear interpolation and of the extrapolations from each corner. It
    is exact for quadratic motions where the F_a are. A point outside follows the places P of the
    boundary close to it, each by where P goes and Σ b_a F_a (X - P). Affine motions are reproduced
    exactly.

    Args:
        mesh: at rest.
        points: (V, 3) in metres.
        linear: of the same points, by ``embed``.
        normals: (V, 3) normals of their surface, which tell the opposite parts; None without a
            surface.
        is_pinned: (N,) of vertices. A point that pinned ones alone carry follows them linearly, so
            that it stands still; from there on the deformation sets in gradually.

    Returns:
        An embedding with as many columns as a point follows vertices at most.
    """
    if len(points) == 0:
        return linear
    linear_share = np.zeros(len(points))
    if is_pinned is not None:
        carried = np.abs(linear.weights)
        linear_share = (carried * is_pinned[linear.indices]).sum(axis=1) / carried.sum(axis=1)
    terms = [*_inside(mesh, points, linear), *_outside(mesh, points, linear, normals)]
    point, vertex, weight, offset = (np.concatenate(part) for part in zip(*terms, strict=True))
    weight *= 1.0 - linear_share[point]
    neighbours = vertex_gradients(mesh)
    term, column, gradient = neighbours.of(vertex)
    pulled = weight[term] * np.einsum("ki,ki->k", offset[term], gradient)
    rows, corners = np.repeat(np.arange(len(points)), 4), linear.indices.ravel()
    return _summed(
        np.concatenate([point, point[term], rows]),
        np.concatenate([vertex, column, corners]),
        np.concatenate([weight, pulled, (linear_share[:, None] * linear.weights).ravel()]),
        len(points),
    )


@dataclass(frozen=True, eq=False)
class VertexGradients:
    """Deformation gradients of vertices, F_a = Σ x_b ⊗ g_ab over the vertices b around a.

    Attributes:
        offsets: (N + 1,) where those of each vertex begin.
        vertices: (E,) b.
        gradients: (E, 3) g_ab in 1/m.
    """

    offsets: IndexArray
    vertices: IndexArray
    gradients: FloatArray

    def of(self, vertices: NDArray[np.integer[Any]]) -> tuple[IndexArray, IndexArray, FloatArray]:
        """For each of K vertices those around it: (L,) its number among the K, b and g_ab."""
        first = self.offsets[vertices]
        owner, offset = expand(self.offsets[vertices + 1] - first)
        entry = first[owner] + offset
        return owner, self.vertices[entry], self.gradients[entry]


def vertex_gradients(mesh: TetMesh) -> VertexGradients:
    """The means of the deformation gradients of the tets around vertices, by volume.

    The large shape gradients of slivers count by the area of their faces alone then.
    """
    count, tets = len(mesh.vertices), mesh.tets.astype(np.intp)
    volumes = np.bincount(tets.ravel(), np.repeat(mesh.rest_volumes, 4), minlength=count)
    share = mesh.rest_volumes[:, None] / volumes[tets]
    values = share[:, :, None, None] * mesh.shape_gradients[:, None]
    keys = (tets[:, :, None] * count + tets[:, None, :]).ravel()
    pairs, place = np.unique(keys, return_inverse=True)
    columns = values.reshape(-1, 3).T
    sums = [np.bincount(place.ravel(), column, minlength=len(pairs)) for column in columns]
    offsets = np.searchsorted(pairs, count * np.arange(count + 1))
    return VertexGradients(offsets, pairs % count, np.stack(sums, axis=1))


Terms = tuple[IndexArray, IndexArray, FloatArray, FloatArray]


def _inside(mesh: TetMesh, points: FloatArray, linear: Embedding) -> list[Terms]:
    """(K,) points in tets, their corners, (K,) weights and (K, 3) offsets that gradients act on."""
    inside = np.flatnonzero(linear.weights.min(axis=1) >= INSIDE_TOLERANCE)
    corners = linear.indices[inside]
    offsets = 0.5 * (points[inside, None] - mesh.vertices[corners])
    return [_terms(inside, corners, linear.weights[inside], offsets)]


def _outside(
    mesh: TetMesh, points: FloatArray, linear: Embedding, normals: FloatArray | None
) -> list[Terms]:
    """Return the terms of points outside, with the corners of boundary triangles close to them."""
    outside = np.flatnonzero(linear.weights.min(axis=1) < INSIDE_TOLERANCE)
    if len(outside) == 0:
        return []
    above = np.zeros((len(outside), 3)) if normals is None else normals[outside]
    near = near_boundary(mesh, points[outside], above)
    corners = mesh.surface[near.triangle]
    positions = mesh.vertices[corners]
    anchors = np.einsum("ka,kai->ki", near.coordinates, positions)
    point = outside[near.point]
    offsets = 0.5 * (anchors[:, None] - positions) + (points[point] - anchors)[:, None]
    return [_terms(point, corners, near.weights[:, None] * near.coordinates, offsets)]


def _terms(
    point: IndexArray, corners: NDArray[np.int32], weights: FloatArray, offsets: FloatArray
) -> Terms:
    points = np.repeat(point, corners.shape[1])
    return points, corners.ravel().astype(np.intp), weights.ravel(), offsets.reshape(-1, 3)


def _summed(points: IndexArray, vertices: IndexArray, weights: FloatArray, count: int) -> Embedding:
    """An embedding of ``count`` points whose weights of equal points and vertices are summed up."""
    used = weights != 0.0
    size = int(vertices.max()) + 1
    keys, place = np.unique(points[used] * size + vertices[used], return_inverse=True)
    sums = np.bincount(place.ravel(), weights[used], minlength=len(keys))
    lengths = np.bincount(keys // size, minlength=count)
    there = np.arange(lengths.max()) < lengths[:, None]
    embedding = Embedding(np.zeros(there.shape, dtype=np.int32), np.zeros(there.shape))
    embedding.indices[there], embedding.weights[there] = keys % size, sums
    return embedding
