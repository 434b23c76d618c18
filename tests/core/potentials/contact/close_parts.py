# SPDX-License-Identifier: GPL-3.0-or-later
"""Single bodies above a triangle whose closest features are of one kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from supple.core import Collider, Contact, Scene, SoftBody, TetMesh
from supple.core.kernels.collisions import POINT_EDGE, POINT_FACE, POINTS
from supple.core.potentials.contact.barrier import ContactBarrier
from supple.core.potentials.contact.collision_detection import Detection
from supple.core.potentials.contact.normal_collisions import NormalCollisions, Stencils
from supple.core.potentials.contact.surface import CollisionSurface, Points

REACH, STIFFNESS = 0.05, 1e5
GAP = 0.4 * REACH
TRIANGLE = np.array([[-5.0, -5, 0], [5, -5, 0], [0, 9, 0]])
#: Seen along y it is a line, whose upper edge is long.
FENCE = np.array([[-9.0, 0, 0], [9, 0, 0], [0, 0, -9]])
#: Its corner points up.
THORN = np.array([[0.0, 0, 0], [0.1, 0.1, -9], [-0.1, 0.1, -9]])
DART = np.array([[0.0, 0, GAP], [0.3, 0, 2], [-0.2, 0.3, 2], [-0.2, -0.3, 2]])
#: Its lowest edge lies along y.
ROOF = np.array([[0.0, -0.4, GAP], [0.0, 0.4, GAP], [0.4, 0.1, 2], [-0.4, 0.1, 2]])
#: Its lowest edge is turned against the fence by little enough to be taken for almost parallel.
SLANTED = np.array([[-0.4, -0.004, GAP], [0.4, 0.004, GAP], [0.1, 0.4, 2], [0.1, -0.4, 2]])

#: What is close, over what, and the features of that.
KINDS = {
    "two points": (DART, THORN, [POINTS]),
    "a point and an edge": (DART, FENCE, [POINT_EDGE]),
    "two edges": (ROOF, FENCE, range(POINTS)),
    "a point and a triangle": (DART, TRIANGLE, [POINT_FACE]),
}


@dataclass(frozen=True, eq=False)
class Close:
    surface: CollisionSurface
    barrier: ContactBarrier
    points: Points
    collisions: NormalCollisions

    def stencils(self, points: Points | None = None) -> Stencils:
        """The collisions at other (V, 3) points."""
        return Stencils.of(self.collisions, self.points if points is None else points)


def close(bodies: list[TetMesh], collider: Points, area_weighted: bool) -> Close:
    """The close parts of bodies, the first of which is not close to anything."""
    scene = Scene(
        [SoftBody(mesh, name=f"Body {number}") for number, mesh in enumerate(bodies)],
        colliders=[Collider(collider, [[0, 1, 2]])],
        contact=Contact(distance=REACH),
    )
    surface = CollisionSurface(scene, bodies)
    rest = np.concatenate([mesh.vertices for mesh in bodies])
    points = surface.points(rest.T, surface.colliders_at(0, 0.0))
    barrier = ContactBarrier(surface, STIFFNESS, area_weighted)
    return Close(surface, barrier, points, collisions_at(surface, points, area_weighted))


def collisions_at(
    surface: CollisionSurface, points: Points, area_weighted: bool
) -> NormalCollisions:
    """The collisions closer than ``REACH`` at (V, 3) points."""
    distances = np.full((len(surface.names),) * 2, REACH)
    detection = Detection(surface, distances)
    detection.build_swept_candidates(points, points)
    return NormalCollisions.of(
        detection.candidates, points, surface.topology, distances, area_weighted
    )


def tet(corners: Points) -> TetMesh:
    return TetMesh(corners, [[0, 1, 2, 3]])


FAR = tet(DART + np.array([0.0, 0.0, 50.0]))
