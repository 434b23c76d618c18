# SPDX-License-Identifier: GPL-3.0-or-later
"""Two birds alike, of which one keeps the shape that it was modelled in."""

from __future__ import annotations

import bpy

from .bodies import joined, make_soft, pin
from .sample import Sample
from .studio import LIME, ORANGE, Colour, jelly, studio

_FRAMES = 60
# Where trunk, head, tail and wings are, and how large.
_BIRD = [
    ((0.0, 0.0, 0.0), (0.5, 0.75, 0.42)),
    ((0.0, -0.36, 0.2), (0.32, 0.34, 0.3)),
    ((0.0, 0.45, 0.03), (0.4, 0.5, 0.14)),
    *[((side * 0.55, 0.0, 0.05), (1.0, 0.5, 0.16)) for side in (-1.0, 1.0)],
]
# Half the width of what is pinned.
_PINNED = 0.17
_KEPT = "Kept Bird"


def keeps_its_shape(scene: bpy.types.Scene) -> None:
    """Two birds of jelly, held at their trunks, beat their wings; the wings of the upper one droop
    before, those of the lower one do not."""
    scene.supple.use_ground = False
    for name, colour, z in (("Drooping Bird", LIME, 1.75), (_KEPT, ORANGE, 0.75)):
        _bird(name, colour, z)
    studio(scene, target=(0.0, 0.0, 1.2), distance=4.6, aspect=1.2, aside=0.12, above=0.12)


def _bird(name: str, colour: Colour, z: float) -> None:
    body = joined(name, _BIRD, voxel=0.05)
    body.data.materials.append(jelly(f"{name} Jelly", colour))
    make_soft(body, young=2e5, damping=0.5, viscosity=200.0, resolution=16)
    pin(body, [v.index for v in body.data.vertices if abs(v.co.x) < _PINNED and v.co.y < 0.3])
    for frame, height in ((1, 0.0), (30, 0.0), (36, 0.14), (43, -0.1), (50, 0.0)):
        body.location.z = z + height
        body.keyframe_insert("location", frame=frame)


KEPT_SAMPLES = {
    "keeps_its_shape": Sample(
        keeps_its_shape, _FRAMES, (1, 28, 36, 60), columns=2, sag_free_body=_KEPT
    ),
}
