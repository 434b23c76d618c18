# SPDX-License-Identifier: GPL-3.0-or-later
"""The points of bodies that collide with obstacles: those of the visible surface, else the
vertices. Activation distances: from how far surfaces push. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.groups import vertex_areas
from ..geometry.tet_mesh import TetMesh
from ..geometry.thickness import thickened
from ..geometry.triangles import compact_indices, without_degenerate, without_unreferenced
from .channel import Channel
from .contact_settings import Attachment, Collider, Ground
from .scene import Scene
from .soft_body import SoftBody, tet_mesh_of

# The least area of a point, relative to the mean area.
MIN_AREA_RATIO = 1e-3

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CollisionPoints:
    """The points of a body that collide with obstacles.

    Args:
        corners: (S, 4) vertices of the body that each follows, those of one tet one after the
            other; a point that is a vertex names it four times.
        shares: (S, 4) of each.
        areas: (S,) around each, in m².
    """

    corners: NDArray[np.int32]
    shares: FloatArray
    areas: FloatArray

    @staticmethod
    def of(body: SoftBody, mesh: TetMesh) -> CollisionPoints:
        """Return the points of the visible surface, or all vertices where there is none: one
        inside, which only a crushed body brings to the ground, has the face of a cube of its
        volume."""
        surface = body.seen_surface
        if surface is None or surface.embedding is None:
            count = len(mesh.vertices)
            corners = np.repeat(np.arange(count, dtype=np.int32)[:, None], 4, axis=1)
            shares = np.zeros((count, 4))
            shares[:, 0] = 1.0
            inside = mesh.lumped_mass(1.0) ** (2.0 / 3.0)
            areas = np.where(mesh.surface_areas > 0.0, mesh.surface_areas, inside)
            return CollisionPoints(corners, shares, areas)
        used, triangles = compact_indices(surface.triangles)
        areas = vertex_areas(surface.points[used], triangles)
        areas = np.maximum(areas, MIN_AREA_RATIO * areas.mean())
        corners = surface.embedding.indices[used]
        order = np.lexsort(corners.T)
        shares = surface.embedding.weights[used][order]
        return CollisionPoints(corners[order], shares, areas[order])

    def movable(self, free: NDArray[np.bool_], wholly: bool = False) -> CollisionPoints:
        """Return the points that any of their (N,) vertices can move, or with ``wholly`` all of
        them."""
        is_free = free[self.corners]
        mask = is_free.all(axis=1) if wholly else is_free.any(axis=1)
        return CollisionPoints(self.corners[mask], self.shares[mask], self.areas[mask])

    def at(self, positions: FloatArray) -> FloatArray:
        """Return the (S, 3) points for the (N, 3) vertices of the body."""
        return np.einsum("sk,ski->si", self.shares, positions[self.corners])


def collider_surface(collider: Collider) -> tuple[Channel, NDArray[np.int32]]:
    """Channel of the (C, 3) vertices that take part, and their (F, 3) triangles: those that have an
    area, offset to either side where it has a thickness."""
    valid = without_degenerate(collider.at(0), collider.triangles)
    used = without_unreferenced(collider.vertices.samples, valid)
    vertices, triangles = thickened(*used, collider.thickness)
    return Channel(vertices, collider.vertices.per_frame), triangles.astype(np.int32)


# In units of a body's diagonal: of the ground, onto which steps are projected, and of surfaces, for
# which searches take the fewer steps the larger it is.
GROUND_DISTANCE_RATIO, SURFACE_DISTANCE_RATIO = 1e-3, 3e-3
# At most this ratio of the mean edge of a body's tetrahedra, or its surface would push itself.
MAX_EDGE_RATIO = 0.2


def body_diagonal(body: SoftBody) -> float:
    """The diagonal of a body's mesh at rest, in metres: of the surface that collides, which the
    tetrahedra enclose, or of the tetrahedra where these collide."""
    surface = body.contact_surface or body.seen_surface
    if surface is None:
        return tet_mesh_of(body).diagonal
    return float(np.linalg.norm(np.ptp(surface.points, axis=0)))


def ground_distance(ground: Ground, body: SoftBody) -> float:
    """The distance in metres at which the ground begins to push a body."""
    return ground.distance or GROUND_DISTANCE_RATIO * body_diagonal(body)


def contact_distances(scene: Scene) -> NDArray[np.float64]:
    """(O, O) d̂ in metres of every two objects, bodies first, then mesh colliders.

    The distance of a body is a ratio of its diagonal, or less if its tetrahedra are small. Two
    objects take the smaller one, so that a small object rests as close to a large one as to a
    small one.

    Args:
        scene: with contact; its bodies have tetrahedra.

    Raises:
        SceneError: when it is longer than the tetrahedra are: a surface would push itself.
    """
    assert scene.contact is not None
    meshes = [tet_mesh_of(body) for body in scene.bodies]
    edges = [float(mesh.mean_edges.mean()) for mesh in meshes]
    chosen = scene.contact.distance
    if chosen is None:
        body_distances = [
            min(SURFACE_DISTANCE_RATIO * body_diagonal(body), MAX_EDGE_RATIO * edge)
            for body, edge in zip(scene.bodies, edges, strict=True)
        ]
        return pair_distances(body_distances, len(scene.meshes))
    shortest, body = min(zip(edges, scene.bodies, strict=True), key=lambda pair: pair[0])
    if chosen > shortest:
        raise SceneError(
            f"Contact: the distance of {chosen:.3g} m is longer than the edges of the tetrahedra "
            f"of {body.name}, {shortest:.3g} m: its surface would push itself apart. Choose at "
            f"most {MAX_EDGE_RATIO * shortest:.3g} m, or 0 for one that fits."
        )
    return pair_distances([chosen] * len(meshes), len(scene.meshes))


def pair_distances(body_distances: list[float], colliders: int) -> NDArray[np.float64]:
    """Return the (O, O) distances of object pairs in metres: the lesser of the bodies' distances.

    Colliders take the distance of the body. Two colliders never touch, so their distance is zero.
    """
    lengths = np.append(body_distances, np.full(colliders, np.inf))
    table = np.minimum.outer(lengths, lengths)
    table[len(body_distances) :, len(body_distances) :] = 0.0
    return table


def attached_pairs(scene: Scene) -> set[tuple[int, int]]:
    """Pairs of object indices, the lower one first: bodies, then mesh colliders."""
    return {attached_pair(scene, attachment) for attachment in scene.attachments}


def attached_pair(scene: Scene, attachment: Attachment) -> tuple[int, int]:
    """The two objects of one attachment."""
    other = attachment.other + (len(scene.bodies) if attachment.to == "collider" else 0)
    return min(attachment.body, other), max(attachment.body, other)
