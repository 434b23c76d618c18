# SPDX-License-Identifier: GPL-3.0-or-later
"""Balls of three materials that bounce, and a stiff toy that tumbles and rolls."""

from __future__ import annotations

import math

import bpy

from ..addon.properties import presets
from ..core.materials.presets import HAND_SIZE, PRESETS
from .bodies import Place, ball, joined, make_soft
from .colliders import slab
from .sample import Sample
from .studio import BLUEBERRY, LEMON, RASPBERRY, jelly, label, plain, studio

_BALL_SIZE, _DROP = 0.4, 1.6
_BALLS = (
    ("Rubber", "rubber", plain, BLUEBERRY),
    ("Foam", "foam", plain, LEMON),
    ("Jelly", "gelatine_dessert", jelly, RASPBERRY),
)

# A toy jack: an ellipsoid along each axis, with a ball at each end.
_ARM, _THICK, _END = 0.62, 0.16, 0.2
_AXES: tuple[Place, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def _arm(axis: Place) -> Place:
    x, y, z = (_ARM if along else _THICK for along in axis)
    return x, y, z


_JACK: list[tuple[Place, Place]] = [((0.0, 0.0, 0.0), _arm(axis)) for axis in _AXES]
_JACK += [
    ((side * x, side * y, side * z), (_END, _END, _END))
    for x, y, z in _AXES
    for side in (-_ARM / 2, _ARM / 2)
]


def bouncing_balls(scene: bpy.types.Scene) -> None:
    """Balls of rubber, foam and jelly fall from the same height."""
    for index, (name, preset, surface, colour) in enumerate(_BALLS):
        x = 0.75 * (index - 1)
        size = (_BALL_SIZE, _BALL_SIZE, _BALL_SIZE)
        body = ball(f"{name} Ball", surface(name, colour), (x, 0.0, _DROP), size)
        # The poles of its mesh are at its sides.
        body.rotation_euler.x = math.radians(90.0)
        body.supple.enabled, body.supple.resolution = True, 7
        presets.apply(body.supple, PRESETS[preset], _BALL_SIZE / HAND_SIZE)
        label(name, (x, -0.6, 0.06), 0.14)
    studio(scene, target=(0.0, 0.0, 0.85), distance=4.7)


def tumbling_toy(scene: bpy.types.Scene) -> None:
    """A jack of hard rubber is thrown, tumbles down a ramp, and rolls on over the ground."""
    body = joined("Jack", _JACK, voxel=0.03)
    body.data.materials.append(plain("Hard Rubber", RASPBERRY))
    body.location = (-1.7, 0.0, 1.75)
    body.rotation_euler = [math.radians(angle) for angle in (30.0, 20.0, 10.0)]
    make_soft(body, young=2e7, poisson=0.49, density=1100.0, resolution=14)
    body.supple.loss_factor = 0.35
    body.supple.start_velocity = (1.0, 0.0, 0.3)
    body.supple.start_spin = (0.5, 7.0, 1.0)
    ramp = slab("Ramp", (-1.0, 0.0, 0.5), (2.4, 1.2, 0.12))
    ramp.rotation_euler.y = math.radians(22.0)
    studio(scene, target=(0.3, 0.0, 0.75), distance=7.8, aspect=1.5, size=1.2)


LIVELY_SAMPLES: dict[str, Sample] = {
    "bouncing_balls": Sample(bouncing_balls, 60, (1, 14, 17, 26, 36, 60), columns=3),
    "tumbling_toy": Sample(tumbling_toy, 60, (1, 12, 20, 28, 40, 60), columns=3),
}
