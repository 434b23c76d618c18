# SPDX-License-Identifier: GPL-3.0-or-later
"""How far apart surfaces begin to push."""

from __future__ import annotations

from ..scene import Ground, Scene

# In units of the largest body's diagonal.
SHARE = 1e-3


def ground_distance(ground: Ground, size: float) -> float:
    """The same of the ground, for bodies whose largest has a diagonal of ``size``."""
    return ground.distance or SHARE * size


def contact_distance(scene: Scene, size: float) -> float:
    """d̂ in metres, for a scene with contact whose largest body has a diagonal of ``size``."""
    assert scene.contact is not None
    return scene.contact.distance or SHARE * size
