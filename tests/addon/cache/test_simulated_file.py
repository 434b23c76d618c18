# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that was simulated, saved, moved with its cache and opened again.

Two cubes fall freely for three frames.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon import actions, modifiers
from supple.addon.bake import shape_keys
from supple.addon.cache import scene_cache
from supple.addon.cache.scene_cache import OpenedJob
from supple.addon.capture.scene import capture
from supple.addon.playback import mesh_cache
from supple.addon.reports import run_reports
from supple.addon.worker import session, solver_environment
from supple.core.errors import SuppleError
from supple.core.job import Job, lock
from supple.core.job.files import read_json, write_json
from supple.tests.core import disks

from ..conftest import empty_file, evaluated_positions, working_here, world_positions


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if solver_environment.find() is None:
        pytest.skip("no Python with torch here")
    folder = tmp_path_factory.mktemp("original")
    empty_file()
    scene = bpy.context.scene
    scene.frame_end, scene.supple.substeps, scene.supple.use_ground = 4, 50, False
    for name, x in (("A", 0.0), ("B", 3.0)):
        bpy.ops.mesh.primitive_cube_add(size=1.0, location=(x, 0, 0))
        bpy.context.object.name = name
        bpy.ops.supple.add()
        bpy.context.object.supple.resolution = 2
        bpy.context.object.supple.damping = 0.0
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "drop.blend"))
    with working_here():
        assert bpy.ops.supple.simulate() == {"FINISHED"}
    bpy.ops.wm.save_mainfile()
    return folder


@pytest.fixture
def file(original: Path, solver_here: None, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "moved")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "moved" / "drop.blend"))
    return tmp_path / "moved"


@pytest.fixture
def folder(file: Path) -> Path:
    (folder,) = (file / "supple_cache").iterdir()
    return folder


def bodies() -> list[bpy.types.Object]:
    return [bpy.data.objects["A"], bpy.data.objects["B"]]


def reopened() -> OpenedJob:
    captured = capture(bpy.context)
    return scene_cache.open_job(bpy.context.scene, captured.scene, captured.settings)


def test_it_plays_a_free_fall(file):
    for obj in bodies():
        fallen = (world_positions(obj, 4) - world_positions(obj, 1))[:, 2]
        assert fallen == pytest.approx(-0.5 * 9.81 * (3 / 24) ** 2, rel=0.01)


def test_simulating_again_has_nothing_to_do(file, monkeypatch):
    monkeypatch.setattr(session, "start", lambda *_: pytest.fail("there was nothing to do"))
    assert "Already simulated" in actions.simulate(bpy.context)


@pytest.mark.skipif(os.name != "posix", reason="needs mount or permissions")
def test_what_is_finished_is_played_and_baked_where_nothing_can_be_written(file, folder):
    bodies()[0].supple.density = 900.0
    older = reopened().job.folder
    bodies()[0].supple.density = 1000.0
    show(folder)
    with disks.read_only(file, *(path for path in file.rglob("*") if path.is_dir())):
        assert "Already simulated" in actions.simulate(bpy.context)
        assert "Baked 4 frames" in actions.bake(bpy.context)
    assert older.is_dir()


@pytest.mark.skipif(os.name != "posix", reason="needs mount or permissions")
def test_more_frames_than_can_be_added_go_to_the_folder_that_is_chosen(file, folder, tmp_path):
    scene = bpy.context.scene
    scene.frame_end, scene.supple.cache_folder = 6, str(tmp_path / "chosen")
    with disks.read_only(file, *(path for path in file.rglob("*") if path.is_dir())):
        actions.simulate(bpy.context)
        shown = mesh_cache.shown_folder(scene)
    assert shown is not None and shown.parent == tmp_path / "chosen"
    assert (Job(folder).last_frame(), Job(shown).last_frame()) == (3, 5)


def test_its_time_steps_are_still_reported(file):
    folder = mesh_cache.shown_folder(bpy.context.scene)
    assert "50 steps per frame" in run_reports.read(Job(folder), 1).steps


def test_baked_keys_show_what_was_simulated(file):
    before = {
        (obj.name, frame): evaluated_positions(obj, frame)
        for obj in bodies()
        for frame in range(1, 5)
    }
    assert "Baked 4 frames" in actions.bake(bpy.context)
    for (name, frame), positions in before.items():
        obj = bpy.data.objects[name]
        assert len(obj.modifiers) == 0
        np.testing.assert_allclose(evaluated_positions(obj, frame), positions, atol=1e-6)


def test_a_bake_with_a_step_is_said(file):
    obj = bodies()[0]
    before = [evaluated_positions(obj, frame) for frame in (1, 4)]
    assert bpy.ops.supple.bake(step=2) == {"FINISHED"}
    after = [evaluated_positions(obj, frame) for frame in (1, 4)]
    np.testing.assert_allclose(after, before, atol=1e-6)
    assert len(obj.data.shape_keys.key_blocks) == 1 + 3
    actions.simulate(bpy.context)
    message = actions.bake(bpy.context, 2)
    assert (
        "4 frames to shape keys, with 3 keys, one every 2 frames and one at the last frame"
        in message
    )
    actions.simulate(bpy.context)
    with pytest.raises(SuppleError, match="at least 1, not 0"):
        actions.bake(bpy.context, 0)


def test_after_a_bake_the_same_frames_can_be_simulated_again(file, folder, monkeypatch):
    monkeypatch.setattr(session, "start", lambda *_: pytest.fail("there was nothing to do"))
    actions.bake(bpy.context)
    actions.simulate(bpy.context)
    assert mesh_cache.shown_folder(bpy.context.scene) == folder
    assert all(shape_keys.has_bake(obj) for obj in bodies())


def test_a_bake_that_fails_leaves_no_body_baked(file):
    first, second = bodies()
    actions.bake(bpy.context)
    actions.simulate(bpy.context)
    shape_keys.free(second)
    second.shape_key_add(name="Basis")
    second.shape_key_add(name="Blink").keyframe_insert("mute", frame=2)
    with pytest.raises(SuppleError, match="Blink of B is switched on and off"):
        actions.bake(bpy.context)
    assert shape_keys.has_bake(first)
    assert not shape_keys.has_bake(second)
    assert modifiers.find_modifier(first) is not None


def test_free_leaves_nothing(file, folder):
    actions.bake(bpy.context)
    actions.simulate(bpy.context)
    assert bpy.ops.supple.free() == {"FINISHED"}
    assert not folder.exists()
    for obj in bodies():
        assert len(obj.modifiers) == 0
        assert obj.data.shape_keys is None
    assert not bpy.ops.supple.free.poll()


def test_removing_a_soft_body_stops_its_playback_only(file):
    first, second = bodies()
    bpy.ops.object.select_all(action="DESELECT")
    first.select_set(True)
    bpy.ops.supple.remove()
    assert len(first.modifiers) == 0
    assert modifiers.find_modifier(second) is not None


def test_a_scene_changed_by_hand_is_written_anew_with_a_warning(file, folder):
    described = json.loads((folder / "scene.json").read_text())
    described["scene"]["bodies"][0]["density"] = 1.0
    (folder / "scene.json").write_text(json.dumps(described))
    opened = reopened()
    assert "scene.json is damaged" in opened.warning
    assert opened.is_complete
    assert opened.job.scene.bodies[0].density == 1000.0


@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("scene.json", 3),
        ("scene.npz", 3),
        ("solids.json", -1),
        ("solids.npz", -1),
        ("frames/000002.npy", 1),
        ("frames/000000.npy", -1),
    ],
)
def test_a_file_cut_off_is_named_and_made_again(file, folder, name, reached):
    path = folder / name
    before = {each: each.read_bytes() for each in contents(folder)}
    path.write_bytes(path.read_bytes()[:40])
    opened = reopened()
    assert f"{Path(name).name} is damaged" in opened.warning
    assert (opened.reached, opened.is_complete) == (reached, reached == 3)
    actions.simulate(bpy.context)
    assert {each: each.read_bytes() for each in contents(folder)} == before


def test_all_frames_are_shown_though_a_checkpoint_is_damaged(file, folder):
    (folder / "checkpoint_1.npz").write_bytes(b"")
    assert (reopened().reached, reopened().warning) == (3, "")


def test_a_longer_run_goes_on_from_the_checkpoint_that_is_left(file, folder):
    bpy.context.scene.frame_end = 5
    (folder / "checkpoint_1.npz").write_bytes(b"")
    opened = reopened()
    assert "checkpoint_1.npz is damaged" in opened.warning
    assert opened.reached == 2


def test_a_frame_that_is_gone_is_made_again_with_a_warning(file, folder):
    (folder / "frames" / "000001.npy").unlink()
    opened = reopened()
    assert "000001.npy is missing: the damaged parts are made again" in opened.warning
    assert opened.reached == 0
    assert "Simulated frames 1 to 4" in actions.simulate(bpy.context)


def test_a_folder_that_holds_another_simulation_starts_over(file, folder):
    content = read_json(folder / "solids.json")
    write_json(folder / "solids.json", content | {"run": "another"})
    opened = reopened()
    assert "holds another simulation" in opened.warning
    assert opened.reached == -1
    assert not opened.job.has_frame(0)
    assert "Simulated frames 1 to 4" in actions.simulate(bpy.context)


def test_a_damaged_log_is_reported_beside_the_steps(file, folder):
    path = folder / "log.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"frame": 1', b'"frame": 2'))
    report = run_reports.read(Job(folder), 1)
    assert "50 steps per frame" in report.steps
    assert report.warning.endswith("log.jsonl is damaged: the record of frame 2 is lost")


def test_frames_of_another_version_stay_on_screen_and_are_reported(file, folder, monkeypatch):
    monkeypatch.setattr("supple.core.job.settings.version", lambda: "9.9.9")
    monkeypatch.setattr("supple.addon.cache.scene_cache.version", lambda: "9.9.9")
    opened = reopened()
    assert opened.job.folder != folder
    assert "were simulated by Supple 0.1.0. This is Supple 9.9.9, which" in opened.warning
    assert folder.exists()


def test_a_folder_in_which_another_process_simulates_is_left_alone(file, folder):
    before = {each: each.read_bytes() for each in contents(folder)}
    bpy.context.scene.frame_end = 9
    with lock.hold(folder):
        with pytest.raises(SuppleError, match=f"in use: process {os.getpid()} simulates there"):
            actions.simulate(bpy.context)
        with pytest.raises(SuppleError, match="in use"):
            actions.free(bpy.context)
    assert {each: each.read_bytes() for each in contents(folder)} == before


def contents(folder: Path) -> list[Path]:
    """The files of a job that are the same after every run."""
    return [
        path
        for path in folder.rglob("*.*")
        if path.is_file() and path.suffix != ".pc2" and path.name != "output.txt"
    ]


def test_the_run_that_is_shown_outlives_the_next_one_and_no_longer(file, folder):
    folders = [folder]
    for density in (900.0, 800.0):
        bodies()[0].supple.density = density
        opened = reopened()
        folders.append(opened.job.folder)
        show(opened.job.folder)
    assert [each.exists() for each in folders] == [False, True, True]


def test_a_run_that_another_process_renders_outlives_all_others(file, folder):
    with lock.show(folder):
        for density in (900.0, 800.0):
            bodies()[0].supple.density = density
            show(reopened().job.folder)
        with pytest.raises(SuppleError, match=f"in use: process {os.getpid()} renders from there"):
            scene_cache.remove(folder)
        assert folder.exists()
    bodies()[0].supple.density = 700.0
    reopened()
    assert not folder.exists()


def test_runs_of_another_scene_stay(file, folder):
    bpy.context.scene.name = "Other"
    for density in (900.0, 800.0, 700.0):
        bodies()[0].supple.density = density
        show(reopened().job.folder)
    assert folder.exists()


def show(folder: Path) -> None:
    for obj in bodies():
        modifier = modifiers.find_modifier(obj)
        assert modifier is not None
        modifier.filepath = str(folder / "playback" / "0.pc2")
