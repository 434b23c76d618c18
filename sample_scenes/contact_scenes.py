# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample scenes of contact, one function each."""

from __future__ import annotations

import math

import bpy
from mathutils import Vector

from .bodies import ball, box, make_soft, pin, small_monkey, voussoir
from .colliders import bend, bowl, leg, move, ring, slab, turn
from .sample import Sample
from .studio import BLUEBERRY, LEMON, LIME, ORANGE, RASPBERRY, jelly, label, studio

COLOURS = (RASPBERRY, LEMON, LIME, ORANGE, BLUEBERRY)


def monkey_pile(scene: bpy.types.Scene) -> None:
    """Ten monkeys of jelly fall one after another into a bowl."""
    bowl("Bowl", 0.95, 0.07).supple.collider_friction = 0.3
    for index in range(10):
        body = small_monkey(f"Monkey {index}", COLOURS[index % 5], 0.52)
        # Around in the golden angle: those close in height are far apart.
        around = math.radians(137.5 * index)
        height = 0.65 + 0.33 * index
        body.location = (0.4 * math.cos(around), 0.4 * math.sin(around), height)
        body.rotation_euler = [math.radians(angle * index) for angle in (40.0, 25.0, 70.0)]
        make_soft(body, young=5e4, damping=0.5, resolution=9)
    scene.supple.contact_distance = 0.004
    studio(scene, target=(0.0, 0.0, 0.75), distance=6.6, above=0.8)


def ball_through_ring(scene: bpy.types.Scene) -> None:
    """A ball falls on a ring that is narrower than it is, and squeezes through."""
    body = ball("Ball", jelly("Ball Jelly", RASPBERRY), (0.0, 0.0, 2.2), (1.0, 1.0, 1.0))
    make_soft(body, young=1.5e4, damping=0.1, resolution=10)
    body.supple.friction = 0.1
    ring("Ring", (0.0, 0.0, 1.2), 0.5, 0.13).supple.collider_friction = 0.1
    studio(scene, target=(0.0, 0.0, 1.3), distance=5.8)


def squeezed_body(scene: bpy.types.Scene) -> None:
    """Two plates squeeze a monkey, and let go."""
    body = small_monkey("Monkey", LIME, 1.1)
    body.location = (0.0, 0.0, 0.58)
    make_soft(body, young=1e5, damping=0.3, resolution=11)
    for name, side in (("Left Plate", -1.0), ("Right Plate", 1.0)):
        plate = slab(name, (0.0, 0.0, 0.7), (0.12, 1.1, 1.2))
        places = ((1, 0.95), (26, 0.58), (36, 0.58), (44, 1.2))
        move(plate, [(frame, (side * x, 0.0, 0.7)) for frame, x in places])
    studio(scene, target=(0.0, 0.0, 0.6), distance=5.4)


def twisted_bar(scene: bpy.types.Scene) -> None:
    """A bar is twisted until it coils: one end is led by the object, the other by a plate."""
    length, height = 2.4, 1.1
    body = box("Bar", ORANGE, (0.0, 0.0, 0.0), (length, 0.22, 0.22), cuts=(40, 3, 3))
    make_soft(body, young=2e5, damping=2.0, resolution=34)
    pin(body, [v.index for v in body.data.vertices if v.co.x < 0.02 - length / 2])
    end = body.vertex_groups.new(name="Held")
    end.add([v.index for v in body.data.vertices if v.co.x > length / 2 - 0.02], 1.0, "REPLACE")
    plate = slab("Right Plate", (0.0, 0.0, 0.0), (0.1, 0.5, 0.5))
    body.supple.attach_to, body.supple.attach_group = plate, end.name
    slab("Left Plate", (-length / 2 - 0.06, 0.0, 0.0), (0.1, 0.5, 0.5)).parent = body
    for thing, side, reach in ((body, -1.0, 0.0), (plate, 1.0, length / 2 + 0.06)):
        turn(thing, [(1, (0.0, 0.0, 0.0)), (72, (side * 720.0, 0.0, 0.0))])
        move(thing, [(1, (reach, 0.0, height)), (72, (reach - side * 0.65, 0.0, height))])
    scene.supple.use_ground = False
    studio(scene, target=(0.0, 0.0, height - 0.15), distance=6.4)


def slope(scene: bpy.types.Scene) -> None:
    """Two blocks on a slope of one in two: the friction of one is just enough."""
    tilt = math.atan(0.5)
    down, out = (
        Vector((0.0, -math.cos(tilt), -math.sin(tilt))),
        Vector((0.0, -math.sin(tilt), math.cos(tilt))),
    )
    middle = Vector((0.0, 0.0, 0.72))
    for x, friction, colour in ((-0.55, 0.48, RASPBERRY), (0.55, 0.52, LIME)):
        aside = Vector((x, 0.0, 0.0))
        lane = slab(f"Slope {friction}", middle + aside, (0.85, 2.6, 0.1), 0.02)
        # The block floats two millimetres above the lane.
        place = middle + aside - 0.65 * down + (0.05 + 0.14 + 0.002) * out
        body = box(f"Block {friction}", colour, place, (0.5, 0.5, 0.28), cuts=5)
        make_soft(body, young=1e6, resolution=6)
        body.supple.contact_surface = "mesh"
        lane.rotation_euler.x = body.rotation_euler.x = tilt
        lane.supple.collider_friction = body.supple.friction = friction
        label(f"{friction}", (x, -1.7, 0.15), 0.3)
    studio(scene, target=(0.0, -0.2, 0.72), distance=6.0)


def limb_collider(scene: bpy.types.Scene) -> None:
    """A leg that an armature bends kicks a ball."""
    limb = leg("Leg", (-0.4, 0.0, 1.9))
    bend(limb.parent, "Thigh", ((1, 0.0), (8, -8.0), (30, 32.0), (38, 30.0)))
    bend(limb.parent, "Shin", ((1, -40.0), (8, -60.0), (28, 5.0), (38, -5.0)))
    body = ball("Ball", jelly("Ball Jelly", BLUEBERRY), (0.25, 0.0, 0.405), (0.8, 0.8, 0.8))
    make_soft(body, young=6e4, density=200.0, damping=0.1, resolution=8)
    studio(scene, target=(0.5, 0.0, 0.95), distance=6.4)


def arch(scene: bpy.types.Scene) -> None:
    """Nine stones stand as an arch, which friction alone holds."""
    count, joint = 9, 0.1
    for index in range(count):
        depth = 0.5 if index % 2 else 0.44
        turns = (180.0 / count * index + joint / 2, 180.0 / count * (index + 1) - joint / 2)
        body = voussoir(f"Stone {index}", COLOURS[index % 5], (0.8, 1.15), turns, depth)
        # Two millimetres above the plinths.
        body.location.z = 0.302
        make_soft(body, young=1e6, poisson=0.3, resolution=3)
        body.supple.contact_surface, body.supple.friction = "mesh", 0.8
    for name, x in (("Left Plinth", -0.975), ("Right Plinth", 0.975)):
        slab(name, (x, 0.0, 0.15), (0.6, 0.7, 0.3)).supple.collider_friction = 0.8
    scene.supple.use_ground = False
    studio(scene, target=(0.0, 0.0, 0.85), distance=5.0)


CONTACT_SAMPLES: dict[str, Sample] = {
    "monkey_pile": Sample(monkey_pile, 66, (1, 12, 20, 66)),
    "ball_through_ring": Sample(ball_through_ring, 48, (1, 11, 14, 24)),
    "squeezed_body": Sample(squeezed_body, 60, (1, 20, 34, 44)),
    "twisted_bar": Sample(twisted_bar, 76, (1, 30, 50, 76)),
    "slope": Sample(slope, 72, (1, 24, 48, 72)),
    "limb_collider": Sample(limb_collider, 40, (1, 10, 22, 30)),
    "arch": Sample(arch, 49, (1, 49), columns=2),
}
