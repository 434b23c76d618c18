# SPDX-License-Identifier: GPL-3.0-or-later
"""A ball whose throw was found: it goes through a ring at a frame."""

from __future__ import annotations

import bpy

from .bodies import ball, make_soft, ring
from .sample import Sample
from .studio import ORANGE, jelly, plain, studio

_FRAMES, _RING_FRAME = 24, 17
_RING = (0.9, 0.0, 1.35)
# In m/s: what Hit the Target finds.
_THROW = (3.8454, 0.0, 4.8692)


def thrown_through_a_ring(scene: bpy.types.Scene) -> None:
    """A ball of jelly is thrown through a ring."""
    body = ball("Thrown Ball", jelly("Orange", ORANGE), (-1.5, 0.0, 0.4), (0.55, 0.55, 0.55))
    make_soft(body, young=6e4, damping=0.2, resolution=4)
    target = bpy.data.objects.new("Target", None)
    target.location, target.empty_display_size = _RING, 0.2
    scene.collection.objects.link(target)
    ring("Ring", _RING, plain("Stone", (0.55, 0.53, 0.5)))
    soft = body.supple
    soft.fit_target, soft.fit_frame, soft.start_velocity = target, _RING_FRAME, _THROW
    # Steps that have gradients and lose little in a bounce.
    scene.supple.integrator, scene.supple.substeps, scene.supple.contact = "bdf2", 2, "never"
    studio(scene, target=(0.0, 0.0, 0.8), distance=6.0, aside=0.3)


THROW_SAMPLES = {
    "thrown_through_a_ring": Sample(thrown_through_a_ring, _FRAMES, (1, 9, _RING_FRAME), columns=3),
}
