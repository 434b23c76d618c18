# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the colliders of the sample scenes, and their motion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import bpy
from mathutils import Matrix, Vector

from .bodies import Place
from .studio import plain

#: Frame, and where or how something is then.
Keys = Sequence[tuple[int, Place]]

#: Of the leg, in metres and from the hip down.
THIGH, SHIN, KNEE = 0.85, 0.8, 0.14


def bowl(name: str, radius: float, thickness: float) -> bpy.types.Object:
    """Half a sphere that is open at the top and stands on the ground, its rim rounded."""
    outer, middle = radius + thickness, radius + thickness / 2
    inside = [_on_circle(radius, turn) for turn in range(-90, 1, 5)]
    rim = [
        (middle + thickness / 2 * math.cos(angle), thickness / 2 * math.sin(angle))
        for angle in map(math.radians, range(150, 0, -30))
    ]
    outside = [_on_circle(outer, turn) for turn in range(0, -91, -5)]
    made = _revolved(name, [*inside, *rim, *outside])
    made.location.z = outer
    return as_collider(made, (0.62, 0.58, 0.52))


def ring(name: str, place: Place, radius: float, thickness: float) -> bpy.types.Object:
    """A level torus, by the radii of its middle and of its tube."""
    bpy.ops.mesh.primitive_torus_add(
        major_radius=radius, minor_radius=thickness, major_segments=64, minor_segments=24
    )
    made = _linked(name, bpy.context.object.data, bpy.context.object)
    made.location = place
    return as_collider(made, (0.55, 0.53, 0.5))


def slab(name: str, place: Place, size: Place, rounded: float = 0.03) -> bpy.types.Object:
    """A box of ``size`` around ``place``, its edges rounded by so many metres."""
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    made = _linked(name, bpy.context.object.data, bpy.context.object)
    made.data.transform(Matrix.Diagonal((*size, 1.0)))
    bevel = made.modifiers.new("Bevel", "BEVEL")
    bevel.width, bevel.segments = rounded, 3
    made.location = place
    as_collider(made, (0.55, 0.53, 0.5))
    made.data.shade_flat()
    return made


def leg(name: str, hip: Place) -> bpy.types.Object:
    """A thigh and a shin that an armature of two bones bends at the knee.

    The bones turn about the world's y axis; the armature is the parent of what is returned.
    """
    length = THIGH + SHIN
    profile = [(0.0, 0.16)]
    profile += [(0.16 * math.cos(a), 0.16 * math.sin(a)) for a in _angles(75, 0)]
    profile += [(0.16 - 0.05 * k / 16, -length * k / 16) for k in range(1, 17)]
    profile += [(0.11 * math.cos(a), 0.11 * math.sin(a) - length) for a in _angles(-15, -75)]
    profile.append((0.0, -length - 0.11))
    made = _revolved(name, profile[::-1])
    rig = _armature(f"{name} Rig", hip)
    made.parent = rig
    for bone in ("Thigh", "Shin"):
        made.vertex_groups.new(name=bone)
    for vertex in made.data.vertices:
        share = min(max((-THIGH - vertex.co.z) / (2.0 * KNEE) + 0.5, 0.0), 1.0)
        for bone, weight in (("Thigh", 1.0 - share), ("Shin", share)):
            made.vertex_groups[bone].add([vertex.index], weight, "REPLACE")
    made.modifiers.new("Armature", "ARMATURE").object = rig
    return as_collider(made, (0.60, 0.30, 0.20))


def bend(rig: bpy.types.Object, bone: str, turns: Sequence[tuple[int, float]]) -> None:
    """Keys a bone's turn in degrees: positive ones swing its end to the right."""
    posed = rig.pose.bones[bone]
    posed.rotation_mode = "XYZ"
    for frame, turn in turns:
        posed.rotation_euler.z = math.radians(turn)
        posed.keyframe_insert("rotation_euler", frame=frame)


def move(thing: bpy.types.Object, places: Keys) -> None:
    """Keys where an object is."""
    for frame, place in places:
        thing.location = place
        thing.keyframe_insert("location", frame=frame)


def turn(thing: bpy.types.Object, turns: Keys) -> None:
    """Keys how an object is turned, in degrees."""
    for frame, angles in turns:
        thing.rotation_euler = [math.radians(angle) for angle in angles]
        thing.keyframe_insert("rotation_euler", frame=frame)


def as_collider(thing: bpy.types.Object, colour: Place) -> bpy.types.Object:
    thing.supple.collider = True
    thing.data.materials.append(plain(f"{thing.name} Surface", colour))
    thing.data.shade_smooth()
    return thing


def _armature(name: str, hip: Place) -> bpy.types.Object:
    rig = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    rig.location = hip
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    knee = Vector((0.0, 0.0, -THIGH))
    ends = {"Thigh": (Vector(), knee), "Shin": (knee, Vector((0.0, 0.0, -THIGH - SHIN)))}
    parent = None
    for bone_name, (head, tail) in ends.items():
        bone = rig.data.edit_bones.new(bone_name)
        bone.head, bone.tail, bone.parent = head, tail, parent
        # The bone's z axis, which it turns about, is against the world's y axis.
        bone.align_roll(Vector((0.0, -1.0, 0.0)))
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.hide_render = True
    return rig


def _on_circle(radius: float, degrees: float) -> tuple[float, float]:
    angle = math.radians(degrees)
    return radius * math.cos(angle), radius * math.sin(angle)


def _angles(first: int, last: int) -> list[float]:
    """In radians, from one to the other by steps of 15°."""
    return [math.radians(turn) for turn in range(first, last - 1, -15)]


def _revolved(name: str, profile: Sequence[tuple[float, float]]) -> bpy.types.Object:
    """A closed surface around z: ``profile`` is distances from it and heights, and begins and ends
    on it; what is to its left is outside."""
    segments, inner = 48, profile[1:-1]
    turns = [2.0 * math.pi * k / segments for k in range(segments)]
    points = [(r * math.cos(a), r * math.sin(a), z) for r, z in inner for a in turns]
    first, last = len(points), len(points) + 1
    points += [(0.0, 0.0, profile[0][1]), (0.0, 0.0, profile[-1][1])]
    faces: list[tuple[int, ...]] = []
    end = (len(inner) - 1) * segments
    for k in range(segments):
        after = (k + 1) % segments
        faces.append((first, after, k))
        faces.append((last, end + k, end + after))
        for row in range(0, end, segments):
            faces.append((row + k, row + after, row + segments + after, row + segments + k))
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    return _linked(name, mesh, None)


def _linked(name: str, mesh: bpy.types.Mesh, existing: bpy.types.Object | None) -> bpy.types.Object:
    made = existing or bpy.data.objects.new(name, mesh)
    made.name = mesh.name = name
    if existing is None:
        bpy.context.collection.objects.link(made)
    return made
