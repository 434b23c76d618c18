# SPDX-License-Identifier: GPL-3.0-or-later
"""The points of bodies that collide with obstacles: those of the visible surface, else the
vertices. No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..geometry.groups import vertex_areas
from ..geometry.tet_mesh import TetMesh
from ..geometry.thickness import thickened
from ..geometry.triangles import compact_indices, without_degenerate, without_unreferenced
from .channel import Channel
from .contact_settings import Collider
from .soft_body import SoftBody

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
        volume.
        """
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
        them.
        """
        is_free = free[self.corners]
        mask = is_free.all(axis=1) if wholly else is_free.any(axis=1)
        return CollisionPoints(self.corners[mask], self.shares[mask], self.areas[mask])

    def at(self, positions: FloatArray) -> FloatArray:
        """Return the (S, 3) points for the (N, 3) vertices of the body."""
        points: FloatArray = np.einsum("sk,ski->si", self.shares, positions[self.corners])
        return points


def collider_surface(collider: Collider) -> tuple[Channel, NDArray[np.int32]]:
    """Channel of the (C, 3) vertices that take part, and their (F, 3) triangles: those that have an
    area, offset to either side where it has a thickness."""
    valid = without_degenerate(collider.at(0), collider.triangles)
    used = without_unreferenced(collider.vertices.samples, valid)
    vertices, triangles = thickened(*used, collider.thickness)
    return Channel(vertices, collider.vertices.per_frame), triangles.astype(np.int32)
