# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape keys as the rest shape of a body."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.bake import shape_keys
from supple.addon.capture import fingerprint
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture
from supple.addon.reports import ignored
from supple.core.preparation.prepared import prepare

from ..bake.played import add_own_keys, move_keys, seen, state

VALUES = {10: 0.0, 12: 0.5, 14: 1.0}


@pytest.fixture
def body(scene, add_body) -> bpy.types.Object:
    scene.frame_start, scene.frame_end = 10, 14
    obj = add_body(scale=(1.0, 2.0, 1.0), rotation=(0.0, 0.0, 0.5))
    obj.supple.rest_shape = "shape_keys"
    return obj


def add_growth(obj: bpy.types.Object) -> bpy.types.ShapeKey:
    """A key that doubles it, keyed from 0 to 1."""
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Large", from_mix=False)
    for point in key.points:
        point.co = 2.0 * point.co
    for frame, value in VALUES.items():
        key.value = value
        key.keyframe_insert("value", frame=frame)
    return key


def rest_shape():
    return capture(bpy.context).scene.bodies[0].skin.rest_shape


def path() -> np.ndarray:
    """(T, V, 3) the rest shape at each frame, in the world."""
    (own,) = capture(bpy.context).scene.bodies
    skin, shape = own.skin, own.skin.rest_shape
    return np.stack([shape.displaced(skin.points, shape.amounts.at(f)) for f in range(5)])


def shown(obj: bpy.types.Object, frame: int) -> np.ndarray:
    points, matrix = seen(obj, frame), np.array(obj.matrix_world)
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def test_modelled_is_the_rest_shape_unless_chosen_otherwise(body):
    add_growth(body)
    body.supple.rest_shape = "modelled"
    assert rest_shape() is None


@pytest.mark.parametrize("how", ["animated", "driven", "nla"])
def test_the_rest_shape_is_the_mesh_with_its_keys_at_every_frame(body, how):
    add_own_keys(body)
    move_keys(body, how)
    bpy.context.scene.frame_set(10)
    before = state(body)
    expected = np.stack([shown(body, frame) for frame in range(10, 15)])
    found = path()
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert np.abs(found[4] - found[0]).max() > 0.1
    bpy.context.scene.frame_set(10)
    assert state(body) == before


def test_its_tetrahedra_grow_with_it(body):
    add_growth(body)
    (own,) = prepare(capture(bpy.context).scene)[0].bodies
    amounts = own.rest_shape.amounts.samples
    grown = own.rest_shape.displaced(own.mesh.vertices, amounts[-1])
    assert amounts[:, 0] == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0], abs=0.1)
    np.testing.assert_allclose(grown, 2.0 * own.mesh.vertices, atol=1e-6)


def test_keys_that_are_the_rest_shape_move_no_pins(body):
    add_growth(body)
    body.supple.pin_group = body.vertex_groups.new(name="Pin").name
    body.vertex_groups["Pin"].add([0, 1], 1.0, "REPLACE")
    skin = capture(bpy.context).scene.bodies[0].skin
    assert skin.pin_path is None and skin.rest_shape is not None
    body.supple.rest_shape = "modelled"
    assert capture(bpy.context).scene.bodies[0].skin.pin_path is not None


def test_a_muted_key_does_not_count(body):
    key = add_growth(body)
    key.mute = True
    assert not rest_shape().amounts.samples.any()


def test_a_bake_leaves_the_keys_and_the_rest_shape_as_they_are(body):
    add_growth(body)
    bpy.context.scene.frame_set(10)
    before, expected = state(body), path()
    frames = np.stack([seen(body, frame) for frame in range(10, 15)]) + np.float32(0.25)
    shape_keys.bake(body, frames, 10)
    np.testing.assert_allclose(path(), expected, atol=1e-6)
    np.testing.assert_allclose(seen(body, 12), frames[2], atol=1e-5)
    shape_keys.free(body)
    bpy.context.scene.frame_set(10)
    assert state(body) == before


def test_what_has_no_keys_is_told(body):
    with pytest.raises(
        CaptureError, match=("Cube: Rest Shape is Shape Keys, and its mesh has only a basis key")
    ):
        rest_shape()
    body.shape_key_add(name="Basis")
    with pytest.raises(CaptureError, match="has only a basis key"):
        rest_shape()
    body.shape_key_add(name="Large")
    body.data.shape_keys.use_relative = False
    with pytest.raises(CaptureError, match="are absolute and cannot be its rest shape"):
        rest_shape()


def test_keys_that_stay_at_zero_are_told(body):
    body.shape_key_add(name="Basis")
    key = body.shape_key_add(name="Large")
    key.value = 0.0  # Blender 5 starts new keys at 1.
    assert any("all shape keys stay at 0" in line for line in ignored.messages(bpy.context))
    key.value = 0.5
    assert ignored.messages(bpy.context) == []


def test_plasticity_beside_it_is_refused(body):
    add_growth(body)
    body.supple.use_plasticity = True
    with pytest.raises(CaptureError, match=r"Cube: a rest shape .* excludes plasticity"):
        rest_shape()


def test_another_rest_shape_is_a_change_of_the_settings(body):
    add_growth(body)
    before = fingerprint.body_fingerprint(body)
    body.supple.rest_shape = "modelled"
    assert fingerprint.body_fingerprint(body) != before
