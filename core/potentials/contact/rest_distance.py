# SPDX-License-Identifier: GPL-3.0-or-later
"""From how near a body pushes itself: at rest it must not."""

from __future__ import annotations

import numpy as np

from ...scene.scene import Scene
from .broad_phase import BroadPhase
from .detection import MARGIN
from .distance import contact_distances
from .normal_collisions import NormalCollisions
from .stencils import Stencils
from .surface import CollisionSurface
from .topology import Values

# However near its parts are at rest, a body pushes itself from this share of the distance at which
# it does others: from nearer, steps that bring parts together would have to be short.
LEAST = 0.25


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
    own = np.diag(np.diag(surface.may_meet) & (np.arange(len(distances)) < bodies))
    if not own.any():
        return distances
    reach = 0.5 * MARGIN * np.diag(distances)[surface.object_of]
    parts = surface.rest, surface.edges, surface.triangles, surface.group_of
    broad_phase = BroadPhase(*parts, surface.by_groups(own))
    found = broad_phase.candidates(surface.rest, surface.rest, reach)
    near = NormalCollisions.of(found, surface.rest, surface.topology, distances, False)
    spared = distances.copy()
    least = np.diag(distances).copy()
    np.minimum.at(least, near.objects[:, 0], Stencils.of(near, surface.rest).distances)
    np.fill_diagonal(spared, np.maximum(least, LEAST * np.diag(distances)))
    return spared
