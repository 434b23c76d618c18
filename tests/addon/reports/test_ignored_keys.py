# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys beyond the frames that are simulated are reported where nothing of them is seen."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture.scene import capture
from supple.addon.reports import ignored


def key(owner: bpy.types.ID, path: str, *keys: tuple[int, float]) -> bpy.types.FCurve:
    prefix, _, name = path.rpartition(".")
    settings = owner.path_resolve(prefix)
    for frame, value in keys:
        setattr(settings, name, value)
        owner.keyframe_insert(path, frame=frame)
    bag = owner.animation_data.action.layers[0].strips[0].channelbags[0]
    return bag.fcurves.find(path)


@pytest.mark.parametrize(
    ("frames", "side"), [((4, 9), "after the end frame 4"), ((-7, 1), "before the start frame 1")]
)
def test_keys_of_which_no_frame_sees_a_change_are_reported(scene, add_body, frames, side):
    body = add_body()
    key(body, "supple.young", *zip(frames, (1e4, 5e4), strict=True))
    (message,) = ignored.messages(bpy.context)
    assert message.startswith(
        f"Cube: all keys of Stiffness (Pa) lie {side}, so it does not change."
    )
    captured = capture(bpy.context).scene.bodies[0]
    assert captured.material.young == pytest.approx(1e4 if frames[0] == 4 else 5e4)
    assert captured.stiffness is None


def test_of_keys_on_both_sides_the_frames_take_what_lies_between(add_body):
    curve = key(add_body(), "supple.young", (-2, 1e4), (7, 1e5))
    curve.keyframe_points[0].interpolation = "LINEAR"
    assert ignored.messages(bpy.context) == []
    factors = capture(bpy.context).scene.bodies[0].stiffness
    np.testing.assert_allclose(factors.samples, [1.0, 1.25, 1.5, 1.75], rtol=1e-6)


def test_what_goes_on_beyond_its_keys_is_not_reported(add_body):
    body = add_body()
    curve = key(body, "supple.pressure", (10, 100.0), (20, 200.0))
    assert len(ignored.messages(bpy.context)) == 1
    curve.extrapolation = "LINEAR"
    assert ignored.messages(bpy.context) == []
    curve.extrapolation = "CONSTANT"
    curve.modifiers.new("CYCLES")
    assert ignored.messages(bpy.context) == []


def test_a_value_that_is_keyed_once_is_meant_as_it_is(add_body):
    key(add_body(), "supple.young", (40, 2e4))
    assert ignored.messages(bpy.context) == []


def test_fields_and_gravity_are_reported_too(scene, add_body):
    add_body()
    bpy.ops.object.effector_add(type="WIND")
    key(bpy.context.object, "field.strength", (8, 1.0), (9, 2.0))
    for frame, value in ((-3, -9.81), (0, 0.0)):
        scene.gravity[2] = value
        scene.keyframe_insert("gravity", frame=frame)
    wind, weight = ignored.messages(bpy.context)
    assert "all keys of Strength lie after the end frame 4" in wind
    assert weight.startswith("Scene: all keys of Gravity lie before the start frame 1")


def test_what_absorbs_fields_is_reported_too(add_body):
    add_body()
    bpy.ops.object.effector_add(type="WIND")
    bpy.context.object.field.use_absorption = True
    bpy.ops.mesh.primitive_plane_add()
    bpy.ops.object.modifier_add(type="COLLISION")
    wall = bpy.context.object
    key(wall, "collision.absorption", (10, 0.2), (20, 0.7))
    (message,) = ignored.messages(bpy.context)
    assert message.startswith(f"{wall.name}: all keys of Absorption lie after the end frame 4")
