# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading an animated character and a collider over all frames, beside Blender's own stepping."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np

import supple
from supple.addon.capture.scene import capture

FRAMES = 250
REPEATS = 5
BONES = 4
HEIGHT = 2.0
# Of a sphere: 10 002 vertices.
SEGMENTS, RINGS = 100, 101


def run() -> dict[str, Any]:
    """Seconds of capture and of the same frames without it: the first ones, then medians."""
    supple.register()
    try:
        scene = _scene()
        vertices = [len(obj.data.vertices) for obj in scene.objects if obj.type == "MESH"]
        samples = scene.supple.motion_samples
        blender, ours = _times({"blender": _step, "capture": lambda: capture(bpy.context)})
    finally:
        supple.unregister()
    return {
        "blender": bpy.app.version_string,
        "frames": FRAMES,
        "samples_a_frame": samples,
        "vertices": vertices,
        "repeats": REPEATS,
        "capture_s": {"first": ours[0], "median": statistics.median(ours[1:])},
        "blender_s": {"first": blender[0], "median": statistics.median(blender[1:])},
        "beside_s": {
            "first": round(ours[0] - blender[0], 3),
            "median": round(statistics.median(ours[1:]) - statistics.median(blender[1:]), 3),
        },
    }


def _scene() -> bpy.types.Scene:
    """A character whose every vertex is pinned or drawn to a goal, and a collider, on one rig."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    scene.supple.ground_height = -10.0 * HEIGHT
    rig = _rig()
    character = _bent(rig, 0.0)
    character.supple.enabled = True
    character.supple.pin_group = "Hold"
    count = len(character.data.vertices)
    group = character.vertex_groups.new(name="Hold")
    group.add(range(count // 2), 1.0, "REPLACE")
    group.add(range(count // 2, count), 0.5, "REPLACE")
    collider = _bent(rig, 2.0 * HEIGHT)
    collider.supple.collider = True
    return scene


def _rig() -> bpy.types.Object:
    """A chain of bones, each of which sways."""
    bpy.ops.object.armature_add()
    rig = bpy.context.object
    bpy.ops.object.mode_set(mode="EDIT")
    bones, parent = rig.data.edit_bones, None
    bones.remove(bones[0])
    for index in range(BONES):
        bone = bones.new(f"Bone {index}")
        bone.head.z, bone.tail.z = (HEIGHT * (index + k) / BONES for k in (0, 1))
        bone.parent, parent = parent, bone
    bpy.ops.object.mode_set(mode="POSE")
    for index, bone in enumerate(rig.pose.bones):
        bone.rotation_mode = "XYZ"
        for frame in range(1, FRAMES + 1, 10):
            bone.rotation_euler = (0.2 * math.sin(0.1 * frame + index), 0.1 * math.cos(frame), 0.0)
            bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def _bent(rig: bpy.types.Object, place: float) -> bpy.types.Object:
    """A mesh that the bones bend, weighted by height."""
    bpy.ops.mesh.primitive_uv_sphere_add(
        segments=SEGMENTS, ring_count=RINGS, radius=0.5 * HEIGHT, location=(0, 0, 0.5 * HEIGHT)
    )
    obj = bpy.context.object
    bpy.ops.object.transform_apply(location=True)
    heights = np.array([vertex.co.z for vertex in obj.data.vertices]) * BONES / HEIGHT
    for index in range(BONES):
        group = obj.vertex_groups.new(name=f"Bone {index}")
        shares = 1.0 - np.abs(heights - index - 0.5)
        for vertex in np.flatnonzero(shares > 0.0).tolist():
            group.add([vertex], float(shares[vertex]), "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    obj.location.x = place
    return obj


def _step() -> None:
    """Evaluate the scene in Blender as capture does."""
    scene = bpy.context.scene
    parts = scene.supple.motion_samples
    for frame in range(1, FRAMES + 1):
        scene.frame_set(frame)
        for part in range(1, parts if frame < FRAMES else 1):
            scene.frame_set(frame, subframe=part / parts)


def _times(calls: dict[str, Callable[[], object]]) -> list[list[float]]:
    """Seconds of each in turns: the first runs meet fresh memory."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seconds[name].append(round(time.perf_counter() - began, 3))
    return list(seconds.values())
