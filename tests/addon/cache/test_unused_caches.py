# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated frames that nothing plays, or that another file may."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from supple.addon.cache import scene_cache, unused_caches
from supple.addon.capture.captured import Capture
from supple.addon.capture.scene import capture
from supple.addon.playback.mesh_cache import Playback
from supple.addon.reports import doctor
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene

from ..conftest import write_frames


@pytest.fixture
def cube(scene, add_body) -> bpy.types.Object:
    scene.supple.cache_folder = ""
    return add_body()


def simulate(density: float) -> Path:
    """The cache that Simulate leaves, without waiting for a solver; returns the job folder."""
    bpy.data.objects["Cube"].supple.density = density
    captured: Capture = capture(bpy.context)
    job = scene_cache.open_job(bpy.context.scene, captured.scene, captured.settings).job
    job.write_tet_scene(*tetrahedralize_scene(captured.scene))
    write_frames(job, 1)
    shown = Playback(job, captured)
    shown.extend(1, 1.0)
    shown.attach()
    return job.folder


def users() -> dict[Path, str]:
    return {each.folder: each.user for each in unused_caches.find()}


def test_what_is_shown_is_used_and_the_run_before_by_an_undo(cube, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "drop.blend"))
    before = simulate(900.0)
    simulate(800.0)
    assert users() == {before: "an undo"}
    assert unused_caches.remove() == (0, 0)
    assert before.exists()


def test_frames_of_a_file_beside_stay_unless_others_are_meant(cube, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "first.blend"))
    first = simulate(900.0)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second.blend"))
    assert users() == {first: "first.blend"}
    assert unused_caches.remove()[0] == 0
    size = sum(path.stat().st_size for path in first.rglob("*") if path.is_file())
    assert unused_caches.remove(others_too=True) == (1, size)
    assert not first.exists()


def test_frames_of_a_file_that_is_gone_are_unused(cube, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "first.blend"))
    first = simulate(900.0)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second.blend"))
    (tmp_path / "first.blend").unlink()
    assert users() == {first: ""}
    assert bpy.ops.supple.remove_caches() == {"FINISHED"}
    assert not first.exists()
    assert users() == {}


@pytest.mark.parametrize("compress", [False, True])
def test_frames_that_a_file_of_another_name_plays_may_be_used(cube, tmp_path, compress):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "first.blend"))
    first = simulate(900.0)
    bpy.ops.wm.save_mainfile(compress=compress)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second.blend"), compress=False)
    (tmp_path / "first.blend").rename(tmp_path / "renamed.blend")
    assert users() == {first: "renamed.blend"}
    assert unused_caches.remove()[0] == 0


def test_frames_of_a_scene_that_is_gone_are_unused(cube, scene, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "drop.blend"))
    folder = simulate(900.0)
    scene.name = "Renamed"
    now = simulate(800.0)
    assert now.name.startswith("drop-Renamed-")
    assert users() == {folder: ""}


@pytest.mark.parametrize("saved", [False, True])
def test_frames_of_files_that_were_never_saved_may_be_used(cube, scene, tmp_path, saved):
    folder = simulate(900.0)
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    scene.supple.unsaved_name = ""
    if saved:
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "other.blend"))
    assert users() == {folder: "a file that was never saved"}


def test_in_a_cache_that_files_share_all_others_may_be_used(cube, scene, tmp_path):
    scene.supple.cache_folder = str(tmp_path / "shared")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "first.blend"))
    assert simulate(900.0).parent == tmp_path / "shared"
    (tmp_path / "elsewhere").mkdir()
    first = simulate(900.0)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "elsewhere" / "second.blend"))
    assert users() == {first: "another file"}


def test_in_a_shared_cache_beside_the_file_frames_of_files_elsewhere_may_be_used(
    cube, scene, tmp_path
):
    scene.supple.cache_folder = str(tmp_path / "shared")
    (tmp_path / "elsewhere").mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "elsewhere" / "first.blend"))
    first = simulate(900.0)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second.blend"))
    (tmp_path / "elsewhere" / "first.blend").unlink()
    assert users() == {first: "another file"}


def test_the_largest_come_first(cube, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "drop.blend"))
    cache = tmp_path / "supple_cache"
    for name, size in (("a", 500), ("b", 3000), ("c", 1000)):
        folder = cache / f"drop-Gone-{name * 12}"
        (folder / "frames").mkdir(parents=True)
        (folder / "scene.json").write_bytes(b"{}")
        (folder / "frames" / "000000.npy").write_bytes(bytes(size))
    assert [each.size for each in unused_caches.find()] == [3002, 1002, 502]
    assert str(unused_caches.find()[0]) == f"{cache / 'drop-Gone-bbbbbbbbbbbb'}, 3 KB"
    assert unused_caches.remove() == (3, 4506)


def test_what_is_no_job_folder_is_never_touched(cube, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "drop.blend"))
    simulate(900.0)
    for name in ("mine", "drop-Scene-0123456789ab"):
        (tmp_path / "supple_cache" / name).mkdir()
    assert users() == {}


def test_the_doctor_lists_them_without_calling_them_a_problem(cube, tmp_path, asked_once):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "first.blend"))
    first = simulate(900.0)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second.blend"))
    report = doctor.report()
    assert "Unused caches:" in report
    assert f"{first}, " in report
    assert "which first.blend may use" in report


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 KB"),
        (1500, "1.5 KB"),
        (999_400, "999 KB"),
        (999_900, "1 MB"),
        (2.345e9, "2.35 GB"),
        (5e14, "500 TB"),
    ],
)
def test_sizes_are_in_their_units(size, text):
    assert unused_caches.formatted_size(int(size)) == text
