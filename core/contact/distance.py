# SPDX-License-Identifier: GPL-3.0-or-later
"""How far apart surfaces begin to push."""

from __future__ import annotations

from ..errors import SceneError
from ..scene import Ground, Scene
from ..start_shape import tet_mesh_of

# In units of the body's diagonal of the ground, which steps bend along, and of the largest body's
# of surfaces, which take the fewer steps to find each other the further they reach.
GROUND, SURFACES = 1e-3, 3e-3
# In units of the edges of the smallest tetrahedra, which it must not come near to.
FINEST = 0.2


def ground_distance(ground: Ground, size: float) -> float:
    """From how far the ground pushes a body with a diagonal of ``size``, all in metres."""
    return ground.distance or GROUND * size


def contact_distance(scene: Scene) -> float:
    """d̂ in metres, for a scene with contact whose bodies have tetrahedra.

    Raises:
        SceneError: when it is longer than the tetrahedra are: a surface would push itself.
    """
    assert scene.contact is not None
    meshes = [tet_mesh_of(body) for body in scene.bodies]
    edges = [float(mesh.mean_edges.mean()) for mesh in meshes]
    chosen = scene.contact.distance
    if chosen is None:
        return min(SURFACES * max(mesh.diagonal for mesh in meshes), FINEST * min(edges))
    shortest, body = min(zip(edges, scene.bodies, strict=True), key=lambda pair: pair[0])
    if chosen > shortest:
        raise SceneError(
            f"Contact: the distance of {chosen:.3g} m is longer than the edges of the tetrahedra "
            f"of {body.name}, {shortest:.3g} m: its surface would push itself apart. Choose at "
            f"most {FINEST * shortest:.3g} m, or 0 for one that fits."
        )
    return chosen
