# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands whose results cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

import bpy
import pytest

from supple.addon import command_line
from supple.core.errors import SuppleError
from supple.tests.core import disks

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs mount or permissions")


def test_a_folder_that_cannot_be_written_is_named_beforehand(tmp_path: Path) -> None:
    images, file = tmp_path / "images", tmp_path / "baked.blend"
    images.mkdir()
    refused = pytest.raises(SuppleError, match=r"cannot be written: .*Choose another --output\.")
    with disks.read_only(tmp_path, images):
        with refused:
            command_line.output_folder(images)
        with refused:
            command_line.output_file(file, "_baked.blend")
    assert command_line.output_folder(images) == images
    assert command_line.output_file(file, "_baked.blend") == file
    assert [path.name for path in tmp_path.rglob("*")] == ["images"]


def test_a_folder_cannot_be_the_file_to_save(tmp_path: Path) -> None:
    with pytest.raises(SuppleError, match=rf"^{tmp_path} is a folder. Name a file as --output\.$"):
        command_line.output_file(tmp_path, "_baked.blend")


@pytest.mark.parametrize("way", ["a.blend", "folder/../a.blend", "link.blend", "linked/a.blend"])
def test_the_open_file_is_not_saved_over(scene, tmp_path: Path, monkeypatch, way: str) -> None:
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.blend").symlink_to("a.blend")
    (tmp_path / "linked").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SuppleError, match=r"is the opened file.*another file as --output\.$"):
        command_line.output_file(Path(way), "_baked.blend")
    assert command_line.output_file(None, "_baked.blend") == tmp_path / "a_baked.blend"


def test_a_file_that_does_not_fit_on_the_disk_is_named(scene, add_body, tmp_path: Path) -> None:
    add_body()
    with disks.small(tmp_path / "disk") as disk:
        disks.fill(disk)
        with pytest.raises(SuppleError, match=r"a\.blend was not saved\. Free some space"):
            command_line.saved(disk / "a.blend")


@pytest.fixture
def filmed(scene: bpy.types.Scene) -> bpy.types.Scene:
    """With a camera, rendered in a moment."""
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising = 1, False
    scene.render.resolution_x = scene.render.resolution_y = 8
    return scene


def test_an_image_that_does_not_fit_on_the_disk_is_an_error(filmed, tmp_path: Path) -> None:
    with disks.small(tmp_path / "disk") as disk:
        command_line.render_image(filmed, disk / "0001.png")
        assert (disk / "0001.png").is_file()
        disks.fill(disk)
        with pytest.raises(SuppleError, match=r"0002\.png was not written whole\. Free some space"):
            command_line.render_image(filmed, disk / "0002.png")
        assert not (disk / "0002.png").exists()


def test_a_scene_without_a_camera_is_refused_beforehand(filmed) -> None:
    command_line.check_camera(filmed)
    marker, camera = filmed.timeline_markers.new("Shot"), filmed.camera
    marker.camera, filmed.camera = camera, None
    command_line.check_camera(filmed)
    marker.camera = None
    with pytest.raises(SuppleError, match=r"^The scene Scene has no camera to render. Choose"):
        command_line.check_camera(filmed)


@pytest.mark.parametrize(
    ("views", "names"), [("INDIVIDUAL", ["1_L.png", "1_R.png"]), ("STEREO_3D", ["1.png"])]
)
def test_in_stereo_there_is_an_image_for_each_eye(filmed, tmp_path: Path, views, names) -> None:
    filmed.render.use_multiview = True
    filmed.render.image_settings.views_format = views
    command_line.render_image(filmed, tmp_path / "1.png")
    assert sorted(path.name for path in tmp_path.glob("*.png")) == names
