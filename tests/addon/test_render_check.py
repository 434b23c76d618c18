# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders of bodies whose frames are gone: the log says so, and the render stops."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest

from supple.addon import actions, command_line
from supple.core.errors import SuppleError

pytestmark = pytest.mark.usefixtures("solver_here")


@pytest.fixture
def filmed(scene, add_body, tmp_path: Path) -> bpy.types.Scene:
    """Two bodies that fall, simulated from frame 1 to 4, before a camera."""
    add_body("First")
    add_body("Second", location=(3.0, 0.0, 2.0))
    scene.frame_start, scene.frame_end = 1, 4
    actions.simulate(bpy.context)
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising = 1, False
    scene.render.resolution_x = scene.render.resolution_y = 8
    scene.render.filepath = f"{tmp_path / 'images'}/"
    return scene


def images(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "images").glob("*.png"))


def lose(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "cache")


def said(capfd: pytest.CaptureFixture[str], kind: str) -> list[str]:
    lines = capfd.readouterr().out.splitlines()
    return [line for line in lines if line.startswith(f"Supple: {kind}")]


def test_a_render_with_all_frames_says_nothing(filmed, tmp_path, capfd) -> None:
    path = filmed.render.filepath
    bpy.ops.render.render(animation=True)
    assert images(tmp_path) == ["0001.png", "0002.png", "0003.png", "0004.png"]
    assert said(capfd, "Error") == said(capfd, "Warning") == []
    assert filmed.render.filepath == path


@pytest.fixture
def lost_after_2(filmed, tmp_path) -> Iterator[None]:
    def lose_after(scene: bpy.types.Scene, *_: object) -> None:
        if scene.frame_current == 2:
            lose(tmp_path)

    bpy.app.handlers.render_write.append(lose_after)
    yield
    bpy.app.handlers.render_write.remove(lose_after)


@pytest.mark.usefixtures("lost_after_2")
def test_it_stops_where_frames_get_lost_and_names_each_body(filmed, tmp_path, capfd) -> None:
    path = filmed.render.filepath
    with pytest.raises(RuntimeError, match="Supple stopped this render"):
        bpy.ops.render.render(animation=True)
    assert images(tmp_path) == ["0001.png", "0002.png"]
    first, second, stop = said(capfd, "Error")
    assert first.startswith("Supple: Error: First is rendered without its frames: ")
    assert second.startswith("Supple: Error: Second is rendered without its frames: ")
    assert "The render stops at frame 3." in stop
    assert filmed.render.filepath == path


@pytest.mark.usefixtures("lost_after_2")
def test_it_goes_on_where_that_is_asked_for_and_says_it_once(filmed, tmp_path, capfd) -> None:
    filmed.supple.stop_renders = False
    bpy.ops.render.render(animation=True)
    assert len(images(tmp_path)) == 4
    assert len(said(capfd, "Error")) == 2


def test_a_still_of_a_body_that_is_instanced_is_not_written(filmed, tmp_path, capfd) -> None:
    collection = bpy.data.collections.new("Instanced")
    body = bpy.data.objects["First"]
    collection.objects.link(body)
    filmed.collection.objects.unlink(body)
    instance = bpy.data.objects.new("Instance", None)
    instance.instance_type, instance.instance_collection = "COLLECTION", collection
    filmed.collection.objects.link(instance)
    bpy.data.objects["Second"].hide_render = True
    lose(tmp_path)
    with pytest.raises(RuntimeError):
        bpy.ops.render.render(write_still=True)
    assert not (tmp_path / "images").exists()
    assert [line.split()[2] for line in said(capfd, "Error")] == ["First", "The"]


def test_bodies_that_are_not_rendered_stop_nothing(filmed, tmp_path, capfd) -> None:
    bpy.data.objects["First"].hide_render = True
    hidden = bpy.data.collections.new("Hidden")
    hidden.hide_render = True
    filmed.collection.children.link(hidden)
    hidden.objects.link(bpy.data.objects["Second"])
    filmed.collection.objects.unlink(bpy.data.objects["Second"])
    lose(tmp_path)
    bpy.ops.render.render(write_still=True)
    assert said(capfd, "Error") == []


def test_frames_after_the_last_and_bodies_that_are_not_simulated_are_told(
    filmed, add_body, capfd
) -> None:
    add_body("Third", location=(6.0, 0.0, 2.0))
    filmed.frame_start, filmed.frame_end = 4, 6
    bpy.ops.render.render(animation=True)
    assert said(capfd, "Warning") == [
        "Supple: Warning: Third is not simulated.",
        "Supple: Warning: First has no frames after frame 4 and stands still.",
        "Supple: Warning: Second has no frames after frame 4 and stands still.",
    ]


def test_a_command_says_which_frames_are_gone(filmed, tmp_path) -> None:
    (lost,) = (tmp_path / "cache").rglob("1.pc2")
    lost.unlink()
    with pytest.raises(SuppleError, match=r"1\.pc2 is missing"):
        command_line.render_image(filmed, tmp_path / "image.png")
    assert not (tmp_path / "image.png").exists()
