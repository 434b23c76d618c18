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
from .played import START, TOLERANCE, Positions, add_own_keys, assert_plays, move_keys, seen


def test_a_shared_mesh_is_copied_with_its_animation(
    obj: bpy.types.Object, frames: Positions
) -> None:
    add_own_keys(obj)
    move_keys(obj, "animated")
    twin = bpy.data.objects.new("Twin", obj.data)
    bpy.context.collection.objects.link(twin)
    alone = seen(twin, START + 4)
    notes = shape_keys.bake(obj, frames, START)
    assert notes[0] == f"{obj.name} has a mesh of its own now."
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

    monkeypatch.setattr(shape_keys, "_add_block", fail)
    with pytest.raises(MemoryError):
        shape_keys.bake(obj, frames, START)
    assert obj.data == twin.data
    assert list(bpy.data.meshes) == [obj.data]
    assert obj.data.shape_keys is None


def test_a_linked_object_is_refused_with_the_cure_and_an_override_baked(
    obj: bpy.types.Object, frames: Positions, tmp_path: Path
) -> None:
    library = tmp_path / "library.blend"
    name = obj.name
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    empty_file()
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = [name]
    linked = bpy.data.objects[name]
    bpy.context.collection.objects.link(linked)
    with pytest.raises(SuppleError, match=r"linked from another file.*Library Override"):
        shape_keys.bake(linked, frames, START)
    linked.override_create(remap_local_usages=True)
    shape_keys.bake(bpy.context.collection.objects[0], frames, START)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "baked.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked.blend"))
    assert_plays(bpy.context.collection.objects[0], frames)
