# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of meshes that objects share, or that are linked from another file."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon.bake import shape_keys
from supple.core.errors import SuppleError

from ..conftest import empty_file
from .played import START, TOLERANCE, Positions, add_own_keys, assert_plays, move_keys, rest, seen


def _linked(obj: bpy.types.Object, library: Path) -> bpy.types.Object:
    """An object of a file, linked into an empty one."""
    name = obj.name
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    empty_file()
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = [name]
    linked = bpy.data.objects[name]
    bpy.context.collection.objects.link(linked)
    return linked


def test_a_shared_mesh_is_copied_with_its_animation(
    obj: bpy.types.Object, frames: Positions
) -> None:
    add_own_keys(obj)
    move_keys(obj, "animated")
    twin = bpy.data.objects.new("Twin", obj.data)
    bpy.context.collection.objects.link(twin)
    alone = seen(twin, START + 4)
    notes = shape_keys.bake(obj, frames, START)
    assert notes[0] == f"{obj.name} uses its own copy of the mesh until Free."
    assert twin.data != obj.data
    assert shape_keys.bake(twin, frames[::-1], START)[0].startswith("Muted")
    assert_plays(obj, frames)
    assert_plays(twin, frames[::-1])
    shape_keys.free(twin)
    assert_plays(obj, frames)
    np.testing.assert_allclose(seen(twin, START + 4), alone, atol=TOLERANCE)


def test_a_shared_mesh_is_shared_again_after_a_bake_that_fails(
    obj: bpy.types.Object, frames: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = bpy.data.objects.new("Twin", obj.data)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(shape_keys, "add_block", fail)
    with pytest.raises(MemoryError):
        shape_keys.bake(obj, frames, START)
    assert obj.data == twin.data
    assert list(bpy.data.meshes) == [obj.data]
    assert obj.data.shape_keys is None


def test_a_linked_object_is_refused_with_the_cure_and_an_override_baked(
    obj: bpy.types.Object, frames: Positions, tmp_path: Path
) -> None:
    linked = _linked(obj, tmp_path / "library.blend")
    with pytest.raises(SuppleError, match=r"linked from another file.*Library Override"):
        shape_keys.bake(linked, frames, START)
    linked.override_create(remap_local_usages=True)
    shape_keys.bake(bpy.context.collection.objects[0], frames, START)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "baked.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked.blend"))
    assert_plays(bpy.context.collection.objects[0], frames)


def test_freeing_linked_duplicates_lets_them_share_their_mesh_again(
    obj: bpy.types.Object, frames: Positions
) -> None:
    twin = bpy.data.objects.new("Twin", obj.data)
    bpy.context.collection.objects.link(twin)
    for order in ((obj, twin), (twin, obj)):
        shared = obj.data
        for each in (obj, twin):
            shape_keys.bake(each, frames, START)
            shape_keys.bake(each, frames[::-1], START)
        assert obj.data != twin.data
        assert shape_keys.free(order[0])
        # Its twin is baked still, and it stands still meanwhile.
        still = seen(order[0], START), seen(order[0], START + 5)
        np.testing.assert_array_equal(*still)
        assert_plays(order[1], frames[::-1])
        assert shape_keys.free(order[1])
        assert obj.data == twin.data == shared
        assert list(bpy.data.meshes) == [shared]
        assert not bpy.data.actions


def test_freeing_an_animated_shared_mesh_leaves_one_action(
    obj: bpy.types.Object, frames: Positions
) -> None:
    add_own_keys(obj)
    move_keys(obj, "animated")
    twin = bpy.data.objects.new("Twin", obj.data)
    bpy.context.collection.objects.link(twin)
    moved = seen(twin, START + 4)
    shape_keys.bake(twin, frames, START)
    bpy.context.scene.frame_set(START + 2)
    shape_keys.free(twin)
    assert obj.data == twin.data
    assert len(bpy.data.actions) == 1
    np.testing.assert_array_equal(seen(twin, START + 4), moved)


@pytest.mark.parametrize("what", ["vertex", "key", "material", "weight", "colour"])
def test_what_was_edited_while_baked_is_kept(
    obj: bpy.types.Object, frames: Positions, what: str
) -> None:
    obj.vertex_groups.new(name="Group").add([1], 0.5, "REPLACE")
    twin = bpy.data.objects.new("Twin", obj.data)
    bpy.context.collection.objects.link(twin)
    shape_keys.bake(obj, frames, START)
    mesh = obj.data
    if what == "vertex":
        mesh.shape_keys.reference_key.points[3].co.z += 0.1
        mesh.vertices[3].co.z += 0.1
    elif what == "key":
        obj.shape_key_add(name="Smile", from_mix=False)
    elif what == "material":
        mesh.materials.append(bpy.data.materials.new("Red"))
    elif what == "weight":
        obj.vertex_groups["Group"].add([1], 0.7, "REPLACE")
    else:
        mesh.color_attributes.new("Colour", "FLOAT_COLOR", "POINT")
    shape_keys.free(obj)
    assert obj.data == mesh != twin.data


def _has_linked_mesh(obj: bpy.types.Object) -> bool:
    return obj.data.library is not None


def test_an_override_takes_its_mesh_from_its_library_again(
    obj: bpy.types.Object, frames: Positions, tmp_path: Path
) -> None:
    name, library = obj.name, tmp_path / "library.blend"
    linked = _linked(obj, library)
    linked.override_create(remap_local_usages=True)
    shape_keys.bake(bpy.context.collection.objects[0], frames, START)
    user = str(tmp_path / "user.blend")
    bpy.ops.wm.save_as_mainfile(filepath=user)
    bpy.ops.wm.open_mainfile(filepath=user)
    override = bpy.context.collection.objects[0]
    assert not _has_linked_mesh(override)
    assert shape_keys.free(override)
    assert _has_linked_mesh(override)
    bpy.ops.wm.save_as_mainfile(filepath=user)
    # The library's mesh is edited.
    bpy.ops.wm.open_mainfile(filepath=str(library))
    for vertex in bpy.data.objects[name].data.vertices:
        vertex.co.z += 2.0
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.open_mainfile(filepath=user)
    override = bpy.context.collection.objects[0]
    assert override.override_library is not None
    assert rest(override)[:, 2].mean() == pytest.approx(2.0, abs=1e-5)
