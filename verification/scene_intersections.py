# SPDX-License-Identifier: GPL-3.0-or-later
"""How many triangles of a scene intersect, itself and each other."""

from __future__ import annotations

import numpy as np

from supple.core import Simulator, TetMesh

from .exact_intersections import count_intersections


def scene_intersections(simulator: Simulator) -> int:
    """Of the bodies' and colliders' surfaces where they are now.

    Colliders count as a whole, so the scene's must not cross themselves.
    """
    scene, state = simulator.scene, simulator.state
    positions = [state.positions.numpy().T]
    triangles = []
    for body, where in zip(scene.bodies, simulator.system.body_slices(), strict=True):
        assert isinstance(body.mesh, TetMesh)
        triangles.append(body.mesh.surface + where.start)
    count = len(positions[0])
    # Where they have been led, which may be short of where they were to go.
    led = state.colliders
    for collider in scene.meshes:
        size = collider.vertices.shape[-2]
        if led is None:
            positions.append(collider.at(state.frame))
        else:
            positions.append(led[:size])
            led = led[size:]
        triangles.append(collider.triangles + count)
        count += size
    return count_intersections(np.concatenate(positions), np.concatenate(triangles))
