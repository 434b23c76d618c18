# SPDX-License-Identifier: GPL-3.0-or-later
"""A box that follows its keys: it flies a slalom through rings, as no throw could."""

from __future__ import annotations

import math

import bpy

from .bodies import Place, box, make_soft, ring
from .sample import Sample
from .studio import BLUEBERRY, plain, studio

_FRAMES = 28
# Frame, place, and turn about the three axes in degrees.
_KEYS: list[tuple[int, Place, Place]] = [
    (1, (-2.1, 0.0, 0.6), (0.0, 0.0, 0.0)),
    (8, (-1.1, 0.0, 1.3), (0.0, 45.0, 0.0)),
    (15, (0.0, 0.0, 0.8), (0.0, 135.0, 0.0)),
    (22, (1.1, 0.0, 1.6), (0.0, 225.0, 0.0)),
]


def slalom_through_rings(scene: bpy.types.Scene) -> None:
    """A box of jelly is keyed in three rings; Follow My Keys finds the forces."""
    body = box("Slalom Box", BLUEBERRY, _KEYS[0][1], (0.5, 0.4, 0.4))
    make_soft(body, young=2e4, damping=0.2, resolution=3)
    stone = plain("Stone", (0.55, 0.53, 0.5))
    for frame, place, turn in _KEYS:
        body.location, body.rotation_euler = place, [math.radians(angle) for angle in turn]
        body.keyframe_insert("location", frame=frame)
        body.keyframe_insert("rotation_euler", frame=frame)
        if frame > 1:
            ring(f"Ring at Frame {frame}", place, stone)
    scene.frame_set(1)
    scene.supple.use_ground, scene.supple.contact = False, "never"
    # Steps that have gradients, and few of them.
    scene.supple.integrator, scene.supple.substeps = "bdf2", 1
    studio(scene, target=(0.0, 0.0, 0.95), distance=7.0, aside=0.3)


SLALOM_SAMPLES = {
    "slalom_through_rings": Sample(
        slalom_through_rings, _FRAMES, (8, 15, 22), columns=3, find="follow_keys"
    ),
}
