# SPDX-License-Identifier: GPL-3.0-or-later
"""Contracts surfaces that overlap a little.

The tetrahedra of a body bulge out of the mesh they were made from by part of a cell, so that bodies
which merely touch overlap. Their vertices are offset inwards until they keep a distance, and
neighbours a little with them; elasticity pushes them out again as far as contact lets it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.spatial import KDTree

from ..geometry.box_pairs import Boxes
from ..geometry.components import components
from ..geometry.tet_mesh import FACES, signed_volumes
from .initial_configuration import InitialBody, InitialConfiguration
from .intersections import Intersections, Surfaces, find_close, near_others
from .rays import segment_hits
from .surface_normals import vertex_normals

Points = NDArray[np.float64]

MAX_ROUNDS = 30
#: A vertex moves by at most so many edges of the tetrahedra. A lattice bulges out of a flat face by
#: up to three quarters of one.
MAX_DISPLACEMENT_RATIO = 1.0
#: A tet keeps at least this ratio of its volume at the start.
MIN_VOLUME_RATIO = 0.1
# The target is a somewhat larger distance than is asked for, so that rounds end.
_TARGET_DISTANCE_RATIO = 1.5
# A local centroid is the mean of so many tet vertices.
_CENTROID_NEIGHBOURS = 64
# Least cosine between a vertex's normal and that of the surface it moves away from.
_MIN_COSINE = 0.25
# Neighbours follow in so many rings of tetrahedra, and in each by this ratio of the one before.
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
    """The same of objects that the pairs connect, without others."""
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
        """(N, 3) with required displacements, and smoothed ones of neighbours."""
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
        """(V, 3) of length one, out of the body, at the points that touch."""
        positions = self.positions()
        points, outside = self.body.points(positions), np.unique(self.body.mesh.surface)
        normals = vertex_normals(points, self.body.triangles)
        hull = vertex_normals(positions, self.body.mesh.surface)[outside]
        # An artist's faces may look inward; those of the tetrahedra do not.
        nearest = KDTree(positions[outside]).query(points)[1]
        wrong = np.einsum("vi,vi->v", normals, hull[nearest]) < 0.0
        normals[wrong] *= -1.0
        # Normals alone lead nowhere on the sides of what sticks into another body.
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
        middle: Points = positions[nearest].mean(axis=1)
        return middle

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
    # Where an edge crosses an edge no vertex need be inside of anything, or only just.
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

    That does not ask what is inside of the other surface, which may be open: vertices go to the
    side of it on which their local centroid is.

    Returns:
        The vertices, the triangles of the other surface, and the (K, 3) displacements to the target
        distance from these.
    """
    count, target_distance = len(normals), _TARGET_DISTANCE_RATIO * min_distance
    points, owners = surfaces.vertices[:count], surfaces.objects[:count]
    begin = points + target_distance / _MIN_COSINE * normals
    end = points - limits[:, None] * normals
    allowed, triangles = surfaces.can_collide(), surfaces.triangles
    # Most points are near no surface that theirs meets.
    different = allowed & ~np.eye(len(allowed), dtype=bool)
    of_points = Boxes.around(surfaces.vertices[:, None])
    bounds = of_points.of_groups(surfaces.objects, len(allowed))
    ways = Boxes.around(np.stack([begin, end], axis=1))
    near = np.flatnonzero(near_others(ways, owners, bounds, different))
    of_triangles = Boxes.around(surfaces.vertices[triangles])
    all_ways = ways.of_groups(owners, len(allowed))
    faced = near_others(of_triangles, surfaces.triangle_objects, all_ways, different)
    ray, triangle, _ = segment_hits(
        begin[near], end[near], surfaces.vertices, triangles[faced], owners[near], surfaces.objects
    )
    ray, triangle = near[ray], np.flatnonzero(faced)[triangle]
    objects = np.sort(np.stack([owners[ray], surfaces.triangle_objects[triangle]]), axis=0)
    wanted = different[objects[0], objects[1]]
    ray, triangle = ray[wanted], triangle[wanted]
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
    """(N, N) that takes the mean over the neighbours of each vertex."""
    corners = tets[:, FACES].reshape(-1, 3)
    rows, columns = corners[:, [0, 1, 2]].ravel(), corners[:, [1, 2, 0]].ravel()
    ones = np.ones(2 * len(rows))
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    graph = csr_array((ones, both), (count, count))
    graph.data[:] = 1.0
    return csr_array(diags_array(1.0 / graph.sum(axis=1)) @ graph)
