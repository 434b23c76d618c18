# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether objects that went through each other have come apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from ...geometry.tet_mesh import TetMesh
from ...preparation.intersections import Surfaces, find_close
from ...scene.contact_distances import contact_distances
from ...scene.scene import Scene
from ...state import State
from .surface import CollisionSurface

Pair = tuple[int, int]

# The least distance relative to the activation distance; closer bodies would be thrown apart by
# the barrier.
MIN_DISTANCE_RATIO = 0.5


def pairs_apart(
    scene: Scene, meshes: Sequence[TetMesh], state: State, pairs: Collection[Pair]
) -> set[Pair]:
    """Return the pairs of objects that nothing keeps from touching each other.

    Args:
        scene: with contact; ``meshes`` are the tetrahedra of its bodies.
        pairs: of objects, bodies first, then mesh colliders, the lower number first.
    """
    surface = CollisionSurface(replace(scene, attachments=[]), list(meshes))
    points = surface.points(state.positions.cpu().numpy(), surface.colliders_in(state))
    objects = surface.object_of.astype(np.int32)
    every = combinations_with_replacement(range(len(surface.names)), 2)
    excluded = set(every).difference(pairs)
    distances: NDArray[np.float64] = MIN_DISTANCE_RATIO * contact_distances(scene)
    surfaces = Surfaces(points, surface.triangles, objects, excluded)
    close = find_close(surfaces, max(float(distances[pair]) for pair in pairs))
    near = close.distances < distances[tuple(close.objects.T)]
    return set(pairs).difference(map(tuple, close.objects[near].tolist()))
