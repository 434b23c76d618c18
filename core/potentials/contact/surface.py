# SPDX-License-Identifier: GPL-3.0-or-later
"""The collision surface of a scene: of the bodies first, then of the colliders."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from ...geometry.groups import corner_areas, expand, grouped, numbered_pairs, vertex_areas
from ...geometry.tet_mesh import TetMesh
from ...geometry.triangles import are_valid, compact_indices
from ...kernels.contact_constraints import Interpolation
from ...preparation.intersections import Surfaces, find_close
from ...preparation.pins import attached_vertices
from ...scene.collision_points import (
    attached_pair,
    attached_pairs,
    collider_surface,
    contact_distances,
)
from ...scene.contact_settings import ContactSurface
from ...scene.scene import Scene
from ...scene.soft_body import start_positions
from ...state import State

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


# The most distinct pairs of attached objects, one bit each.
MAX_BITS = 63
# Attached objects that are nearer at the start than this ratio of d̂ touch there.
TOUCHING_RATIO = 0.01
# The largest weight of unattached vertices at an attached point.
ROUNDING_RATIO = 1e-9

Triangles = NDArray[np.int32]


class _BodyPart(NamedTuple):
    """The collision surface of one body.

    Args:
        points: (V, 3) at rest, in metres.
        triangles: (F, 3) points.
        displacement_map: (V, N) matrix from the vertices of its tetrahedra to the points.
        through_own: (V,) whether a point goes through its own body.
        is_finest: (F,) whether a triangle is not there in smaller ones.
    """

    points: Points
    triangles: Indices
    displacement_map: Any
    through_own: NDArray[np.bool_]
    is_finest: NDArray[np.bool_]


class CollisionSurface:
    """The surfaces of a scene, and the displacement map from vertices of the tetrahedra to them.

    Args:
        scene: a scene with tetrahedra in all bodies.
        meshes: the tetrahedra of its bodies.
    """

    def __init__(self, scene: Scene, meshes: list[TetMesh]) -> None:
        parts = [_body_part(scene, index, mesh) for index, mesh in enumerate(meshes)]
        paths = [collider_surface(collider) for collider in scene.meshes]
        points = [*(part.points for part in parts), *(path.at(0) for path, _ in paths)]
        faces = [*(part.triangles for part in parts), *(triangles for _, triangles in paths)]
        self._paths = [path for path, _ in paths]
        self.names = [*(body.name for body in scene.bodies), *(item.name for item in scene.meshes)]
        #: The number of vertices of bodies.
        self.body_count = sum(len(part.points) for part in parts)
        #: (V,) the object that each vertex belongs to: bodies first, then colliders.
        self.object_of = np.repeat(np.arange(len(points)), [len(part) for part in points])
        #: (V,) the group that each vertex belongs to: its object's number, and O more where it
        #: goes through its own body.
        self.group_of = self.object_of.copy()
        through_own = np.concatenate([part.through_own for part in parts])
        self.group_of[: self.body_count] += len(points) * through_own
        first = np.cumsum([0, *(len(part) for part in points)])
        #: (F, 3) vertices of each triangle.
        self.triangles: Triangles = np.concatenate(
            [indices + start for indices, start in zip(faces, first, strict=False)]
        ).astype(np.int32)
        self._is_finest = np.concatenate([part.is_finest for part in parts])
        #: (B, N) matrix from vertices of the tetrahedra to those of the bodies' surfaces.
        self.displacement_map = sparse.block_diag(
            [part.displacement_map for part in parts], format="csr"
        )
        #: (B,) the vertex of the tetrahedra at each of the bodies', where there is one at each.
        self.vertex_indices = self._vertex_indices()
        #: (V, 3) of bodies at rest, of colliders at the start, in metres.
        self.rest = np.concatenate(points)
        #: (V,) painted factors on the friction; empty where nothing is.
        self.friction_factors = _friction_factors(scene, self.rest, self.object_of)
        #: Adjacency of vertices, edges and faces.
        self.topology: Topology = topology(
            self.rest, self.triangles, self.object_of, len(scene.bodies)
        )
        #: (E, 2) vertices of each edge.
        self.edges: Triangles = self.topology.edges.astype(np.int32)
        #: (O, O) whether two objects can collide, on the diagonal whether one can with itself.
        self.can_collide = _can_collide(scene)
        pairs = sorted(attached_pairs(scene))
        #: (O, O) whether two objects are one, or attached to each other from the start.
        self.are_joined = np.eye(len(self.names), dtype=bool)
        for first_one, other in _joined_at_start(scene):
            self.are_joined[first_one, other] = self.are_joined[other, first_one] = True
        #: (V,) bits, and the (O, O) bit of every two objects. A part with this bit at all corners
        #: passes through the other object.
        self.exempt, self.exempt_bits = self._exempt(scene, pairs)

    @cached_property
    def carriers(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """(V, k) vertices of the tetrahedra that carry each vertex, −1 where there are no more, and
        their weights."""
        counts = np.diff(self.displacement_map.indptr)
        shape = len(self.object_of), int(counts.max(initial=1))
        nodes, weights = np.full(shape, -1, dtype=np.int32), np.zeros(shape)
        points, places = expand(counts)
        nodes[points, places] = self.displacement_map.indices
        weights[points, places] = self.displacement_map.data
        return nodes, weights

    def interpolation(self, vertices: int) -> Interpolation:
        """Its V points by nodes: the ``vertices`` of tetrahedra, and then those of colliders."""
        nodes, weights = (each.copy() for each in self.carriers)
        bodies = self.body_count
        nodes[bodies:, 0], weights[bodies:, 0] = vertices + np.arange(len(nodes) - bodies), 1.0
        return Interpolation(nodes, weights)

    @cached_property
    def edge_lengths(self) -> NDArray[np.float64]:
        """(V,) mean of the edges at each vertex, in metres; no collider's is larger than all of
        bodies."""
        count, ends = len(self.rest), self.edges.ravel()
        lengths = np.repeat(np.sqrt(self.topology.squared_lengths), 2)
        sums, numbers = np.bincount(ends, lengths, count), np.bincount(ends, minlength=count)
        means = sums / np.maximum(numbers, 1)
        return np.minimum(means, means[: self.body_count].max(initial=0.0))

    @cached_property
    def body_areas(self) -> NDArray[np.float64]:
        """(B,) a third of the faces of bodies around each of their vertices at rest, in m², of
        faces that are there in smaller ones the smaller."""
        finest = self.triangles[: len(self._is_finest)][self._is_finest]
        return vertex_areas(self.rest[: self.body_count], finest)

    @property
    def collider_slices(self) -> list[slice]:
        """Return the slice of each collider's vertices among those of all colliders."""
        ends = np.cumsum([0, *(len(path.at(0)) for path in self._paths)])
        return [slice(a, b) for a, b in itertools.pairwise(ends)]

    def _exempt(
        self, scene: Scene, pairs: list[tuple[int, int]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the (V,) bits of exempt vertices and the (O, O) bits of object pairs. An attached
        part goes through the object that it is attached to, and so do parts of the two that are in
        contact at the start."""
        count = len(self.names)
        exempt, bits = np.zeros(len(self.rest), np.int64), np.zeros((count, count), np.int64)
        if not pairs:
            return exempt, bits
        starts = np.concatenate([start_positions(body) for body in scene.bodies])
        offsets = np.cumsum([0, *(len(start_positions(body)) for body in scene.bodies)])
        points = self.points(starts.T, self.rest[self.body_count :])
        distances, joined = contact_distances(scene), _joined_at_start(scene)
        for number, pair in enumerate(pairs):
            # Pairs beyond the last bit share it.
            bit = np.int64(1) << min(number, MAX_BITS - 1)
            bits[pair], bits[pair[::-1]] = bit, bit
            is_held = np.zeros(len(starts))
            for attachment in scene.attachments:
                if attached_pair(scene, attachment) == pair:
                    body = scene.bodies[attachment.body]
                    held = attached_vertices(body, attachment.points)
                    is_held[offsets[attachment.body] + held] = 1.0
            carried = self.displacement_map @ is_held
            exempt[: self.body_count][carried > 1.0 - ROUNDING_RATIO] |= bit
            if pair not in joined:
                continue
            is_of_pair = np.isin(self.object_of[self.triangles[:, 0]], pair)
            both = Surfaces(
                *(points, self.triangles[is_of_pair], self.object_of.astype(np.int32)),
                {(index, index) for index in pair},
            )
            near = find_close(both, TOUCHING_RATIO * float(distances[pair]))
            exempt[self.triangles[is_of_pair][near.triangles.ravel()].ravel()] |= bit
        return exempt, bits

    @staticmethod
    def group_collisions(can_collide: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(2O, 2O) whether two groups can collide, by (O, O) whether their objects can."""
        through = np.repeat([False, True], len(can_collide))
        is_own = np.tile(np.eye(len(can_collide), dtype=bool), (2, 2))
        pairs: NDArray[np.bool_] = np.tile(can_collide, (2, 2))
        return pairs & ~(is_own & (through[:, None] | through))

    def colliders_at(self, frame: int, fraction: float) -> Points:
        """(C, 3) vertices of the colliders a ``fraction`` of the way from a frame to the next."""
        if not self._paths:
            return np.empty((0, 3))
        return np.concatenate([path.at(frame, fraction) for path in self._paths])

    def colliders_in(self, state: State) -> Points:
        """(C, 3) vertices of the colliders in a state; one at the start has them where they are
        animated to be."""
        if state.colliders is not None:
            return state.colliders
        return self.colliders_at(state.frame, 0.0)

    def collider_at(self, index: int, frame: int, fraction: float) -> Points:
        """(n, 3) vertices of one of the colliders then."""
        return self._paths[index].at(frame, fraction)

    def points(self, positions: NDArray[np.floating[Any]], colliders: Points) -> Points:
        """Return the (V, 3) points of the surface.

        Args:
            positions: (3, N) of the vertices of the tetrahedra.
            colliders: (C, 3) of the colliders.
        """
        out = np.empty((len(self.object_of), 3))
        out[: self.body_count] = self.body_points(positions)
        out[self.body_count :] = colliders
        return out

    def body_points(self, positions: NDArray[np.floating[Any]]) -> Points:
        """Return the (B, 3) points of the bodies alone, from (3, N) vertices of the tetrahedra."""
        if self.vertex_indices is not None:
            return np.ascontiguousarray(positions[:, self.vertex_indices].T, dtype=np.float64)
        return self.displacement_map @ positions.T

    def pull_back(self, forces: Points) -> NDArray[np.float64]:
        """Return the (3, N) forces on the vertices of tetrahedra from (V, 3) forces on those of
        the surface."""
        return (self._gather @ forces[: self.body_count]).T

    def pull_back_matrix(self, matrix: Any) -> Any:
        """(3N, 3N) second derivative from the (3V, 3V) one; rows are 3 × vertex + component."""
        body_part = matrix.tocsr()[: 3 * self.body_count, : 3 * self.body_count]
        return self._gather_components @ body_part @ self._gather_components.T

    @cached_property
    def _gather(self) -> Any:
        return self.displacement_map.T.tocsr()

    @cached_property
    def _gather_components(self) -> Any:
        return sparse.kron(self._gather, sparse.identity(3), format="csr")

    def _vertex_indices(self) -> NDArray[np.int64] | None:
        """Return the (B,) tet vertices of the surface, where each of its vertices is one; else
        None."""
        single = np.diff(self.displacement_map.indptr) == 1
        if not (single.all() and (self.displacement_map.data == 1.0).all()):
            return None
        return self.displacement_map.indices.astype(np.int64)


def _joined_at_start(scene: Scene) -> set[tuple[int, int]]:
    """Return the pairs of objects that an attachment has held to each other since the start."""
    return {attached_pair(scene, each) for each in scene.attachments if each.since == 0}


def _friction_factors(scene: Scene, rest: Points, object_of: Indices) -> NDArray[np.float64]:
    if all(body.friction_paint is None for body in scene.bodies):
        return np.empty(0)
    factors = np.ones(len(rest))
    for index, body in enumerate(scene.bodies):
        if body.friction_paint is not None:
            is_on_body = object_of == index
            factors[is_on_body] = body.friction_paint.at(rest[is_on_body])
    return factors


def _can_collide(scene: Scene) -> NDArray[np.bool_]:
    """(O, O) bodies first: colliders do not collide with each other."""
    bodies, count = len(scene.bodies), len(scene.bodies) + len(scene.meshes)
    may = np.zeros((count, count), dtype=bool)
    may[:bodies] = may[:, :bodies] = True
    for body in scene.through_themselves:
        may[body, body] = False
    for first, second in scene.passing_pairs:
        may[first, second] = may[second, first] = False
    return may


def _body_part(scene: Scene, index: int, mesh: TetMesh) -> _BodyPart:
    surface, size = scene.bodies[index].contact_surface, len(mesh.vertices)
    if surface is None:
        used, triangles = compact_indices(mesh.surface)
        displacement_map = sparse.csr_array(
            (np.ones(len(used)), used, np.arange(len(used) + 1)), shape=(len(used), size)
        )
        exempt, is_finest = np.zeros(len(used), dtype=bool), np.ones(len(triangles), dtype=bool)
        return _BodyPart(mesh.vertices[used], triangles, displacement_map, exempt, is_finest)
    assert surface.embedding is not None
    used, triangles, through_own, is_finest = _parted(surface)
    embedding, starts = surface.embedding, 4 * np.arange(len(used) + 1)
    displacement_map = sparse.csr_array(
        (embedding.weights[used].ravel(), embedding.indices[used].ravel(), starts),
        shape=(len(used), size),
    )
    points = displacement_map @ mesh.vertices
    return _BodyPart(points, triangles, displacement_map, through_own, is_finest)


def _parted(
    surface: ContactSurface,
) -> tuple[Indices, Indices, NDArray[np.bool_], NDArray[np.bool_]]:
    """Points that are used (U,), triangles with an area (F, 3) as places in them, (U,) whether
    points go through their own body, and (F,) whether triangles are the finest. Points between
    triangles that go through their own body and others are there twice."""
    has_area = are_valid(surface.points, surface.triangles)
    keeps, spares = has_area & surface.self_collides, has_area & ~surface.self_collides
    firm, kept_triangles = compact_indices(surface.triangles[keeps])
    exempt, exempt_triangles = compact_indices(surface.triangles[spares])
    return (
        np.concatenate([firm, exempt]),
        np.concatenate([kept_triangles, exempt_triangles + len(firm)]),
        np.repeat([False, True], [len(firm), len(exempt)]),
        np.concatenate([surface.is_finest[keeps], surface.is_finest[spares]]),
    )
