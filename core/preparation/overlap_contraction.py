# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration that bodies begin in, and overlaps that are offset inwards.

The tetrahedra of a body bulge out of the mesh they were made from by part of a cell, so that bodies
which merely touch overlap. Their vertices are offset inwards until they keep a distance, and
neighbours a little with them; elasticity pushes them out again as far as contact lets it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.spatial import KDTree

from ..geometry.box_pairs import Boxes
from ..geometry.embedding import Embedding
from ..geometry.groups import components
from ..geometry.tet_mesh import FACES, TetMesh, signed_volumes
from ..meshing.surface import vertex_normals
from ..scene.collision_points import attached_pairs, collider_surface
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody, start_positions, tet_mesh_of
from .contact_surface import boundary_surface
from .intersections import Intersections, Surfaces, find_close, near_others, segment_hits

Points = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InitialBody:
    """A soft body at the start.

    Args:
        mesh: its tetrahedra.
        positions: (N, 3) of their vertices at the start, in metres.
        embedding: of the V points of the contact surface in the tetrahedra.
        triangles: (F, 3) indices of these points.
        through_own: (F,) whether a triangle goes through its own body.
        is_pinned: (N,) whether a vertex is pinned.
    """

    mesh: TetMesh
    positions: Points
    embedding: Embedding
    triangles: NDArray[np.int32]
    through_own: NDArray[np.bool_]
    is_pinned: NDArray[np.bool_]

    @staticmethod
    def of(body: SoftBody) -> InitialBody:
        """Raises SceneError when the body is not filled with tetrahedra yet."""
        mesh, positions = tet_mesh_of(body), start_positions(body)
        is_pinned = np.zeros(len(positions), dtype=bool)
        if body.pinned is not None:
            is_pinned[body.pinned] = True
        surface = body.contact_surface
        if surface is None or surface.embedding is None:
            surface = boundary_surface(mesh)
        assert surface.embedding is not None
        through = ~surface.self_collides
        return InitialBody(
            mesh, positions, surface.embedding, surface.triangles, through, is_pinned
        )

    def points(self, positions: Points | None = None) -> Points:
        """Return the (V, 3) points in contact for tet vertices at ``positions``, or at the
        start."""
        return self.embedding.interpolate(self.positions if positions is None else positions)


class InitialConfiguration:
    """The bodies of a scene and then its mesh colliders, numbered as objects.

    Args:
        scene: all of whose bodies have tetrahedra, with contact.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.bodies = [InitialBody.of(body) for body in scene.bodies]
        self.names = [*(body.name for body in scene.bodies), *(mesh.name for mesh in scene.meshes)]
        self._triangles = [body.triangles for body in self.bodies]
        colliders = [collider_surface(mesh) for mesh in scene.meshes]
        self._triangles += [triangles for _, triangles in colliders]
        through = [body.through_own for body in self.bodies]
        through += [np.zeros(len(triangles), dtype=bool) for _, triangles in colliders]
        self._through_own = np.concatenate(through)
        self._colliders = [path.at(0) for path, _ in colliders]

    @cached_property
    def excluded(self) -> set[tuple[int, int]]:
        """Pairs of objects that do not collide, the lower one first."""
        scene, count = self.scene, len(self.bodies)
        colliders = range(count, len(self.names))
        pairs = {(i, j) for i in colliders for j in colliders if i <= j} | attached_pairs(scene)
        pairs |= scene.passing_pairs
        return pairs | {(body, body) for body in scene.through_themselves}

    @cached_property
    def fixed(self) -> set[int]:
        """Objects that cannot be moved as a whole: colliders, and bodies that something holds."""
        fixed = set(range(len(self.bodies), len(self.names)))
        fixed |= {index for index, body in enumerate(self.bodies) if body.is_pinned.any()}
        for attachment in self.scene.attachments:
            fixed.add(attachment.body)
            if attachment.to == "body":
                fixed.add(attachment.other)
        return fixed

    @property
    def size(self) -> float:
        """The diagonal of the largest body, in metres."""
        return max(body.mesh.diagonal for body in self.bodies)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """(O + 1,) index of the first vertex of each object among the vertices of all surfaces."""
        counts = [len(body.embedding.indices) for body in self.bodies]
        counts += [len(points) for points in self._colliders]
        return np.cumsum([0, *counts])

    @cached_property
    def triangle_offsets(self) -> NDArray[np.int64]:
        """(O + 1,) the same for triangles."""
        return np.cumsum([0, *(len(triangles) for triangles in self._triangles)])

    def part(self, objects: Sequence[int]) -> InitialConfiguration:
        """Return a configuration of some of the objects, in their order, with indices from 0 on."""
        count = len(self.bodies)
        part = copy(self)
        for cached in ("excluded", "fixed", "offsets", "triangle_offsets"):
            part.__dict__.pop(cached, None)
        part.bodies = [self.bodies[index] for index in objects if index < count]
        part.names = [self.names[index] for index in objects]
        part._triangles = [self._triangles[index] for index in objects]
        part._colliders = [self._colliders[index - count] for index in objects if index >= count]
        through = np.split(self._through_own, self.triangle_offsets[1:-1])
        part._through_own = np.concatenate([through[index] for index in objects])
        return part

    def surfaces(
        self,
        positions: Sequence[Points] | None = None,
        excluded: Collection[tuple[int, int]] | None = None,
    ) -> Surfaces:
        """Everything that touches.

        Args:
            positions: (N, 3) tet vertices of each body; None is where they start.
            excluded: pairs of objects that may go through each other; None is those that do not
                collide.
        """
        points = [
            body.points(None if positions is None else positions[index])
            for index, body in enumerate(self.bodies)
        ]
        triangles = [
            indices + start for indices, start in zip(self._triangles, self.offsets, strict=False)
        ]
        owners = np.repeat(np.arange(len(self.names)), np.diff(self.offsets))
        return Surfaces(
            np.concatenate([*points, *self._colliders]),
            np.concatenate(triangles).astype(np.int32),
            owners.astype(np.int32),
            self.excluded if excluded is None else excluded,
            self._through_own,
        )


MAX_ROUNDS = 30
#: The largest displacement of a vertex, in edges of the tetrahedra. A lattice bulges out of a flat
#: face by up to three quarters of one.
MAX_DISPLACEMENT_RATIO = 1.0
#: A tet keeps at least this ratio of its volume at the start.
MIN_VOLUME_RATIO = 0.1
# The target distance relative to the required one, so that rounds end.
_TARGET_DISTANCE_RATIO = 1.5
# The number of tet vertices in a local centroid.
_CENTROID_NEIGHBOURS = 64
# Least cosine between a vertex's normal and that of the surface it moves away from.
_MIN_COSINE = 0.25
# The rings of tetrahedra in which neighbours follow, and the ratio between successive rings.
_SMOOTHING_SWEEPS, _FALLOFF_RATIO = 8, 0.75


def contract_overlap(
    configuration: InitialConfiguration, pairs: Collection[tuple[int, int]], min_distance: float
) -> list[Points] | None:
    """Start positions in which some pairs of objects do not intersect any more.

    Args:
        configuration: everything at the start.
        pairs: of objects that intersect, as ``Intersections.objects`` has them.
        min_distance: to leave between two different objects, in metres, or less where the
            tetrahedra of those are small.

    Returns:
        (N, 3) positions of the tet vertices of each body; None where vertices would have to go
        farther than an edge, through the body, or tetrahedra would lose most of their volume.
    """
    positions = [body.positions for body in configuration.bodies]
    for island in _islands(pairs):
        objects = sorted({index for pair in island for index in pair})
        place = {index: k for k, index in enumerate(objects)}
        renumbered = {(place[first], place[second]) for first, second in island}
        contracted = _contract(configuration.part(objects), renumbered, min_distance)
        if contracted is None:
            return None
        for index, moved in zip(objects, contracted, strict=False):
            positions[index] = moved
    return positions


def _islands(pairs: Collection[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Pairs that no chain of pairs connects, apart."""
    objects, ends = np.unique(np.array(list(pairs)), return_inverse=True)
    labels = components(len(objects), ends.reshape(-1, 2))[ends.reshape(-1, 2)[:, 0]]
    islands: dict[int, list[tuple[int, int]]] = {}
    for pair, label in zip(pairs, labels.tolist(), strict=True):
        islands.setdefault(label, []).append(pair)
    return list(islands.values())


def _contract(
    configuration: InitialConfiguration, pairs: Collection[tuple[int, int]], min_distance: float
) -> list[Points] | None:
    """Contract the overlap of the objects that the pairs connect, ignoring all others."""
    min_distance = min(
        min_distance, *(0.2 * body.mesh.edge_length for body in configuration.bodies)
    )
    every = combinations_with_replacement(range(len(configuration.names)), 2)
    excluded = set(every).difference(pairs)
    bodies = [_ContractedBody(body) for body in configuration.bodies]
    for _ in range(MAX_ROUNDS):
        positions = [body.positions() for body in bodies]
        surfaces = configuration.surfaces(positions, excluded)
        close = _too_close(surfaces, min_distance)
        if len(close) == 0:
            return positions if all(body.is_valid() for body in bodies) else None
        displacements = _required_displacements(
            configuration, bodies, surfaces, close, min_distance
        )
        moved = [
            body.offset_inwards(displacements[start:end])
            for body, start, end in zip(
                bodies, configuration.offsets, configuration.offsets[1:], strict=False
            )
        ]
        if not any(moved) or not all(body.is_within_limit() for body in bodies):
            return None
    return None


def _too_close(surfaces: Surfaces, min_distance: float) -> Intersections:
    close = find_close(surfaces, min_distance)
    # Folds of one surface lie as close as they like.
    keep = (close.objects[:, 0] != close.objects[:, 1]) | (close.distances == 0.0)
    return Intersections(close.triangles[keep], close.objects[keep], close.distances[keep])


class _ContractedBody:
    """A body while its surface is offset inwards."""

    def __init__(self, body: InitialBody) -> None:
        self.body = body
        self._required = np.zeros_like(body.positions)
        count = len(body.positions)
        self._neighbours = _averages(body.mesh.tets, count)
        rows = np.repeat(np.arange(len(body.embedding.indices)), 4)
        weights = np.maximum(body.embedding.weights.ravel(), 0.0)
        shape = (len(body.embedding.indices), count)
        self._weights = csr_array((weights, (rows, body.embedding.indices.ravel())), shape)
        #: (V,) how far below each of the points that touch another surface is looked for.
        self.limits = self._limits()

    def positions(self) -> Points:
        """Return the (N, 3) positions with required displacements, and smoothed ones of
        neighbours."""
        length = np.linalg.norm(self._required, axis=1, keepdims=True)
        direction = self._required / np.where(length > 0.0, length, 1.0)
        offset = self._required.copy()
        for _ in range(_SMOOTHING_SWEEPS):
            offset = _FALLOFF_RATIO * (self._neighbours @ offset)
            along = np.einsum("ni,ni->n", offset, direction)[:, None]
            # At least the required displacement, or more beside a vertex that goes farther.
            offset += np.maximum(length - along, 0.0) * direction
            offset[self.body.is_pinned] = 0.0
        return self.body.positions + offset

    def normals(self) -> Points:
        """Return the (V, 3) unit normals, out of the body, at the points in contact."""
        positions = self.positions()
        points, outside = self.body.points(positions), np.unique(self.body.mesh.surface)
        normals = vertex_normals(points, self.body.triangles)
        hull = vertex_normals(positions, self.body.mesh.surface)[outside]
        # An artist's faces may look inward; those of the tetrahedra do not.
        nearest = KDTree(positions[outside]).query(points)[1]
        wrong = np.einsum("vi,vi->v", normals, hull[nearest]) < 0.0
        normals[wrong] *= -1.0
        # Normals alone lead nowhere on the sides of a part inside of another body.
        away = points - self.local_centroids
        length = np.linalg.norm(away, axis=1, keepdims=True)
        mixed = normals + away / np.where(length > 0.0, length, 1.0)
        length = np.linalg.norm(mixed, axis=1, keepdims=True)
        return mixed / np.where(length > 0.0, length, 1.0)

    @cached_property
    def local_centroids(self) -> Points:
        """(V, 3) the centroid of the body around each of the points of its contact surface."""
        positions = self.body.positions
        count = min(_CENTROID_NEIGHBOURS, len(positions))
        nearest = KDTree(positions).query(self.body.points(), count)[1]
        return positions[nearest].mean(axis=1)

    def offset_inwards(self, displacements: Points) -> bool:
        """Moves the points that touch by (V, 3) metres; False where nothing can move."""
        moving = np.flatnonzero(displacements.any(axis=1))
        weights = self._weights[moving]
        total = weights.sum(axis=0)
        inward = weights.T @ displacements[moving]
        reached = (total > 1e-9) & ~self.body.is_pinned
        self._required[reached] += inward[reached] / total[reached, None]
        return bool(reached.any())

    def _limits(self) -> NDArray[np.float64]:
        """Two bodies may each go half the way, and no point farther than the middle of its body."""
        points, triangles = self.body.points(), self.body.triangles
        max_depth = 2.0 * MAX_DISPLACEMENT_RATIO * self.body.mesh.edge_length
        end = points - 2.0 * max_depth * self.normals()
        vertex, triangle, fraction = segment_hits(points, end, points, triangles)
        other = (triangles[triangle] != vertex[:, None]).all(axis=1)
        limits = np.full(len(points), max_depth)
        np.minimum.at(limits, vertex[other], max_depth * fraction[other])
        return limits

    def is_within_limit(self) -> bool:
        return bool(
            np.linalg.norm(self._required, axis=1).max()
            <= MAX_DISPLACEMENT_RATIO * self.body.mesh.edge_length
        )

    def is_valid(self) -> bool:
        before = signed_volumes(self.body.positions, self.body.mesh.tets)
        after = signed_volumes(self.positions(), self.body.mesh.tets)
        return bool((after > MIN_VOLUME_RATIO * before).all())


def _required_displacements(
    configuration: InitialConfiguration,
    bodies: list[_ContractedBody],
    surfaces: Surfaces,
    close: Intersections,
    min_distance: float,
) -> Points:
    """(V, 3) displacements inwards that the vertices of all bodies need."""
    count = configuration.offsets[len(bodies)]
    normals = np.concatenate([body.normals() for body in bodies])
    limits = np.concatenate([body.limits for body in bodies])
    local_centroids = np.concatenate([body.local_centroids for body in bodies])
    vertex, triangle, displacement = _penetrations(
        surfaces, normals, local_centroids, limits, min_distance
    )
    to_body = surfaces.triangle_objects[triangle] < len(bodies)
    displacement *= np.where(to_body, 0.5, 1.0)[:, None]
    displacements = np.zeros((count, 3))
    # The farthest comes last, and stays.
    order = np.argsort(np.linalg.norm(displacement, axis=1), kind="stable")
    displacements[vertex[order]] = displacement[order]
    # If an edge crosses an edge, perhaps no vertex is inside of a body, or only just.
    corners = surfaces.triangles[close.triangles].reshape(-1, 6)
    free = corners < count
    inside = np.linalg.norm(displacements, axis=1) > 0.5 * min_distance
    solved = (inside[np.where(free, corners, 0)] & free).any(axis=1)
    steps = np.where(
        close.distances == 0.0,
        2.0 * _TARGET_DISTANCE_RATIO * min_distance,
        _TARGET_DISTANCE_RATIO * min_distance - close.distances,
    )
    lengths = np.zeros(len(surfaces.vertices))
    np.maximum.at(lengths, corners[~solved].ravel(), 0.5 * np.repeat(steps[~solved], 6))
    return np.where(inside[:, None], displacements, -lengths[:count, None] * normals)


def _penetrations(
    surfaces: Surfaces,
    normals: Points,
    local_centroids: Points,
    limits: NDArray[np.float64],
    min_distance: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Points]:
    """Vertices of bodies with another surface right below their own, or too close above it.

    This does not depend on the inside of the other surface, which may be open: vertices move to
    the side of their local centroid.

    Returns:
        The vertices, the triangles of the other surface, and the (K, 3) displacements to the target
        distance from these.
    """
    count, target_distance = len(normals), _TARGET_DISTANCE_RATIO * min_distance
    points, owners = surfaces.vertices[:count], surfaces.objects[:count]
    begin = points + target_distance / _MIN_COSINE * normals
    end = points - limits[:, None] * normals
    allowed, triangles = surfaces.can_collide(), surfaces.triangles
    # Most points are not near a surface that theirs collides with.
    different = allowed & ~np.eye(len(allowed), dtype=bool)
    point_boxes = Boxes.around(surfaces.vertices[:, None])
    bounds = point_boxes.group_bounds(surfaces.objects, len(allowed))
    ways = Boxes.around(np.stack([begin, end], axis=1))
    near = np.flatnonzero(near_others(ways, owners, bounds, different))
    triangle_boxes = Boxes.around(surfaces.vertices[triangles])
    all_ways = ways.group_bounds(owners, len(allowed))
    faced = near_others(triangle_boxes, surfaces.triangle_objects, all_ways, different)
    ray, triangle, _ = segment_hits(
        begin[near], end[near], surfaces.vertices, triangles[faced], owners[near], surfaces.objects
    )
    ray, triangle = near[ray], np.flatnonzero(faced)[triangle]
    objects = np.sort(np.stack([owners[ray], surfaces.triangle_objects[triangle]]), axis=0)
    is_other = different[objects[0], objects[1]]
    ray, triangle = ray[is_other], triangle[is_other]
    a, b, c = surfaces.vertices[surfaces.triangles[triangle]].swapaxes(0, 1)
    faces = np.cross(b - a, c - a)
    faces /= np.maximum(np.linalg.norm(faces, axis=1, keepdims=True), 1e-300)
    cosine = np.einsum("ki,ki->k", faces, normals[ray])
    faces *= -np.sign(cosine)[:, None]
    depth = np.einsum("ki,ki->k", faces, a - surfaces.vertices[ray]) + target_distance
    deep = (depth > 0.0) & (np.abs(cosine) > _MIN_COSINE)
    deep &= np.einsum("ki,ki->k", faces, local_centroids[ray] - a) > 0.0
    return ray[deep], triangle[deep], depth[deep, None] * faces[deep]


def _averages(tets: NDArray[np.int32], count: int) -> csr_array:
    """Return the (N, N) matrix of the mean over the neighbours of each vertex."""
    corners = tets[:, FACES].reshape(-1, 3)
    rows, columns = corners[:, [0, 1, 2]].ravel(), corners[:, [1, 2, 0]].ravel()
    ones = np.ones(2 * len(rows))
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    graph = csr_array((ones, both), (count, count))
    graph.data[:] = 1.0
    return csr_array(diags_array(1.0 / graph.sum(axis=1)) @ graph)
