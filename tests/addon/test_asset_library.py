# SPDX-License-Identifier: GPL-3.0-or-later
"""The asset library of ready bodies, and its entry in the preferences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest

from supple.addon import asset_library
from supple.addon.capture.scene import capture
from supple.addon.properties import presets
from supple.addon.reports import ignored
from supple.sample_scenes import assets

from .conftest import empty_file


@pytest.fixture(autouse=True)
def empty_file_afterwards() -> Iterator[None]:
    yield
    empty_file()


def _appended(path: Path) -> list[bpy.types.Object]:
    empty_file()
    with bpy.data.libraries.load(str(path), assets_only=True) as (source, wanted):
        wanted.objects = list(source.objects)
    for index, obj in enumerate(wanted.objects):
        bpy.context.collection.objects.link(obj)
        obj.location.x = 2.0 * index
    return list(wanted.objects)


def _described(path: Path) -> list[tuple[object, ...]]:
    return [
        (
            *(obj.name, obj.asset_data.catalog_id, obj.asset_data.description),
            *(presets.label(obj.supple), obj.supple.young, obj.supple.resolution),
            [tuple(vertex.co) for vertex in obj.data.vertices],
            [modifier.type for modifier in obj.modifiers],
        )
        for obj in _appended(path)
    ]


def test_the_committed_library_is_what_the_script_builds(tmp_path: Path):
    committed = asset_library.FOLDER / assets.FILE
    built = assets.build_library(tmp_path, with_previews=False)
    assert _described(built) == _described(committed)
    names = (tmp_path / assets.CATALOGS, asset_library.FOLDER / assets.CATALOGS)
    assert names[0].read_text() == names[1].read_text()
    assert committed.stat().st_size < 500_000


def test_each_body_is_soft_has_a_picture_and_can_be_simulated():
    bodies = _appended(asset_library.FOLDER / assets.FILE)
    assert {obj.name for obj in bodies} == set(assets.ASSETS)
    for obj in bodies:
        assert obj.supple.enabled and tuple(obj.preview.image_size) == (128, 128)
        assert obj.data.materials and 0.3 < max(obj.dimensions) < 1.3
        # It stands on the place where it is dropped.
        assert min(vertex.co.z for vertex in obj.data.vertices) == pytest.approx(0.0, abs=0.02)
    bpy.context.view_layer.update()
    assert len(capture(bpy.context).scene.bodies) == len(bodies)
    assert ignored.messages(bpy.context) == []


def test_the_library_is_added_once_and_others_stay(tmp_path: Path):
    libraries = bpy.context.preferences.filepaths.asset_libraries
    own = libraries.new(name="Mine", directory=str(tmp_path))
    try:
        asset_library.register()
        (library,) = asset_library.libraries()
        assert (library.name, library.import_method) == ("Supple", "APPEND")
        asset_library.unregister()
        assert asset_library.libraries() == []
        assert "Mine" in libraries
    finally:
        asset_library.register()
        libraries.remove(libraries["Mine"])
    assert own is not None and len(asset_library.libraries()) == 1
