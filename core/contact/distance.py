# SPDX-License-Identifier: GPL-3.0-or-later
"""How far apart surfaces begin to push."""

from __future__ import annotations

from ..scene import Ground, Scene

# In units of the largest body's diagonal: of the ground, which steps bend along, and of surfaces,
# which take the fewer steps to find each other the further they reach.
GROUND, SURFACES = 1e-3, 2e-3


def ground_distance(ground: Ground, size: float) -> float:
    """The same of the ground, for bodies whose largest has a diagonal of ``size``."""
    return ground.distance or GROUND * size


def contact_distance(scene: Scene, size: float) -> float:
    """d̂ in metres, for a scene with contact whose largest body has a diagonal of ``size``."""
    assert scene.contact is not None
    return scene.contact.distance or SURFACES * size
