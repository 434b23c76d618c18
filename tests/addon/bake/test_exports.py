# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports of a bake to other programs: exported and imported again, it moves as it was baked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from supple.addon.bake import key_curves, shape_keys

Points = NDArray[np.float64]

FRAMES = range(1, 9)
TOLERANCE = 1e-5


_EXPORT_GLTF = """
import sys, bpy
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
bpy.ops.export_scene.gltf(filepath=sys.argv[2], export_format="GLB")
"""


def _gltf(path: Path) -> None:
    """In a process of its own: pytest would not end after Blender's exporter has run in it."""
    file = str(path.with_suffix(".blend"))
    bpy.ops.wm.save_as_mainfile(filepath=file, copy=True)
    subprocess.run([sys.executable, "-c", _EXPORT_GLTF, file, str(path)], check=True)


def _fbx(path: Path) -> None:
    bpy.ops.export_scene.fbx(filepath=str(path))


def _fbx_of_one_take(path: Path) -> None:
    bpy.ops.export_scene.fbx(
        filepath=str(path), bake_anim_use_nla_strips=False, bake_anim_use_all_actions=False
    )


def _alembic(path: Path) -> None:
    bpy.ops.wm.alembic_export(filepath=str(path), start=FRAMES[0], end=FRAMES[-1])


def _usd(path: Path) -> None:
    bpy.ops.wm.usd_export(filepath=str(path), export_animation=True)


# Each with its exporter, what its name ends with, how it is imported, and by how many frames
# Blender's importer puts it later.
FORMATS: dict[str, tuple[Callable[[Path], None], str, str, int]] = {
    "glTF": (_gltf, "glb", "import_scene.gltf", 0),
    "FBX": (_fbx, "fbx", "import_scene.fbx", 0),
    "FBX of one take": (_fbx_of_one_take, "fbx", "import_scene.fbx", 1),
    "Alembic": (_alembic, "abc", "wm.alembic_import", 0),
    "USD": (_usd, "usdc", "wm.usd_import", 0),
}


def _operator(name: str) -> Any:
    group, _, word = name.partition(".")
    return getattr(getattr(bpy.ops, group), word)


def _world(obj: bpy.types.Object, frame: int) -> Points:
    bpy.context.scene.frame_set(frame)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    points = np.array([tuple(evaluated.matrix_world @ vertex.co) for vertex in mesh.vertices])
    evaluated.to_mesh_clear()
    return points


def _matching(points: Points, others: Points) -> NDArray[np.intp]:
    """(V,) the nearest of others to each: glTF splits vertices."""
    gaps = np.linalg.norm(points[:, None] - others[None], axis=2)
    return gaps.argmin(axis=1)


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
    try:
        _operator(importer).get_rna_type()
    except KeyError:
        pytest.skip(f"this Blender has no {importer}")
    action = key_curves.new_action("All")
    for obj in bodies:
        shape_keys.bake(obj, _frames(obj), FRAMES[0], is_absolute=False, action=action)
    key_curves.add_to_object(bodies[0])
    baked = {obj.name: [_world(obj, frame) for frame in FRAMES] for obj in bodies}
    path = tmp_path / f"bodies.{ending}"
    export(path)
    bpy.data.batch_remove([*bpy.data.objects, *bpy.data.meshes, *bpy.data.actions])
    _operator(importer)(filepath=str(path))
    for name, expected in baked.items():
        obj = _imported(name)
        found = [_world(obj, frame + later) for frame in FRAMES]
        order = _matching(expected[0], found[0])
        for points, others in zip(expected, found, strict=True):
            np.testing.assert_allclose(others[order], points, rtol=0, atol=TOLERANCE)
        assert np.abs(expected[-1] - expected[0]).max() > 0.5


def _imported(name: str) -> bpy.types.Object:
    """The mesh object of that name, or below it: USD has a parent for the place, and from Blender
    5.2 on one for a skeleton."""
    for obj in bpy.data.objects:
        if obj.type == "MESH" and name in {each.name.replace("_", " ") for each in _upwards(obj)}:
            return obj
    raise AssertionError(f"{name} was not imported")


def _upwards(obj: bpy.types.Object | None) -> Iterator[bpy.types.Object]:
    """An object and what is above it."""
    while obj is not None:
        yield obj
        obj = obj.parent


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
    expected = [_world(obj, frame) for frame in FRAMES]
    bpy.data.batch_remove([*bpy.data.objects, *bpy.data.meshes, *bpy.data.actions])
    bpy.ops.import_scene.fbx(filepath=str(path))
    found = _imported("Body 0")
    for frame, points in zip(FRAMES, expected, strict=True):
        np.testing.assert_allclose(_world(found, frame), points, rtol=0, atol=TOLERANCE)
