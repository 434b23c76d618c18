# SPDX-License-Identifier: GPL-3.0-or-later
"""Primitives closer than their activation distance, and the weights of these collisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...kernels import collisions as kernels
from ...kernels.collisions import (
    EDGE_EDGE,
    EDGE_VERTEX,
    FACE_VERTEX,
    FAR,
    PARALLEL_SHARE,
    POINT_EDGE,
    POINT_FACE,
    POINTS,
    evaluate_stencils,
    fill_normal_jacobians,
    find_edge_edges,
    find_face_vertices,
)
from ...kernels.rest_distance import limit_activation
from .collision_detection import Candidates
from .surface import CollisionSurface, Indices, Points, Topology, Values, contiguous

# Weights that cancel leave less than this ratio of their summands.
WEIGHT_ROUNDING_RATIO = 1e-12


@dataclass(frozen=True, eq=False)
class NormalCollisions:
    """K collisions, sorted by their primitives.

    Args:
        vertices: (K, 4) of two vertices, a vertex and an edge, two edges, or a vertex and a face;
            where there are fewer, the last is repeated.
        objects: (K, 2) those of the two parts, the lower one first.
        features: (K,) ``POINTS``, ``POINT_EDGE`` or ``POINT_FACE``, else the code of two edges.
        weights: (K,) in m², or how many pairs have the same closest features.
        distances: (K,) d̂ of the two objects, in metres.
        thresholds: (K,) of the squared cross product of two edges, below which they are mollified,
            in m⁴; else 0.
    """

    vertices: Indices
    objects: Indices
    features: Indices
    weights: Values
    distances: Values
    thresholds: Values

    def __len__(self) -> int:
        return len(self.weights)

    def where(self, mask: NDArray[np.bool_]) -> NormalCollisions:
        """Return the collisions chosen by a (K,) mask."""
        return NormalCollisions(*(column[mask] for column in vars(self).values()))

    @staticmethod
    def of(
        candidates: Candidates,
        points: Points,
        mesh: Topology,
        distances: Values,
        area_weighted: bool,
        surface: CollisionSurface | None = None,
    ) -> NormalCollisions:
        """Find the collisions among candidates at (V, 3) points.

        Args:
            distances: (O, O) d̂ of every two objects, in metres.
            area_weighted: whether weights are areas, each counted once; else they are counts.
            surface: the collision surface. Its connected parts that are near at rest push from
                nearer (``kernels/rest_distance``), and attached parts may pass through others;
                None for neither.
        """
        points = np.ascontiguousarray(points)
        contributions = _contributions(candidates, points, mesh, distances, area_weighted)
        keys, weights = (np.concatenate(column) for column in zip(*contributions, strict=True))
        order = np.argsort(keys, kind="stable")
        order = order[np.searchsorted(keys, 0, sorter=order) :]
        keys, weights = keys[order], weights[order]
        first = np.flatnonzero(np.diff(keys, prepend=FAR))
        totals, sizes = _sums(weights, first), _sums(np.abs(weights), first)
        mask = np.abs(totals) > WEIGHT_ROUNDING_RATIO * sizes
        collisions = _collisions(keys[first[mask]], totals[mask], mesh, distances)
        return collisions if surface is None else collisions._pushing(surface, points, mesh)

    def _pushing(
        self, surface: CollisionSurface, points: Points, mesh: Topology
    ) -> NormalCollisions:
        """Return the collisions that push, with shorter distances where joined parts are near at
        rest."""
        is_near = np.empty(len(self), dtype=bool)
        pair_data = self.vertices, self.features, self.objects, surface.are_joined
        limit_activation(*pair_data, mesh, surface.rest, points, self.distances, is_near)
        pushes = is_near & ~self._are_exempt(surface)
        return self if pushes.all() else self.where(pushes)

    def _are_exempt(self, surface: CollisionSurface) -> NDArray[np.bool_]:
        """(K,) whether one of the two parts goes through the other's object."""
        bits = surface.exempt_bits[self.objects[:, 0], self.objects[:, 1]]
        if not bits.any():
            return np.zeros(len(self), dtype=bool)
        are_exempt = (surface.exempt[self.vertices] & bits[:, None]) != 0
        are_edges = self.features < POINTS
        first = are_exempt[:, 0] & (are_exempt[:, 1] | ~are_edges)
        second = are_exempt[:, 2:].all(axis=1) & (are_exempt[:, 1] | are_edges)
        return first | second


def _contributions(
    candidates: Candidates, points: Points, mesh: Topology, distances: Values, area_weighted: bool
) -> list[tuple[Indices, Values]]:
    """Return keys of collisions, some of them repeated or ``FAR``, and the summands of their
    weights. Only the order of the candidates decides the order."""
    squared = distances * distances
    codes = np.empty(len(candidates.edge_edges), dtype=np.int64)
    find_edge_edges(points, mesh, candidates.edge_edges, squared, codes)
    edges, codes = contiguous(candidates.edge_edges[codes != FAR]), codes[codes != FAR]
    codes_of_faces = np.empty(len(candidates.face_vertices), dtype=np.int64)
    find_face_vertices(points, mesh, candidates.face_vertices, squared, codes_of_faces)
    faces, codes_of_faces = (
        contiguous(candidates.face_vertices[codes_of_faces != FAR]),
        codes_of_faces[codes_of_faces != FAR],
    )
    edge_terms, face_terms = _empty(len(edges)), _empty(len(faces))
    kernels.weigh_edge_edges(mesh, edges, codes, area_weighted, *edge_terms)
    kernels.weigh_face_vertices(mesh, faces, codes_of_faces, area_weighted, *face_terms)
    if not area_weighted:
        return [edge_terms, face_terms]
    return [
        edge_terms,
        face_terms,
        _crossing_excess(points, mesh, edges, squared),
        *_face_excess(points, mesh, faces, squared),
    ]


def _crossing_excess(
    points: Points, mesh: Topology, pairs: Indices, squared: Values
) -> tuple[Indices, Values]:
    """Return the surplus of the edges at a vertex that is close to another edge."""
    near = np.empty((len(pairs), 4), dtype=np.int64)
    kernels.ends_near_edges(points, mesh, pairs, squared, near)
    edges, vertices = _edges_and_vertices(_different(near), mesh)
    slots = 1 + np.diff(mesh.vertex_offsets)[vertices]
    offsets = np.concatenate([[0], np.cumsum(slots)])
    result = _empty(int(offsets[-1]))
    kernels.add_crossing_excesses(points, mesh, edges, vertices, offsets, *result)
    return result


def _face_excess(
    points: Points, mesh: Topology, pairs: Indices, squared: Values
) -> list[tuple[Indices, Values]]:
    """Return the surplus of the faces around an edge, and of all faces around a corner."""
    near = np.empty((len(pairs), 6), dtype=np.int64)
    kernels.vertices_near_faces(points, mesh, pairs, squared, near)
    edges, vertices = _edges_and_vertices(_different(near[:, :3]), mesh)
    edge_terms = _empty(len(edges))
    kernels.add_face_excesses(points, mesh, edges, vertices, *edge_terms)
    keys = _different(near[:, 3:])
    corner_terms = keys, np.empty(len(keys))
    kernels.add_corner_excesses(mesh, *np.divmod(keys, len(mesh.object_of)), corner_terms[1])
    return [edge_terms, corner_terms]


def _different(keys: Indices) -> Indices:
    """Each key once, ``FAR`` left out."""
    unique = np.unique(keys)
    return unique[np.searchsorted(unique, 0) :]


def _edges_and_vertices(keys: Indices, mesh: Topology) -> tuple[Indices, Indices]:
    return np.divmod(keys - EDGE_VERTEX, len(mesh.object_of))


def _collisions(
    keys: Indices, weights: Values, mesh: Topology, distances: Values
) -> NormalCollisions:
    """Build the collisions of (K,) ascending keys."""
    bounds = np.searchsorted(keys, [EDGE_VERTEX, EDGE_EDGE, FACE_VERTEX])
    points, point_edges, edges, point_faces = np.split(keys, bounds)
    number = len(mesh.object_of)
    first, second = np.divmod(points, number)
    edge, tip = _edges_and_vertices(point_edges, mesh)
    both, codes = np.divmod(edges - EDGE_EDGE, 9)
    one, other = np.divmod(both, len(mesh.edges))
    face, apex = np.divmod(point_faces - FACE_VERTEX, number)
    vertices = np.concatenate(
        [
            np.column_stack([first, second, second, second]),
            np.column_stack([tip, mesh.edges[edge], mesh.edges[edge, 1]]),
            np.column_stack([mesh.edges[one], mesh.edges[other]]),
            np.column_stack([apex, mesh.faces[face]]),
        ]
    )
    features = np.repeat(
        [POINTS, POINT_EDGE, 0, POINT_FACE], [len(points), len(edge), len(edges), len(face)]
    )
    features[bounds[1] : bounds[2]] = codes
    thresholds = np.zeros(len(keys))
    lengths = mesh.squared_lengths
    thresholds[bounds[1] : bounds[2]] = PARALLEL_SHARE * lengths[one] * lengths[other]
    objects = np.sort(mesh.object_of[vertices[:, [0, 3]]], axis=1)
    dhats = distances[objects[:, 0], objects[:, 1]]
    return NormalCollisions(vertices, objects, features, weights, dhats, thresholds)


def _empty(size: int) -> tuple[Indices, Values]:
    return np.empty(size, dtype=np.int64), np.empty(size)


def _sums(values: Values, offsets: NDArray[np.intp]) -> Values:
    return np.add.reduceat(values, offsets) if len(offsets) > 0 else np.empty(0)


@dataclass(frozen=True, eq=False)
class Stencils:
    """Collisions where their vertices are now: each of two closest points, whose difference is
    Σ c_i x_i.

    Args:
        collisions: K of them.
        points: (V, 3) in metres.
        differences: (K, 3) in metres.
        coefficients: (K, 4) c, zero for vertices that are repeated.
        mollifiers: (K,) 1, but less for edges that are almost parallel, whose closest points are
            ill-defined.
    """

    collisions: NormalCollisions
    points: Points
    differences: Points
    coefficients: Values
    mollifiers: Values

    @staticmethod
    def of(collisions: NormalCollisions, points: Points) -> Stencils:
        """At (V, 3) points, where features may be closest that were not when they were found."""
        points, count = np.ascontiguousarray(points), len(collisions)
        differences, coefficients = np.empty((count, 3)), np.empty((count, 4))
        mollifiers = np.empty(count)
        collision_data = collisions.vertices, collisions.features, collisions.thresholds
        evaluate_stencils(points, *collision_data, differences, coefficients, mollifiers)
        return Stencils(collisions, points, differences, coefficients, mollifiers)

    def where(self, mask: NDArray[np.bool_]) -> Stencils:
        """Return the stencils chosen by a (K,) mask."""
        return Stencils(
            self.collisions.where(mask),
            self.points,
            self.differences[mask],
            self.coefficients[mask],
            self.mollifiers[mask],
        )

    def __len__(self) -> int:
        return len(self.collisions)

    @property
    def weights(self) -> Values:
        """(K,) weights of collisions times mollifiers."""
        return self.collisions.weights * self.mollifiers

    @cached_property
    def distances(self) -> Values:
        """Return the (K,) distances in metres."""
        return np.asarray(np.sqrt(np.einsum("ki,ki->k", self.differences, self.differences)))

    @cached_property
    def normals(self) -> Points:
        """Return the (K, 3) unit normals along the differences."""
        return self.differences / self.distances[:, None]

    @cached_property
    def normal_jacobians(self) -> Points:
        """(K, 4, 3) w, in 1/m: as vertices go by δx_i, the normal n turns by Σ w_i n·δx_i in the
        directions that the parts have. Between two points it is zero."""
        jacobians, collisions = np.empty((len(self), 4, 3)), self.collisions
        fill_normal_jacobians(self.points, collisions.vertices, collisions.features, jacobians)
        return jacobians


class PairHessians(Protocol):
    """Second derivatives by the vertices of pairs."""

    @property
    def vertices(self) -> Indices:
        """Return the (K, 4) vertices that each pair lies between; any may be there twice."""

    def __len__(self) -> int: ...

    def matrices(self) -> Values:
        """Return the (K, 12, 12) matrices of each pair, in N/m; rows are 3 × vertex + component."""


@dataclass(frozen=True, eq=False)
class HessianFactors:
    """Return the matrix of Σ w (Σ_i r_i · x_i)², positive semi-definite for any rows.

    Args:
        vertices: (K, 4) that each pair lies between; any may be there twice.
        rows: (K, R, 4, 3) r, by vertex and component.
        weights: (K, R) w, none of them negative, in N/m for rows without units.
    """

    vertices: Indices
    rows: Values
    weights: Values

    def __len__(self) -> int:
        return len(self.vertices)

    def matrices(self) -> Values:
        """Return the (K, 12, 12) matrices of each pair."""
        # Both factors are the same, and so the products are symmetric to the last bit.
        roots = np.sqrt(self.weights)[:, :, None] * self.rows.reshape(*self.weights.shape, 12)
        return np.asarray(roots.swapaxes(1, 2) @ roots)


def assembled(parts: Sequence[PairHessians], count: int) -> Any:
    """Return the (3V, 3V) sum over ``count`` vertices as unique blocks in ascending order; rows
    are 3 × vertex + component."""
    vertices = np.concatenate([part.vertices for part in parts])
    blocks, end = np.empty((len(vertices), 4, 4, 3, 3)), 0
    for part in parts:
        start, end = end, end + len(part)
        blocks[start:end] = part.matrices().reshape(-1, 4, 3, 4, 3).swapaxes(2, 3)
    rows, columns = np.repeat(vertices, 4, axis=1).ravel(), np.tile(vertices, 4).ravel()
    order = _sorted(columns, count)
    order = order[_sorted(rows[order], count)]
    keys = rows[order] * count + columns[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    offsets = np.append(first, len(keys))
    gather = sparse.csr_array((np.ones(len(keys)), order, offsets), shape=(len(first), len(keys)))
    total = (gather @ blocks.reshape(-1, 9)).reshape(-1, 3, 3)
    different = keys[first]
    bounds = np.searchsorted(different, count * np.arange(count + 1))
    return sparse.bsr_array(
        (total, different % count, bounds), shape=(3 * count, 3 * count), blocksize=(3, 3)
    )


def _sorted(indices: Indices, count: int) -> NDArray[np.int32]:
    """Return the stable order of indices below ``count``. A counting sort, as for columns of a
    sparse matrix, takes a third of the time of a comparison sort."""
    size = len(indices)
    entries = (np.ones(size, dtype=np.int8), indices, np.arange(size + 1))
    return sparse.csr_array(entries, shape=(size, count)).tocsc().indices


# It takes the place of zero, which nothing can be divided by.
MIN_NORM = 1e-300


def distance_hessian_factors(
    stencils: Stencils, forces: Values, second_derivatives: Values
) -> HessianFactors:
    """The second derivative of Σ e(d), d the distances, bounded from above by sums of squares.

    With unit normal n, displacement δ = Σ c_i δx_i and force F = −e' it is

        e'' (n·δ)² − F d''

    where d'' is the second derivative of the distance. In a direction t along an edge or in a face
    that is close, σ = t·δ is the tangential displacement, and the normal turns by
    τ = Σ t·w_i n·δx_i:

        d'' = Σ_t (2 σ τ − d τ²) = Σ_t 2 s τ,  s = σ − ½ d τ

    In others d'' is not negative, and left out. For each t, the first square of −2 s τ = ((s − L
    τ)² − (s + L τ)²) / 2L is kept. L makes s and L τ as large as each other; then it is its whole
    positive part.

    Args:
        forces: (K,) F of each, in newtons, none negative.
        second_derivatives: (K,) e'' in N/m, none negative.
    """
    coefficients, normals = stencils.coefficients[:, :, None], stencils.normals
    jacobians = stencils.normal_jacobians
    rows, weights = [coefficients * normals[:, None]], [second_derivatives]
    for tangents in _tangents(jacobians, normals):
        rotations = np.einsum("kai,ki->ka", jacobians, tangents)
        displacements = coefficients * tangents[:, None]
        rotated = rotations[:, :, None] * normals[:, None]
        displacements -= (0.5 * stencils.distances)[:, None, None] * rotated
        displacement_norms, rotation_norms = _norms(displacements), _norms(rotated)
        inverse = rotation_norms / np.maximum(displacement_norms, MIN_NORM)
        lever = np.divide(
            displacement_norms,
            rotation_norms,
            out=np.zeros(len(displacement_norms)),
            where=rotation_norms > 0.0,
        )
        rows.append(displacements - lever[:, None, None] * rotated)
        weights.append(0.5 * forces * inverse)
    vertices = stencils.collisions.vertices
    return HessianFactors(vertices, np.stack(rows, axis=1), np.stack(weights, axis=1))


def _tangents(jacobians: Points, normals: Points) -> tuple[Points, Points]:
    """Two (K, 3) unit tangents, the first one along the normal Jacobian of an edge's ends."""
    # Only one of two edges may have its closest point inside.
    along = np.where(jacobians[:, 1].any(axis=1)[:, None], jacobians[:, 1], jacobians[:, 2])
    first = along - np.einsum("ki,ki->k", along, normals)[:, None] * normals
    first = first / np.maximum(np.linalg.norm(first, axis=1), MIN_NORM)[:, None]
    return first, np.cross(normals, first)


def _norms(rows: Points) -> Values:
    return np.asarray(np.sqrt(np.einsum("kai,kai->k", rows, rows)))
