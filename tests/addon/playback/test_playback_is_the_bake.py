# SPDX-License-Identifier: GPL-3.0-or-later
"""Playback, bake and render are the same, whatever the mesh carries."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from supple.addon import modifiers
from supple.addon.bake import shape_keys
from supple.addon.capture.scene import capture
from supple.addon.playback import mesh_cache, refined_frames
from supple.core.errors import SuppleError
from supple.core.job import digest

from ..conftest import set_linear
from .views import rendered, seen

pytestmark = pytest.mark.usefixtures("engine")

Change = Callable[[bpy.types.Object], object]

FRAMES = (-3.0, 1.0, 2.0, 2.5, 3.0, 3.75, 4.0, 9.0)
TOLERANCE = 1e-6


# The shape keys of the mesh


def add_keys(obj: bpy.types.Object) -> bpy.types.ShapeKey:
    """Tall is at work; Wide is as well, in half of the vertices."""
    obj.shape_key_add(name="Basis")
    obj.vertex_groups.new(name="Half").add([0, 1, 2, 3], 0.5, "REPLACE")
    for name, axis, value in (("Wide", 0, 0.4), ("Tall", 2, 0.3)):
        key = obj.shape_key_add(name=name, from_mix=False)
        key.value = value
        for point in key.points:
            point.co[axis] *= 1.7
    obj.data.shape_keys.key_blocks["Wide"].vertex_group = "Half"
    return key


def animate(data: bpy.types.ID, name: str, first: float, last: float) -> None:
    for frame, value in ((1, first), (4, last)):
        setattr(data, name, value)
        data.keyframe_insert(name, frame=frame)


def basis(obj: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")


def relative_animated(obj: bpy.types.Object) -> None:
    animate(add_keys(obj), "value", 0.0, 1.0)


def relative_stepped(obj: bpy.types.Object) -> None:
    animate(add_keys(obj), "value", 0.0, 1.0)
    keys = obj.data.shape_keys.animation_data
    for curve in keys.action.layers[0].strips[0].channelbag(keys.action_slot).fcurves:
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"


def relative_driven(obj: bpy.types.Object) -> None:
    add_keys(obj).driver_add("value").driver.expression = "frame / 5"


def relative_alone(obj: bpy.types.Object) -> None:
    animate(add_keys(obj), "value", 0.0, 1.0)
    obj.active_shape_key_index, obj.show_only_shape_key = 2, True


def absolute(obj: bpy.types.Object) -> None:
    add_keys(obj)
    obj.data.shape_keys.use_relative, obj.data.shape_keys.eval_time = False, 13.0


def absolute_animated(obj: bpy.types.Object) -> None:
    absolute(obj)
    animate(obj.data.shape_keys, "eval_time", 4.0, 18.0)


def absolute_driven(obj: bpy.types.Object) -> None:
    absolute(obj)
    obj.data.shape_keys.driver_add("eval_time").driver.expression = "4 * frame"


KEYS: dict[str, Change] = {
    "no keys": lambda obj: None,
    "basis": basis,
    "relative": add_keys,
    "relative, animated": relative_animated,
    "relative, stepped": relative_stepped,
    "relative, driven": relative_driven,
    "relative, one shown alone": relative_alone,
    "absolute": absolute,
    "absolute, animated": absolute_animated,
    "absolute, driven": absolute_driven,
}


# What carries the mesh


def subdivide(obj: bpy.types.Object) -> None:
    modifier = obj.modifiers.new("Subdivision", "SUBSURF")
    modifier.levels, modifier.render_levels = 1, 1


def mirror(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Mirror", "MIRROR").use_axis = (False, True, False)


def bend(obj: bpy.types.Object) -> None:
    """An armature whose bone turns."""
    bpy.ops.object.armature_add()
    armature = bpy.context.object
    bone = armature.pose.bones[0]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (4, 1.0)):
        bone.rotation_euler.x = angle
        bone.keyframe_insert("rotation_euler", frame=frame)
    obj.vertex_groups.new(name=bone.name).add([0, 2, 4], 0.7, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = armature


def bend_and_subdivide(obj: bpy.types.Object) -> None:
    bend(obj)
    subdivide(obj)


def carry(obj: bpy.types.Object) -> None:
    """A parent that turns, with a scale of its own on every axis."""
    bpy.ops.object.empty_add(location=(1, 2, 3), rotation=(0.3, 0.2, 0.1))
    parent = bpy.context.object
    parent.scale = (1.5, 0.7, -0.9)
    obj.parent = parent
    animate(parent, "rotation_euler", (0, 0, 0), (0.5, 0.4, 0.3))
    set_linear(parent)


def smooth(obj: bpy.types.Object) -> None:
    obj.supple.smooth = 4


def smooth_bend_and_subdivide(obj: bpy.types.Object) -> None:
    smooth(obj)
    bend_and_subdivide(obj)


STACKS: dict[str, Change] = {
    "alone": lambda obj: None,
    "subdivided": subdivide,
    "mirrored": mirror,
    "bent": bend,
    "bent and subdivided": bend_and_subdivide,
    "carried": carry,
    "smoothed": smooth,
    "smoothed, bent and subdivided": smooth_bend_and_subdivide,
}


# All keys with the plainest and the fullest stack, all stacks with a key of each kind.
PAIRS = [
    (keys, stack)
    for keys in KEYS
    for stack in STACKS
    if stack in ("alone", "smoothed, bent and subdivided")
    or keys in ("no keys", "relative, animated", "absolute, animated")
]


@pytest.mark.parametrize(("keys", "stack"), PAIRS)
def test_played_baked_and_rendered_are_the_same(scene, add_body, play, keys, stack):
    obj = add_body(location=(0.3, 0.2, 0.1), scale=(1, 2, 0.5))
    KEYS[keys](obj)
    STACKS[stack](obj)
    play(3, wobble=True)
    # No shape keys of a cage can show what these do.
    refined_frames.detach(obj)
    played = [seen(obj, frame) for frame in FRAMES]
    shown_in_renders = [rendered(obj, frame) for frame in FRAMES]
    frames, start = mesh_cache.read(obj)
    shape_keys.bake(obj, frames, start)
    mesh_cache.detach(obj)
    for frame, expected, at_render in zip(FRAMES, played, shown_in_renders, strict=True):
        for points in (at_render, seen(obj, frame), rendered(obj, frame)):
            np.testing.assert_allclose(points, expected, rtol=0, atol=TOLERANCE)
    assert max(np.abs(points - played[0]).max() for points in played) > 0.1


@pytest.mark.parametrize(
    ("stack", "place"), [("subdivided", 0), ("mirrored", 0), ("bent and subdivided", 1)]
)
def test_a_body_plays_behind_what_drives_it_and_before_what_refines_it(
    scene, add_body, play, stack, place
):
    obj = add_body()
    STACKS[stack](obj)
    play(3)
    assert obj.modifiers[place] == modifiers.find_modifier(obj)


@pytest.mark.parametrize("is_absolute", [True, False])
@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS.keys())
def test_a_bake_changes_nothing_of_what_is_simulated_next(scene, add_body, play, keys, is_absolute):
    obj = add_body(location=(0.3, 0.2, 0.1))
    keys(obj)
    before = digest_now()
    shape_keys.bake(obj, np.zeros((4, 8, 3), dtype=np.float32), 1, is_absolute=is_absolute)
    assert digest_now() == before


def test_absolute_keys_that_have_run_out_are_not_mixed_with_their_bake(scene, add_body):
    obj = add_body()
    absolute(obj)
    obj.data.shape_keys.eval_time = 25.0
    digest_now()
    shape_keys.bake(obj, np.zeros((4, 8, 3), dtype=np.float32), 1)
    with pytest.raises(SuppleError, match=r"time of Cube's absolute shape keys.*Press Free"):
        digest_now()


def digest_now() -> str:
    captured = capture(bpy.context)
    return digest(captured.scene, captured.settings)
