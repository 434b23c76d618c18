# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels over candidates: step sizes and distances."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..compiled import compiled, shared_range
from .continuous_collision import pair_step_size
from .separation import separation
from .vectors import dot, four_points, minus


class CandidateStencils(NamedTuple):
    """The vertices of candidate pairs.

    Args:
        edge_edges: (E, 2) edges.
        face_vertices: (F, 2) a face and a vertex.
        edges: (e, 2) vertices.
        triangles: (f, 3) vertices.
    """

    edge_edges: Any
    face_vertices: Any
    edges: Any
    triangles: Any


@compiled(inline=True)
def stencil(stencils: Any, k: int) -> Any:
    """The four vertices of a pair: of the first edge and the second, or the vertex and the face's;
    and whether it is of edges. Faces come after edges."""
    if k < len(stencils.edge_edges):
        first, second = stencils.edge_edges[k, 0], stencils.edge_edges[k, 1]
        edges = stencils.edges
        return edges[first, 0], edges[first, 1], edges[second, 0], edges[second, 1], True
    own = k - len(stencils.edge_edges)
    face, triangles = stencils.face_vertices[own, 0], stencils.triangles
    vertex = stencils.face_vertices[own, 1]
    return vertex, triangles[face, 0], triangles[face, 1], triangles[face, 2], False


@compiled()
def closing_bound(m0: Any, m1: Any, m2: Any, m3: Any) -> float:
    """By how much a pair may close at most as its four points make moves, in metres."""
    most = 0.0
    for move in (m1, m2, m3):
        apart = minus(move, m0)
        most = max(most, dot(apart, apart))
    # Either part may turn the other way.
    return 2.0 * math.sqrt(most)


@compiled(parallel=True)
def step_sizes(
    stencils: Any, before: Any, after: Any, object_of: Any, min_distances: Any, out: Any
) -> None:
    """(C,) the least step size of each of so many chunks of the pairs.

    The answer of a pair does not depend on others, but for answers above a smaller one, which may
    come out at any size above it: the least of all is the same however the work is chunked.

    Args:
        object_of: (V,) objects of vertices.
        min_distances: (O, O) below which no step brings two objects, in metres.
    """
    count = len(stencils.edge_edges) + len(stencils.face_vertices)
    for chunk in shared_range(len(out)):
        least = 1.0
        for k in range(chunk, count, len(out)):
            a, b, c, d, are_edges = stencil(stencils, k)
            start, end = four_points(before, a, b, c, d), four_points(after, a, b, c, d)
            min_distance = min_distances[object_of[a], object_of[d]]
            least = min(least, pair_step_size(start, end, are_edges, min_distance, least))
        out[chunk] = least


@compiled(parallel=True)
def distances(stencils: Any, points: Any, out: Any) -> None:
    """(E + F,) of pairs in metres, or less by what rounding may do."""
    for k in shared_range(len(out)):
        a, b, c, d, are_edges = stencil(stencils, k)
        corners = four_points(points, a, b, c, d)
        out[k] = separation(corners[0], corners[1], corners[2], corners[3], are_edges)[1]


@compiled()
def vertex_min_distances(stencils: Any, pair_distances: Any, out: Any) -> None:
    """(V,) the least of what each vertex is a corner of; left as it is where there is nothing."""
    for k in range(len(pair_distances)):
        a, b, c, d, _ = stencil(stencils, k)
        for vertex in (a, b, c, d):
            out[vertex] = min(out[vertex], pair_distances[k])
