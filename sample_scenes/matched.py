# SPDX-License-Identifier: GPL-3.0-or-later
"""An arm whose stiffness was found: at its root, and beyond, so that it hangs as was modelled."""

from __future__ import annotations

import math

import bpy
from mathutils import Vector

from .bodies import ball, box, make_soft, pin
from .sample import Sample
from .studio import LIME, ORANGE, label, plain, studio

_FRAMES = 24
_LENGTH, _THICKNESS = 1.3, 0.24
# What is stiff ends here, of the length; it fades out within so much.
_ELBOW, _FADE = 0.5, 0.06
# By which the arm that is wanted is bent: up to the elbow, and beyond, in degrees.
_BENDS = (7.0, 42.0)
# In Pa, and what is left beyond the elbow: where the search begins, and what Match a Shape finds.
_BEFORE, _FOUND = (4e5, 0.5), (3.03e6, 0.014)


def matches_a_shape(scene: bpy.types.Scene) -> None:
    """An arm of stone is what is wanted; one of jelly hangs otherwise, and one is as stiff as was
    found for it."""
    stone = plain("Stone", (0.55, 0.53, 0.5))
    target = None
    for x, name, colour, stiffness in (
        (-2.1, "Wanted", None, None),
        (0.0, "Before", LIME, _BEFORE),
        (2.1, "Found", ORANGE, _FOUND),
    ):
        place = (x, 0.0, 1.25)
        ball(f"{name} Shoulder", stone, (x - _LENGTH / 2, 0.0, 1.25), (0.44, 0.44, 0.44))
        label(name, (x, -0.8, 0.15), 0.24)
        body = box(
            f"{name} Arm", colour or ORANGE, place, (_LENGTH, _THICKNESS, _THICKNESS), (26, 4, 4)
        )
        if stiffness is None:
            body.data.materials[0] = stone
            for vertex in body.data.vertices:
                vertex.co = _bent(vertex.co)
            target = body
        else:
            _make_arm(body, *stiffness)
    assert target is not None
    arm = bpy.context.scene.objects["Found Arm"]
    # The same mesh, where the body is to be.
    shape = bpy.data.objects.new("Shape", target.data)
    shape.location, shape.hide_render = arm.location, True
    scene.collection.objects.link(shape)
    soft = arm.supple
    soft.fit_shape, soft.fit_first, soft.fit_last = shape, _FRAMES, _FRAMES
    scene.supple.integrator, scene.supple.substeps = "implicit_euler", 1
    scene.supple.use_ground, scene.supple.contact = False, "never"
    studio(scene, target=(-0.12, 0.0, 0.8), distance=10.6, aspect=2.0, size=1.4, aside=0.0)


def _make_arm(body: bpy.types.Object, young: float, left: float) -> None:
    make_soft(body, young=young, poisson=0.3, damping=6.0, resolution=20)
    root = body.vertex_groups.new(name="Root")
    for vertex in body.data.vertices:
        weight = (_ELBOW + _FADE - vertex.co.x / _LENGTH - 0.5) / (2.0 * _FADE)
        if weight > 0.0:
            root.add([vertex.index], min(1.0, weight), "REPLACE")
    body.supple.paint_young, body.supple.unpainted_young = "Root", left
    pin(body, [v.index for v in body.data.vertices if v.co.x < -0.46 * _LENGTH])


def _bent(point: Vector) -> Vector:
    """Move a point of a straight arm along x to the arm that hangs from its middle on, as thin
    beams do: bent by the moment of the part beyond.
    """
    steps = 200
    along = min(max(point.x / _LENGTH + 0.5, 0.0), 1.0)
    place, turn = Vector((-_LENGTH / 2, 0.0, 0.0)), 0.0
    for step in range(steps):
        turn = _turn(along * (step + 0.5) / steps)
        place += along * _LENGTH / steps * Vector((math.cos(turn), 0.0, -math.sin(turn)))
    turn = _turn(along)
    return place + Vector((point.z * math.sin(turn), point.y, point.z * math.cos(turn)))


def _turn(along: float) -> float:
    """The slope at a share of the length, in radians."""
    first = 1.0 - (1.0 - min(along, _ELBOW)) ** 3
    beyond = 1.0 - ((1.0 - max(along, _ELBOW)) / (1.0 - _ELBOW)) ** 3
    whole = 1.0 - (1.0 - _ELBOW) ** 3
    return math.radians(_BENDS[0] * first / whole + _BENDS[1] * beyond)


MATCHED_SAMPLES = {
    "matches_a_shape": Sample(matches_a_shape, _FRAMES, (1, _FRAMES), columns=1),
}
