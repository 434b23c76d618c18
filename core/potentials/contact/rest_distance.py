# SPDX-License-Identifier: GPL-3.0-or-later
"""The activation distances of candidate pairs: at rest a body must not push itself."""

from __future__ import annotations

import numpy as np

from ...compiled import use_threads
from ...kernels.rest_distance import activation_distances
from .collision_detection import Candidates
from .surface import CollisionSurface, Values

PAIRS_PER_THREAD = 2_000


def pair_distances(candidates: Candidates, surface: CollisionSurface, distances: Values) -> Values:
    """(P,) d̂ of candidate pairs, in metres: that of their objects, and at most a quarter of the
    distance at rest where they are parts of one.

    Args:
        surface: that they are on.
        distances: (O, O) of every two objects.
    """
    dhats = np.empty(len(candidates))
    use_threads(len(dhats), PAIRS_PER_THREAD)
    activation_distances(
        candidates.stencils(surface.edges, surface.triangles),
        *(surface.rest, surface.topology.object_of, distances),
        *(surface.are_joined, dhats),
    )
    return dhats
