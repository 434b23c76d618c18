# SPDX-License-Identifier: GPL-3.0-or-later
"""Count the intersecting triangles of a scene, within and between objects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.core import Simulator, SoftBody, TetMesh

from .exact_intersections import count_intersections


def scene_intersections(simulator: Simulator) -> int:
    """Count intersections of the contact surfaces of bodies and colliders, at their present
    positions.

    Colliders count as a whole, so the scene's must not cross themselves.
    """
    scene, state = simulator.scene, simulator.state
    positions, triangles, count = [], [], 0
    for body, where in zip(scene.bodies, simulator.system.body_slices(), strict=True):
        points, faces = _touching(body, state.positions[:, where].numpy().T)
        positions.append(points)
        triangles.append(faces + count)
        count += len(points)
    # Their reached positions, which may be short of their targets.
    reached = state.colliders
    for collider in scene.meshes:
        size = len(collider.at(0))
        if reached is None:
            positions.append(collider.at(state.frame))
        else:
            positions.append(reached[:size])
            reached = reached[size:]
        triangles.append(collider.triangles + count)
        count += size
    return count_intersections(np.concatenate(positions), np.concatenate(triangles))


def _touching(
    body: SoftBody, vertices: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """(V, 3) points and (F, 3) triangles of what of a body touches, by (N, 3) tet vertices."""
    surface = body.contact_surface
    if surface is None:
        assert isinstance(body.mesh, TetMesh)
        return vertices, body.mesh.surface
    assert surface.embedding is not None and surface.through_own is None
    return surface.embedding.interpolate(vertices), surface.triangles
