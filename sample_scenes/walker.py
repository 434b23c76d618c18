# SPDX-License-Identifier: GPL-3.0-or-later
"""A belly on a walking rig: an armature drives what is stiff, and the rest wobbles."""

from __future__ import annotations

import math

import bpy

from .bodies import ball, make_soft
from .colliders import bend, leg
from .sample import Sample
from .studio import ORANGE, jelly, studio

_STEP_FRAMES = 12
_FRAMES = 72
_HIP_HEIGHT = 1.22


def belly_on_a_walking_rig(scene: bpy.types.Scene) -> None:
    """A bone bobs, sways and turns as hips do. It takes the back of a body along as it is, and
    draws its belly by soft goals."""
    belly = ball("Belly", jelly("Belly Jelly", ORANGE), (0.0, 0.0, 1.75), (1.15, 1.2, 1.35))
    make_soft(belly, young=1.2e4, resolution=12)
    rig = _hips()
    everything = [vertex.index for vertex in belly.data.vertices]
    belly.vertex_groups.new(name="Hips").add(everything, 1.0, "REPLACE")
    belly.modifiers.new("Armature", "ARMATURE").object = rig
    _paint_pins(belly)
    belly.supple.goal_frequency, belly.supple.goal_damping = 4.0, 0.1
    for side, name in ((-1.0, "Right Leg"), (1.0, "Left Leg")):
        made = leg(name, (0.28 * side, 0.1, _HIP_HEIGHT))
        made.supple.collider = False
        made.parent.rotation_euler.z = math.radians(90.0)
        _walk(made.parent, side)
    scene.supple.use_ground, scene.supple.contact = False, "never"
    studio(scene, target=(0.0, 0.0, 1.2), distance=5.6, aside=0.75)


def _hips() -> bpy.types.Object:
    rig = bpy.data.objects.new("Hips Rig", bpy.data.armatures.new("Hips Rig"))
    rig.location = (0.0, 0.0, _HIP_HEIGHT)
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    bone = rig.data.edit_bones.new("Hips")
    bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, 0.0, 0.6)
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.hide_render = True
    posed = rig.pose.bones["Hips"]
    posed.rotation_mode = "XYZ"
    for frame, phase in _phases():
        # Along the bone is up, and it is lowest where a foot comes down.
        posed.location.y = -0.09 * math.cos(2.0 * phase)
        posed.rotation_euler = (0.0, 0.2 * math.sin(phase), 0.1 * math.cos(phase))
        posed.keyframe_insert("location", frame=frame)
        posed.keyframe_insert("rotation_euler", frame=frame)
    return rig


def _paint_pins(belly: bpy.types.Object) -> None:
    """Weights from 1 at the back to a little at the front."""
    group = belly.vertex_groups.new(name="Pins")
    for vertex in belly.data.vertices:
        share = min(max((vertex.co.y + 0.25) / 0.45, 0.0), 1.0)
        weight = max(0.02, share * share * (3.0 - 2.0 * share))
        group.add([vertex.index], weight, "REPLACE")
    belly.supple.pin_group = group.name


def _walk(rig: bpy.types.Object, side: float) -> None:
    """Keys a leg: its thigh swings, its knee bends as it comes forward, its hip bobs."""
    thigh, knee = [], []
    for frame, phase in _phases():
        thigh.append((frame, 28.0 * side * math.sin(phase)))
        knee.append((frame, -max(0.0, 45.0 * side * math.cos(phase))))
        rig.location.z = _HIP_HEIGHT - 0.09 * math.cos(2.0 * phase)
        rig.keyframe_insert("location", frame=frame)
    bend(rig, "Thigh", thigh)
    bend(rig, "Shin", knee)


def _phases() -> list[tuple[int, float]]:
    """Frames, and how far the walk is: π a step."""
    frames = range(1, _FRAMES + 1, _STEP_FRAMES // 4)
    return [(frame, math.pi * (frame - 1) / _STEP_FRAMES) for frame in frames]


WALKER_SAMPLES: dict[str, Sample] = {
    "belly_on_a_walking_rig": Sample(belly_on_a_walking_rig, _FRAMES, (1, 22, 28, 34)),
}
