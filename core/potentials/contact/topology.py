# SPDX-License-Identifier: GPL-3.0-or-later
"""Adjacency of the vertices and edges of a surface, as arrays for the kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry.groups import corner_areas, grouped, numbered_pairs, vertex_areas

Points = NDArray[np.float64]
Values = NDArray[np.float64]
Indices = NDArray[np.int64]


class Topology(NamedTuple):
    """The topology of a collision surface with V vertices, E edges and F faces of O objects.

    Args:
        edges: (E, 2) vertices.
        faces: (F, 3) vertices.
        face_edges: (F, 3) edges, from corner 0 to 1 and so on.
        object_of: (V,) objects.
        body_objects: the number of objects that are bodies; those come first.
        vertex_edges: edges at each vertex, those of v from ``vertex_offsets[v]`` on.
        edge_corners: vertices opposite of each edge, those of e from ``edge_offsets[e]`` on.
        vertex_characteristics: (V,) Euler's characteristic of the surroundings of a vertex, one
            plus its faces minus its edges: 1 inside of a surface, 0 at its border.
        squared_lengths: (E,) of edges at rest, in m².
        vertex_areas: (V,) a third of the faces around a vertex at rest, in m².
        edge_areas: (E,) a third of the faces around an edge at rest, in m².
        mean_vertex_areas: (O,) of the vertices of an object, in m².
        mean_edge_areas: (O,) of the edges of an object, in m².
    """

    edges: Indices
    faces: Indices
    face_edges: Indices
    object_of: Indices
    body_objects: int
    vertex_offsets: Indices
    vertex_edges: Indices
    edge_offsets: Indices
    edge_corners: Indices
    vertex_characteristics: Indices
    squared_lengths: Values
    vertex_areas: Values
    edge_areas: Values
    mean_vertex_areas: Values
    mean_edge_areas: Values


def topology(
    rest: Points,
    faces: NDArray[np.integer[Any]],
    object_of: NDArray[np.integer[Any]],
    body_objects: int,
) -> Topology:
    """Build the topology of a surface at rest.

    Args:
        rest: (V, 3) positions in metres.
        faces: (F, 3) vertices, all different, of triangles with an area.
        object_of: (V,) objects.
        body_objects: the number of objects that are bodies.
    """
    faces, object_of = contiguous(faces), contiguous(object_of)
    sides = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    edges, face_edges = numbered_pairs(np.sort(sides, axis=1))
    corners = np.roll(faces, 1, axis=1)
    order, vertex_offsets = grouped(edges.ravel(), len(rest))
    at_edges, edge_offsets = grouped(face_edges, len(edges))
    faces_around = np.bincount(faces.ravel(), minlength=len(rest))
    areas_at_vertices = vertex_areas(rest, faces)
    areas_at_edges = _sums(corner_areas(rest, faces), face_edges, len(edges))
    along = rest[edges[:, 1]] - rest[edges[:, 0]]
    return Topology(
        edges=edges,
        faces=faces,
        face_edges=contiguous(face_edges.reshape(-1, 3)),
        object_of=object_of,
        body_objects=body_objects,
        vertex_offsets=vertex_offsets,
        vertex_edges=contiguous(order // 2),
        edge_offsets=edge_offsets,
        edge_corners=contiguous(corners.ravel()[at_edges]),
        vertex_characteristics=contiguous(1 + faces_around - np.diff(vertex_offsets)),
        squared_lengths=np.einsum("ei,ei->e", along, along),
        vertex_areas=areas_at_vertices,
        edge_areas=areas_at_edges,
        mean_vertex_areas=_means(areas_at_vertices, object_of),
        mean_edge_areas=_means(areas_at_edges, object_of[edges[:, 0]]),
    )


def contiguous(indices: NDArray[np.integer[Any]]) -> Indices:
    """As compiled loops take them."""
    return np.ascontiguousarray(indices, dtype=np.int64)


def _means(values: Values, groups: Indices) -> Values:
    count = int(groups.max(initial=-1)) + 1
    numbers = np.bincount(groups, minlength=count)
    return _sums(values, groups, count) / np.maximum(numbers, 1)


def _sums(values: Values, groups: NDArray[np.integer[Any]], count: int) -> Values:
    return np.bincount(groups, weights=values, minlength=count).astype(np.float64)
