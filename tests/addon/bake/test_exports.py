# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports of a bake to other programs: exported and imported again, it moves as it was baked."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from supple.addon.bake import key_curves, shape_keys

from ..export.formats import FORMATS, Points, imported, matching, read, skip_without, world

FRAMES = range(1, 9)
TOLERANCE = 1e-5


@pytest.fixture
def bodies(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Two baked ones that move apart and are bent, one of them turned and scaled."""
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    found = []
    for number, place in enumerate(((0, 0, 1), (4, 1, 2))):
        bpy.ops.mesh.primitive_uv_sphere_add(segments=8, ring_count=5, location=place)
        obj = bpy.context.object
        obj.name = f"Body {number}"
        if number:
            obj.rotation_euler, obj.scale = (0.3, 0.2, 0.1), (1.5, 0.5, 2.0)
        found.append(obj)
    return found


def _frames(obj: bpy.types.Object) -> NDArray[np.float32]:
    rest = np.array([tuple(vertex.co) for vertex in obj.data.vertices])
    bend = np.random.default_rng(len(rest)).normal(size=rest.shape)
    moved = [
        rest + 0.2 * np.sin(index) * bend - [0, 0, 0.02 * index**2] for index in range(len(FRAMES))
    ]
    return np.array(moved, dtype=np.float32)


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_exported_moves_as_it_was_baked(bodies, tmp_path, kind):
    export, ending, importer, later = FORMATS[kind]
    skip_without(importer)
    action = key_curves.new_action("All")
    for obj in bodies:
        shape_keys.bake(obj, _frames(obj), FRAMES[0], is_absolute=False, action=action)
    key_curves.add_to_object(bodies[0])
    baked = {obj.name: [world(obj, frame) for frame in FRAMES] for obj in bodies}
    path = tmp_path / f"bodies.{ending}"
    export(path)
    read(importer, path)
    for name, expected in baked.items():
        obj = imported(name)
        found = [world(obj, frame + later) for frame in FRAMES]
        order = matching(expected[0], found[0])
        for points, others in zip(expected, found, strict=True):
            np.testing.assert_allclose(others[order], points, rtol=0, atol=TOLERANCE)
        assert np.abs(expected[-1] - expected[0]).max() > 0.5


def test_freeing_takes_the_bakes_action_from_the_object_and_leaves_its_own_keys(bodies):
    first, second = bodies
    action = key_curves.new_action("All")
    for obj in bodies:
        shape_keys.bake(obj, _frames(obj), FRAMES[0], is_absolute=False, action=action)
        assert key_curves.add_to_object(obj)
        assert obj.animation_data.action == obj.data.shape_keys.animation_data.action == action
    second.keyframe_insert("location", frame=3)
    for obj in bodies:
        shape_keys.free(obj)
        assert obj.data.shape_keys is None
    assert first.animation_data is None
    assert second.animation_data.action == action
    assert action.frame_range[:] == (3.0, 3.0)
    assert [slot.target_id_type for slot in action.slots] == ["OBJECT"]


def test_a_bake_of_all_bodies_is_one_action_and_freeing_them_removes_it(bodies):
    action = key_curves.new_action("All")
    for obj in bodies:
        shape_keys.bake(obj, _frames(obj), FRAMES[0], action=action)
    key_curves.add_to_object(bodies[1])
    assert list(bpy.data.actions) == [action]
    shape_keys.free(bodies[0])
    assert list(bpy.data.actions) == [action]
    np.testing.assert_allclose(_local(bodies[1], 4), _frames(bodies[1])[3], atol=TOLERANCE)
    shape_keys.free(bodies[1])
    assert not bpy.data.actions
    assert [obj.animation_data for obj in bodies] == [None, None]


def _local(obj: bpy.types.Object, frame: int) -> Points:
    bpy.context.scene.frame_set(frame)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([tuple(vertex.co) for vertex in evaluated.data.vertices])


def test_an_object_that_is_animated_keeps_its_action(bodies):
    obj = bodies[0]
    obj.keyframe_insert("location", frame=3)
    own = obj.animation_data.action
    shape_keys.bake(obj, _frames(obj), FRAMES[0], is_absolute=False)
    assert not key_curves.add_to_object(obj)
    assert obj.animation_data.action == own
    shape_keys.free(obj)
    assert obj.animation_data.action == own


def test_fbx_files_hold_the_motion_of_a_subdivided_body_without_its_modifiers(bodies, tmp_path):
    obj = bodies[0]
    obj.modifiers.new("Subdivision", "SUBSURF")
    bpy.data.objects.remove(bodies[1])
    shape_keys.bake(obj, _frames(obj), FRAMES[0], is_absolute=False)
    key_curves.add_to_object(obj)
    path = tmp_path / "body.fbx"
    bpy.ops.export_scene.fbx(filepath=str(path), use_mesh_modifiers=False)
    obj.modifiers.clear()
    expected = [world(obj, frame) for frame in FRAMES]
    read("import_scene.fbx", path)
    found = imported("Body 0")
    for frame, points in zip(FRAMES, expected, strict=True):
        np.testing.assert_allclose(world(found, frame), points, rtol=0, atol=TOLERANCE)
