# SPDX-License-Identifier: GPL-3.0-or-later
"""A ball of clay and the foot that squashes it."""

from __future__ import annotations

import bpy

from ..core.materials.presets import PRESETS
from .bodies import Place, ball, joined, make_soft
from .colliders import as_collider, move
from .sample import Sample
from .studio import plain, studio

_CLAY = (0.13, 0.17, 0.27)
_SKIN = (0.55, 0.22, 0.13)
# Where the parts of a foot are above its sole, and how large: its leg, heel, instep and ball, ...
_FOOT: list[tuple[Place, Place]] = [
    ((0.0, 0.42, 1.75), (0.36, 0.4, 3.2)),
    ((0.0, 0.45, 0.22), (0.44, 0.5, 0.44)),
    ((0.02, 0.14, 0.28), (0.44, 0.8, 0.48)),
    ((0.02, -0.22, 0.17), (0.62, 0.7, 0.32)),
]
# ... and its toes: the tip of each, and how thick it is.
_TOES = (
    (-0.22, -0.66, 0.21),
    (-0.05, -0.68, 0.14),
    (0.09, -0.64, 0.13),
    (0.21, -0.57, 0.12),
    (0.31, -0.48, 0.11),
)
_FOOT += [((x, y, 0.55 * size), (size, 1.6 * size, size)) for x, y, size in _TOES]


def clay_ball(scene: bpy.types.Scene) -> None:
    """A foot treads on a ball of clay, stands on it, and lifts: the ball stays squashed."""
    clay = PRESETS["clay"]
    body = ball("Clay Ball", plain("Clay", _CLAY), (0.0, 0.0, 0.41), (0.8, 0.8, 0.8))
    make_soft(body, young=clay.young, poisson=clay.poisson, density=clay.density, resolution=12)
    body.supple.use_plasticity, body.supple.yield_stress = True, clay.yield_stress
    foot = joined("Foot", _FOOT, voxel=0.045)
    as_collider(foot, _SKIN)
    heights = ((1, 0.95), (26, 0.3), (34, 0.3), (52, 1.1))
    move(foot, [(frame, (0.0, 0.1, height)) for frame, height in heights])
    studio(scene, target=(0.0, -0.05, 0.58), distance=4.6, aside=0.5)


CLAY_SAMPLES: dict[str, Sample] = {
    "clay_ball": Sample(clay_ball, 60, (1, 18, 30, 60)),
}
