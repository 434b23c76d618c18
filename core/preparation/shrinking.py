# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws surfaces that overlap a little back into their bodies.

The tetrahedra of a body bulge out of the mesh they were made from by part of a cell, so that bodies
which merely touch overlap. Their vertices go inward until there is a gap, and the next ones a
little way with them; elasticity pushes them out again as far as there is room.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.spatial import KDTree

from ..geometry.tet_mesh import FACES, signed_volumes
from .intersections import Intersections, Surfaces, find_close
from .rays import segment_hits
from .start_shapes import StartBody, StartShapes

Points = NDArray[np.float64]

ROUNDS = 30
#: Farthest a vertex moves, in edges of the tetrahedra. A lattice bulges out of a flat face by up to
#: three quarters of one.
LIMIT = 1.0
#: Least volume of a tet afterwards, in that at the start.
LEAST_VOLUME = 0.1
# Moves aim at a somewhat larger gap than is asked for: so they end.
_AIM = 1.5
# How many tet vertices tell where most of the body is.
_AROUND = 64
# Least cosine between the way a vertex moves and the surface it moves away from, for its gap.
_SLANT = 0.25
# How far neighbours are drawn along, in rings of tetrahedra, and how much less in each.
_SWEEPS, _FALLOFF = 8, 0.75


def shrink(
    shapes: StartShapes, pairs: Collection[tuple[int, int]], gap: float
) -> list[Points] | None:
    """Start positions in which some pairs of objects do not intersect any more.

    Args:
        shapes: everything at the start.
        pairs: of objects that intersect, as ``Intersections.objects`` has them.
        gap: to leave between two different objects, in metres.

    Returns:
        (N, 3) positions of the tet vertices of each body; None where vertices would have to go
        farther than an edge, through the body, or tetrahedra would lose most of their volume.
    """
    gap = min(gap, *(0.2 * body.mesh.edge_length for body in shapes.bodies))
    bodies = [_Shrinking(body) for body in shapes.bodies]
    for _ in range(ROUNDS):
        positions = [body.positions() for body in bodies]
        surfaces = shapes.surfaces(positions)
        close = _too_close(surfaces, pairs, gap)
        if len(close) == 0:
            return positions if all(body.is_sound() for body in bodies) else None
        ways = _ways(shapes, bodies, surfaces, close, pairs, gap)
        moved = [
            body.draw_in(ways[start:end])
            for body, start, end in zip(bodies, shapes.starts, shapes.starts[1:], strict=False)
        ]
        if not any(moved) or not all(body.is_within_limit() for body in bodies):
            return None
    return None


def _too_close(surfaces: Surfaces, pairs: Collection[tuple[int, int]], gap: float) -> Intersections:
    close = find_close(surfaces, gap).of_objects(pairs)
    # Folds of one surface lie as close as they like.
    keep = (close.objects[:, 0] != close.objects[:, 1]) | (close.distances == 0.0)
    return Intersections(close.triangles[keep], close.objects[keep], close.distances[keep])


class _Shrinking:
    """A body while its surface is drawn in."""

    def __init__(self, body: StartBody) -> None:
        self.body = body
        self._need = np.zeros_like(body.positions)
        count = len(body.positions)
        self._neighbours = _averages(body.mesh.tets, count)
        rows = np.repeat(np.arange(len(body.carriers.indices)), 4)
        weights = np.maximum(body.carriers.weights.ravel(), 0.0)
        shape = (len(body.carriers.indices), count)
        self._weights = csr_array((weights, (rows, body.carriers.indices.ravel())), shape)
        #: (V,) how far below each of the points that touch another surface is looked for.
        self.limits = self._limits()

    def positions(self) -> Points:
        """(N, 3) with the neighbours of what had to move drawn along."""
        length = np.linalg.norm(self._need, axis=1, keepdims=True)
        way = self._need / np.where(length > 0.0, length, 1.0)
        offset = self._need.copy()
        for _ in range(_SWEEPS):
            offset = _FALLOFF * (self._neighbours @ offset)
            along = np.einsum("ni,ni->n", offset, way)[:, None]
            # At least what is needed, or more, beside a vertex that goes farther.
            offset += np.maximum(length - along, 0.0) * way
            offset[self.body.held] = 0.0
        return self.body.positions + offset

    def normals(self) -> Points:
        """(V, 3) of length one, out of the body, at the points that touch."""
        positions = self.positions()
        points, outside = self.body.points(positions), np.unique(self.body.mesh.surface)
        normals = _normals(points, self.body.triangles)
        hull = _normals(positions, self.body.mesh.surface)[outside]
        # An artist's faces may look inward; those of the tetrahedra do not.
        nearest = KDTree(positions[outside]).query(points)[1]
        wrong = np.einsum("vi,vi->v", normals, hull[nearest]) < 0.0
        normals[wrong] *= -1.0
        # Normals alone lead nowhere on the sides of what sticks into another body.
        away = points - self.bulk()
        length = np.linalg.norm(away, axis=1, keepdims=True)
        mixed = normals + away / np.where(length > 0.0, length, 1.0)
        length = np.linalg.norm(mixed, axis=1, keepdims=True)
        return mixed / np.where(length > 0.0, length, 1.0)

    def bulk(self) -> Points:
        """(V, 3) the middle of the body around each of the points that touch."""
        positions = self.body.positions
        count = min(_AROUND, len(positions))
        nearest = KDTree(positions).query(self.body.points(), count)[1]
        middle: Points = positions[nearest].mean(axis=1)
        return middle

    def draw_in(self, ways: Points) -> bool:
        """Moves the points that touch by (V, 3) metres; False where nothing can move."""
        moving = np.flatnonzero(ways.any(axis=1))
        weights = self._weights[moving]
        total = weights.sum(axis=0)
        inward = weights.T @ ways[moving]
        reached = (total > 1e-9) & ~self.body.held
        self._need[reached] += inward[reached] / total[reached, None]
        return bool(reached.any())

    def _limits(self) -> NDArray[np.float64]:
        """Two bodies may each go half the way, and no point farther than the middle of its body."""
        points, triangles = self.body.points(), self.body.triangles
        reach = 2.0 * LIMIT * self.body.mesh.edge_length
        end = points - 2.0 * reach * self.normals()
        vertex, triangle, share = segment_hits(points, end, points, triangles)
        other = (triangles[triangle] != vertex[:, None]).all(axis=1)
        limits = np.full(len(points), reach)
        np.minimum.at(limits, vertex[other], reach * share[other])
        return limits

    def is_within_limit(self) -> bool:
        return bool(np.linalg.norm(self._need, axis=1).max() <= LIMIT * self.body.mesh.edge_length)

    def is_sound(self) -> bool:
        before = signed_volumes(self.body.positions, self.body.mesh.tets)
        after = signed_volumes(self.positions(), self.body.mesh.tets)
        return bool((after > LEAST_VOLUME * before).all())


def _ways(
    shapes: StartShapes,
    bodies: list[_Shrinking],
    surfaces: Surfaces,
    close: Intersections,
    pairs: Collection[tuple[int, int]],
    gap: float,
) -> Points:
    """(V, 3) how far the vertices of all bodies should go inward, and in which direction."""
    count = shapes.starts[len(bodies)]
    normals = np.concatenate([body.normals() for body in bodies])
    limits = np.concatenate([body.limits for body in bodies])
    bulk = np.concatenate([body.bulk() for body in bodies])
    vertex, triangle, way = _hits(surfaces, normals, bulk, limits, gap, pairs)
    to_body = surfaces.triangle_objects[triangle] < len(bodies)
    way *= np.where(to_body, 0.5, 1.0)[:, None]
    ways = np.zeros((count, 3))
    # The farthest comes last, and stays.
    order = np.argsort(np.linalg.norm(way, axis=1), kind="stable")
    ways[vertex[order]] = way[order]
    # Where an edge crosses an edge no vertex need be inside of anything, or only just.
    corners = surfaces.triangles[close.triangles].reshape(-1, 6)
    free = corners < count
    inside = np.linalg.norm(ways, axis=1) > 0.5 * gap
    solved = (inside[np.where(free, corners, 0)] & free).any(axis=1)
    steps = np.where(close.distances == 0.0, 2.0 * _AIM * gap, _AIM * gap - close.distances)
    lengths = np.zeros(len(surfaces.vertices))
    np.maximum.at(lengths, corners[~solved].ravel(), 0.5 * np.repeat(steps[~solved], 6))
    return np.where(inside[:, None], ways, -lengths[:count, None] * normals)


def _hits(
    surfaces: Surfaces,
    normals: Points,
    bulk: Points,
    limits: NDArray[np.float64],
    gap: float,
    pairs: Collection[tuple[int, int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Points]:
    """Vertices of bodies with another surface right below their own, or closer above than a gap.

    That does not ask what is inside of the other surface, which may be open: vertices go to the
    side of it that most of their body is on, nearby.

    Returns:
        The vertices, the triangles of the other surface, and the ways straight to where there is a
        gap to these, (K, 3).
    """
    count, aim = len(normals), _AIM * gap
    points, owners = surfaces.vertices[:count], surfaces.objects[:count]
    ray, triangle, _ = segment_hits(
        points + aim / _SLANT * normals,
        points - limits[:, None] * normals,
        surfaces.vertices,
        surfaces.triangles,
        owners,
        surfaces.objects,
    )
    objects = np.sort(np.stack([owners[ray], surfaces.triangle_objects[triangle]]), axis=0)
    wanted = np.zeros(len(ray), dtype=bool)
    for first, second in pairs:
        wanted |= (objects[0] == first) & (objects[1] == second)
    ray, triangle = ray[wanted], triangle[wanted]
    a, b, c = surfaces.vertices[surfaces.triangles[triangle]].swapaxes(0, 1)
    faces = np.cross(b - a, c - a)
    faces /= np.maximum(np.linalg.norm(faces, axis=1, keepdims=True), 1e-300)
    slant = np.einsum("ki,ki->k", faces, normals[ray])
    faces *= -np.sign(slant)[:, None]
    depth = np.einsum("ki,ki->k", faces, a - surfaces.vertices[ray]) + aim
    deep = (depth > 0.0) & (np.abs(slant) > _SLANT)
    deep &= np.einsum("ki,ki->k", faces, bulk[ray] - a) > 0.0
    return ray[deep], triangle[deep], depth[deep, None] * faces[deep]


def _normals(points: Points, triangles: NDArray[np.int32]) -> Points:
    """(V, 3) of length one, the mean of the faces around each vertex by their areas."""
    a, b, c = points[triangles].swapaxes(0, 1)
    normals = np.zeros_like(points)
    np.add.at(normals, triangles, np.cross(b - a, c - a)[:, None])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return normals / np.where(length > 0.0, length, 1.0)


def _averages(tets: NDArray[np.int32], count: int) -> csr_array:
    """(N, N) that takes the mean over the neighbours of each vertex."""
    corners = tets[:, FACES].reshape(-1, 3)
    rows, columns = corners[:, [0, 1, 2]].ravel(), corners[:, [1, 2, 0]].ravel()
    ones = np.ones(2 * len(rows))
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    graph = csr_array((ones, both), (count, count))
    graph.data[:] = 1.0
    return csr_array(diags_array(1.0 / graph.sum(axis=1)) @ graph)
