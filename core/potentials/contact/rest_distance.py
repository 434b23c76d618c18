# SPDX-License-Identifier: GPL-3.0-or-later
"""The activation distance of a body and itself: at rest it must not push."""

from __future__ import annotations

import numpy as np

from ...scene.contact_distances import contact_distances
from ...scene.scene import Scene
from .broad_phase import BroadPhase
from .detection import SEARCH_RADIUS_RATIO
from .normal_collisions import NormalCollisions
from .stencils import Stencils
from .surface import CollisionSurface
from .topology import Values

# However near its parts are at rest, a body pushes itself from this share of the distance at which
# it does others: from nearer, steps that bring parts together would have to be short.
MIN_DISTANCE_RATIO = 0.25


def surface_distances(scene: Scene, surface: CollisionSurface) -> Values:
    """(O, O) d̂ in metres of every two objects, as ``contact_distances``; but unless one is chosen,
    that of a body and itself is no longer than its parts are apart at rest: fingers side by side,
    and the faces of a fine mesh.

    Args:
        scene: with contact; its bodies have tetrahedra.
        surface: what of it touches.
    """
    assert scene.contact is not None
    distances, bodies = contact_distances(scene), len(scene.bodies)
    if scene.contact.distance is not None:
        return distances
    own = np.diag(np.diag(surface.can_collide) & (np.arange(len(distances)) < bodies))
    if not own.any():
        return distances
    radii = 0.5 * SEARCH_RADIUS_RATIO * np.diag(distances)[surface.object_of]
    parts = surface.rest, surface.edges, surface.triangles, surface.group_of
    broad_phase = BroadPhase(*parts, surface.by_groups(own))
    found = broad_phase.candidates(surface.rest, surface.rest, radii)
    near = NormalCollisions.of(found, surface.rest, surface.topology, distances, False)
    spared = distances.copy()
    least = np.diag(distances).copy()
    np.minimum.at(least, near.objects[:, 0], Stencils.of(near, surface.rest).distances)
    np.fill_diagonal(spared, np.maximum(least, MIN_DISTANCE_RATIO * np.diag(distances)))
    return spared
