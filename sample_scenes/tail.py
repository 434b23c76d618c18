# SPDX-License-Identifier: GPL-3.0-or-later
"""A tail that jiggles: two alike on one animation, one of which wobbles on top of it."""

from __future__ import annotations

import math

import bpy

from .bodies import ball
from .sample import Sample
from .studio import LIME, ORANGE, Colour, jelly, plain, studio

_FRAMES = 72
_BONES = 4
_LENGTH, _ROOT_RADIUS, _TIP_RADIUS = 1.3, 0.17, 0.07
_RINGS, _SIDES = 36, 20
# Where the tail begins, seen from the rig.
_ROOT = 0.3


def tail_that_jiggles(scene: bpy.types.Scene) -> None:
    """Two round animals hop, land and tip over to the side; the tail of the upper one is animated
    alone, that of the lower one wobbles on top of the same keys."""
    for z, name, colour, jiggles in (
        (1.9, "Animated", LIME, False),
        (0.6, "Jiggling", ORANGE, True),
    ):
        _animal(name, colour, z, jiggles)
    scene.supple.use_ground = False
    studio(scene, target=(0.6, 0.0, 1.45), distance=5.9, aside=0.05, above=0.1)


def _animal(name: str, colour: Colour, z: float, jiggles: bool) -> None:
    rig = _rig(f"{name} Rig", z)
    trunk = ball(f"{name} Trunk", plain(f"{name} Trunk", colour), (0.0, 0.0, 0.0), (0.8, 0.7, 0.7))
    trunk.parent = rig
    tail = _tail(f"{name} Tail", colour)
    tail.parent = rig
    tail.modifiers.new("Armature", "ARMATURE").object = rig
    _animate(rig, z)
    if not jiggles:
        return
    _paint_jiggle(tail)
    bpy.ops.object.select_all(action="DESELECT")
    tail.select_set(True)
    bpy.context.view_layer.objects.active = tail
    bpy.ops.supple.jiggle(speed=1.8, duration=1.2)


def _rig(name: str, z: float) -> bpy.types.Object:
    """A chain of bones that lies along the tail."""
    rig = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    before = None
    for number in range(_BONES):
        bone = rig.data.edit_bones.new(f"Tail {number + 1}")
        bone.head = (_ROOT + _LENGTH * number / _BONES, 0.0, 0.0)
        bone.tail = (_ROOT + _LENGTH * (number + 1) / _BONES, 0.0, 0.0)
        # Its x axis looks at the camera: about it the tail bends up.
        bone.align_roll((0.0, 0.0, 1.0))
        bone.parent, bone.use_connect = before, before is not None
        before = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.location.z, rig.hide_render = z, True
    return rig


def _tail(name: str, colour: Colour) -> bpy.types.Object:
    """A round tail along x, weighted to the bones, each of which fades into the next."""
    rings = [(_LENGTH * ring / _RINGS, _radius(ring / _RINGS)) for ring in range(_RINGS + 1)]
    # A round tip.
    rings += [
        (_LENGTH + _TIP_RADIUS * math.sin(turn), _TIP_RADIUS * math.cos(turn))
        for turn in (math.radians(30.0), math.radians(60.0))
    ]
    points = [
        (_ROOT + x, radius * math.cos(turn), radius * math.sin(turn))
        for x, radius in rings
        for turn in (2.0 * math.pi * side / _SIDES for side in range(_SIDES))
    ]
    faces = [
        [ring * _SIDES + a, ring * _SIDES + b, (ring + 1) * _SIDES + b, (ring + 1) * _SIDES + a]
        for ring in range(len(rings) - 1)
        for a, b in ((side, (side + 1) % _SIDES) for side in range(_SIDES))
    ]
    first, last = 0, (len(rings) - 1) * _SIDES
    ends = [_ROOT, _ROOT + _LENGTH + _TIP_RADIUS]
    for start, x, turn in ((first, ends[0], -1), (last, ends[1], 1)):
        middle = len(points)
        points.append((x, 0.0, 0.0))
        for side in range(_SIDES):
            pair = (start + side, start + (side + 1) % _SIDES)
            faces.append([middle, *pair[::turn]])
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    mesh.shade_smooth()
    mesh.materials.append(jelly(f"{name} Jelly", colour))
    tail = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(tail)
    for number in range(_BONES):
        group = tail.vertex_groups.new(name=f"Tail {number + 1}")
        for vertex in mesh.vertices:
            place = (vertex.co.x - _ROOT) / _LENGTH * _BONES - 0.5
            share = 1.0 - abs(min(max(place, 0.0), _BONES - 1.0) - number)
            if share > 0.0:
                group.add([vertex.index], share, "REPLACE")
    return tail


def _radius(share: float) -> float:
    return _ROOT_RADIUS + (_TIP_RADIUS - _ROOT_RADIUS) * share


def _paint_jiggle(tail: bpy.types.Object) -> None:
    """Nothing at the root, all of it at the tip."""
    group = tail.vertex_groups.new(name="Jiggle")
    for vertex in tail.data.vertices:
        share = min(max((vertex.co.x - _ROOT) / _LENGTH, 0.0), 1.0)
        if share > 0.0:
            group.add([vertex.index], share * share, "REPLACE")


def _animate(rig: bpy.types.Object, z: float) -> None:
    """Hops, lands, tips over, and stands; the tail curls up in the air and stretches out after."""
    for frame, height in ((1, 0.0), (6, -0.08), (12, 0.42), (18, -0.04), (21, 0.0)):
        rig.location.z = z + height
        rig.keyframe_insert("location", frame=frame)
    for frame, turn in ((1, 0.0), (30, 0.0), (34, 28.0), (44, 28.0), (48, 0.0)):
        rig.rotation_euler.y = math.radians(turn)
        rig.keyframe_insert("rotation_euler", frame=frame)
    for frame, turn in ((1, 12.0), (8, 12.0), (14, 24.0), (24, 24.0), (32, 14.0)):
        for bone in rig.pose.bones:
            bone.rotation_mode = "XYZ"
            bone.rotation_euler.x = math.radians(turn)
            bone.keyframe_insert("rotation_euler", frame=frame)


TAIL_SAMPLES: dict[str, Sample] = {
    "tail_that_jiggles": Sample(tail_that_jiggles, _FRAMES, (1, 9, 15, 20, 37, 47, 51, 72)),
}
