# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones: a skinned copy that moves as the body, also in other programs."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest

from supple.addon import ids
from supple.addon.export.bones import Bones
from supple.core.errors import SuppleError

from .conftest import LAST, Throw
from .formats import FORMATS, imported, matching, read, skip_without, world

FRAMES = range(1, LAST + 1)


def make(count: int = 8) -> str:
    work = Bones(bpy.context, count)
    while work.step():
        assert "bones" in work.describe() and 0.0 <= work.progress() <= 1.0
    return work.finish(bpy.context)


@pytest.mark.parametrize("baked", [False, True])
def test_the_copy_moves_as_the_body_to_the_reported_error(thrown: Throw, baked: bool) -> None:
    obj = thrown(baked)
    expected = np.array([world(obj, frame) for frame in FRAMES])
    message = make()
    mean, largest = (float(each) / 100.0 for each in re.findall(r"([\d.]+)%", message))
    copy = bpy.data.objects["Bar Skinned"]
    found = np.array([world(copy, frame) for frame in FRAMES])
    size = np.linalg.norm(np.ptp(expected[0], axis=0))
    errors = np.linalg.norm(found - expected, axis=2) / size
    assert np.sqrt((errors**2).mean()) == pytest.approx(mean, abs=6e-4)
    assert errors.max() == pytest.approx(largest, abs=6e-4)
    assert 0.0 < mean < 0.02
    assert "Hidden: Bar." in message and "Set more Bones" not in message


def test_bones_are_keyed_and_weigh_each_vertex_with_at_most_four(thrown: Throw) -> None:
    thrown()
    make(8)
    copy, armature = bpy.data.objects["Bar Skinned"], bpy.data.objects["Bar Bones"]
    assert len(armature.data.bones) == 8
    assert copy.parent == armature and [m.type for m in copy.modifiers] == ["ARMATURE"]
    assert copy.data.shape_keys is None and not copy.supple.enabled
    weights = [[each.weight for each in vertex.groups] for vertex in copy.data.vertices]
    assert max(map(len, weights)) <= 4
    np.testing.assert_allclose([sum(each) for each in weights], 1.0, atol=1e-5)
    assert armature.animation_data.action.frame_range[:] == (1.0, LAST)


def test_too_few_bones_are_reported(thrown: Throw) -> None:
    thrown()
    assert "Set more Bones to come closer." in make(1)


def test_the_body_is_hidden_and_keeps_its_frames(thrown: Throw) -> None:
    obj = thrown()
    expected = world(obj, 5)
    make()
    assert obj.hide_get() and obj.hide_render
    obj.hide_set(False)
    np.testing.assert_array_equal(world(obj, 5), expected)


def test_a_cancelled_fit_makes_nothing(thrown: Throw) -> None:
    obj = thrown()
    work = Bones(bpy.context, 8)
    assert work.cancel() == "Cancelled. Nothing was made."
    assert list(bpy.context.scene.objects) == [obj] and not bpy.data.armatures


def test_the_button_says_why_it_is_grey(thrown: Throw) -> None:
    obj = thrown()
    obj.hide_set(True)
    with pytest.raises(SuppleError, match=r"hidden\. Show them first"):
        Bones(bpy.context, 8)
    obj.modifiers.clear()
    with pytest.raises(RuntimeError, match=r"Nothing is simulated yet\. Press Simulate first"):
        bpy.ops.supple.make_bones()
    assert ids.MAKE_BONES == "supple.make_bones"


@pytest.mark.parametrize("kind", ["glTF", "FBX"])
def test_the_skinned_copy_comes_back_from_a_file(thrown: Throw, tmp_path, kind: str) -> None:
    export, ending, importer, later = FORMATS[kind]
    skip_without(importer)
    thrown()
    make()
    copy = bpy.data.objects["Bar Skinned"]
    expected = [world(copy, frame) for frame in FRAMES]
    size = float(np.linalg.norm(np.ptp(expected[0], axis=0)))
    bpy.data.objects.remove(bpy.data.objects["Bar"])
    path = tmp_path / f"bones.{ending}"
    export(path)
    read(importer, path)
    found = imported("Bar Skinned")
    order = matching(expected[0], world(found, FRAMES[0] + later))
    for frame, points in zip(FRAMES, expected, strict=True):
        others = world(found, frame + later)[order]
        np.testing.assert_allclose(others, points, rtol=0, atol=1e-5 * size)


def test_an_object_that_is_edited_has_to_be_left_first(thrown: Throw) -> None:
    obj = thrown()
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    for operator in (bpy.ops.supple.make_bones, bpy.ops.supple.move_origins):
        with pytest.raises(RuntimeError, match=r"Go back to Object Mode first\."):
            operator()
    bpy.ops.object.mode_set(mode="OBJECT")
    assert bpy.ops.supple.make_bones.poll()
