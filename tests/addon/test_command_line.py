# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of ``python -m supple`` and ``blender --command supple``: some run as users run
them, the others in this process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bpy
import pytest

from supple.addon import command_line
from supple.addon.bake import shape_keys
from supple.core.job import Job
from supple.core.scene.integrator_table import INTEGRATORS

from . import falling_block
from .conftest import empty_file, working_here
from .falling_block import FRAMES

Runs = Callable[..., tuple[str, str]]


@pytest.fixture(scope="module")
def scene_file(addon: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small block that falls, with a camera, saved."""
    yield falling_block.save(tmp_path_factory.mktemp("scene") / "falling block.blend", 3)
    empty_file()


def run_supple(*arguments: object, rc: int = 0, **environment: str) -> tuple[str, str]:
    """Runs ``python -m supple``; what it printed on stdout and on stderr."""
    command = [sys.executable, "-m", "supple", *map(str, arguments)]
    env = os.environ | environment
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == rc, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def run_here(capfd: pytest.CaptureFixture[str]) -> Runs:
    """The command without another process: Blender and the solver take seconds to load."""

    def run(*arguments: object, rc: int = 0) -> tuple[str, str]:
        capfd.readouterr()
        status = command_line.run_with_file([*map(str, arguments)])
        out, error = capfd.readouterr()
        assert status == rc, error
        return out, error

    return run


@pytest.fixture
def complaint(run_here: Runs) -> Callable[..., str]:
    """The one line on stderr of a command that fails."""

    def complain(*arguments: object) -> str:
        _, error = run_here(*arguments, rc=1)
        (message,) = [line for line in error.splitlines() if line.startswith("supple:")]
        return message

    return complain


@pytest.mark.usefixtures("solver")
def test_simulate_ends_with_the_job_folder_and_goes_on_where_it_stopped(
    scene_file: Path, tmp_path: Path, run_here: Runs
) -> None:
    out, _ = run_supple("simulate", scene_file, "--cache", tmp_path)
    folder = Path(out.splitlines()[-1])
    assert folder.parent == tmp_path.resolve()
    assert Job(folder).last_frame() == FRAMES - 1
    simulated = Job(folder).frame_path(1).stat().st_mtime_ns
    with working_here():
        again, _ = run_here("simulate", scene_file, "--cache", tmp_path)
    assert Path(again.splitlines()[-1]) == folder
    assert Job(folder).frame_path(1).stat().st_mtime_ns == simulated


@pytest.mark.usefixtures("solver")
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C goes to a whole console there")
def test_ctrl_c_ends_it_with_one_line_and_the_frames_so_far(
    scene_file: Path, tmp_path: Path
) -> None:
    arguments = ["simulate", str(scene_file), "--cache", str(tmp_path), "--frames", "1-9999"]
    running = subprocess.Popen(
        [sys.executable, "-m", "supple", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not list(tmp_path.glob("*/frames/000002.npy")):
        assert running.poll() is None
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the worker, too
    out, error = running.communicate(timeout=60)
    assert running.returncode == 130
    assert error.splitlines()[-1].startswith("supple: stopped. The frames so far are kept")
    assert "Traceback" not in out + error
    (folder,) = tmp_path.iterdir()
    assert Job(folder).damaged_frames(2) == {}


@pytest.mark.usefixtures("solver_here")
def test_what_is_ignored_is_printed_and_no_line_twice(run_here: Runs, tmp_path: Path) -> None:
    empty_file()
    bpy.ops.object.effector_add(type="GUIDE")
    bpy.ops.mesh.primitive_cube_add(location=(0.0, 0.0, 2.0))
    bpy.context.object.supple.enabled = True
    bpy.context.object.supple.resolution = 3
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 11, 40
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "windy.blend"))
    out, _ = run_here("simulate", tmp_path / "windy.blend", "--cache", tmp_path)
    messages = [line for line in out.splitlines() if line.startswith("Supple: ")]
    assert messages[0].startswith(
        "Supple: Warning: CurveGuide: its force field Curve Guide does not act on soft bodies"
    )
    assert len(messages) == len(set(messages))
    assert messages[-1].startswith("Supple: Simulated frames 11 to 40.")


@pytest.mark.parametrize("step", ["0", "-2", "half"])
def test_a_step_of_a_bake_is_a_number_of_frames(step: str, capfd) -> None:
    described = command_line.parser("supple", with_file=False)
    assert described.parse_args(["bake", "--step", "3"]).step == 3
    assert described.parse_args(["bake"]).step == 1
    with pytest.raises(SystemExit):
        described.parse_args(["bake", f"--step={step}"])
    assert "argument --step" in capfd.readouterr().err


@pytest.mark.usefixtures("solver_here")
def test_bake_saves_a_file_that_plays_without_the_cache_and_leaves_the_first_alone(
    run_here: Runs, scene_file: Path, tmp_path: Path
) -> None:
    before = scene_file.read_bytes()
    cache, output = tmp_path / "cache", tmp_path / "new folder" / "baked.blend"
    arguments = ("--frames", "1-2", "--integrator", "symplectic_euler", "--substeps", "50")
    where = ("--cache", cache, "--step", "2", "--output", output)
    out, _ = run_here("bake", scene_file, *arguments, *where)
    assert (
        "2 frames to shape keys, with 2 keys, one every 2 frames and one at the last frame" in out
    )
    assert (
        "Supple: Simulated frames 1 to 2. Symplectic Euler, 50 steps per frame." in out.splitlines()
    )
    assert out.splitlines()[-1] == str(output)
    assert scene_file.read_bytes() == before
    settings = json.loads(next(cache.glob("*/scene.json")).read_text())["settings"]
    assert (settings["frame_count"], settings["substeps"]) == (1, 50)
    assert settings["integrator"] == "symplectic_euler"
    bpy.ops.wm.open_mainfile(filepath=str(output))
    block = bpy.data.objects["Cube"]
    assert shape_keys.has_bake(block)
    assert not block.modifiers


@pytest.mark.usefixtures("solver_here")
def test_find_saves_a_file_with_what_it_found_and_leaves_the_first_alone(
    scene_file: Path, run_here: Runs, tmp_path: Path
) -> None:
    output, before = tmp_path / "kept.blend", scene_file.read_bytes()
    bpy.ops.wm.open_mainfile(filepath=str(scene_file))
    obj, scene = bpy.data.objects["Cube"], bpy.context.scene
    obj.supple.fit_target, obj.supple.fit_frame = scene.camera, 3
    scene.camera.location = (1.0, 0.0, 3.0)
    aimed = tmp_path / "aimed.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(aimed))
    words = "find", "hit_target", aimed, "--integrator", "implicit_euler", "--output", output
    stdout, _ = run_here(*words)
    assert stdout.splitlines()[-1] == str(output) and "Cube hits the target" in stdout
    bpy.ops.wm.open_mainfile(filepath=str(output))
    velocity = bpy.data.objects["Cube"].supple.start_velocity
    # Over two frames of a 24th of a second, against gravity and a little damping.
    assert tuple(velocity) == pytest.approx((12.0, 0.0, 12.0 + 9.81 * 3 / 48), abs=0.6)
    assert scene_file.read_bytes() == before


def test_find_asks_for_which_body(scene_file: Path, run_here: Runs) -> None:
    _, stderr = run_here("find", "keep_shape", scene_file, "--object", "Ball", rc=1)
    assert "Name a soft body by --object: Cube." in stderr


@pytest.mark.usefixtures("solver_here")
def test_another_scene_of_the_file_can_be_named(
    run_here: Runs, complaint: Callable[..., str], scene_file: Path, tmp_path: Path
) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(scene_file))
    bpy.ops.scene.new(type="FULL_COPY")
    bpy.context.scene.name, bpy.context.scene.frame_end = "Other", 2
    bpy.context.window.scene = bpy.data.scenes["Scene"]
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "two.blend"))
    words = "simulate", tmp_path / "two.blend", "--cache", tmp_path / "cache", "--scene"
    out, _ = run_here(*words, "Other")
    assert "Simulated frames 1 to 2." in out and "two-Other-" in out.splitlines()[-1]
    assert complaint(*words, "None").endswith(
        "The file has no scene None. Name one of these as --scene: Other, Scene."
    )


@pytest.mark.usefixtures("solver_here")
def test_render_writes_an_image_for_each_frame(
    run_here: Runs, scene_file: Path, tmp_path: Path
) -> None:
    images = tmp_path / "images"
    out, _ = run_here(
        *("render", scene_file, "--frames", "2-3", "--cache", tmp_path, "--output", images)
    )
    assert out.splitlines()[-1] == str(images)
    assert sorted(path.name for path in images.iterdir()) == ["0002.png", "0003.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in images.iterdir())


@pytest.mark.usefixtures("solver_here")
@pytest.mark.parametrize(("wanted", "simulated"), [("1-2", 2), ("1-3", 2), ("1-4", 3)])
def test_the_last_image_of_a_part_is_blurred_by_what_comes_next(
    run_here: Runs, scene_file: Path, tmp_path: Path, wanted: str, simulated: int
) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(scene_file))
    bpy.context.scene.render.use_motion_blur = True
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "blurred.blend"))
    run_here("render", tmp_path / "blurred.blend", "--frames", wanted, "--cache", tmp_path / "c")
    assert Job(next((tmp_path / "c").iterdir())).last_frame() == simulated


@pytest.mark.usefixtures("solver_here")
def test_render_ends_with_an_error_where_frames_go_meanwhile(
    complaint: Callable[..., str], scene_file: Path, tmp_path: Path
) -> None:
    def remove_playback(scene: bpy.types.Scene, *_: object) -> None:
        if scene.frame_current == 2:
            next(tmp_path.glob("*/playback/0.pc2")).unlink()

    images = tmp_path / "images"
    bpy.app.handlers.render_pre.append(bpy.app.handlers.persistent(remove_playback))
    try:
        said = complaint("render", scene_file, "--cache", tmp_path, "--output", images)
    finally:
        bpy.app.handlers.render_pre.remove(remove_playback)
    assert said.endswith("0.pc2 is missing. Restore it, or simulate again.")
    assert [path.name for path in images.iterdir()] == ["0001.png"]


def test_a_file_that_does_not_exist_is_named(complaint: Callable[..., str], tmp_path: Path) -> None:
    assert complaint("simulate", tmp_path / "none.blend").endswith("none.blend does not exist.")
    assert complaint("simulate", tmp_path).endswith(f"{tmp_path} is a folder.")


def test_a_name_that_a_pipe_cannot_take_is_printed_all_the_same(
    scene_file: Path, tmp_path: Path
) -> None:
    words = "submit", scene_file, "--output", tmp_path / "Köhl"
    out, _ = run_supple(*words, PYTHONIOENCODING="ascii")
    assert "K\\xf6hl" in out.splitlines()[-1]


def test_a_folder_that_cannot_be_made_is_named_before_anything_is_simulated(
    scene_file: Path, complaint: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file")
    wanted, words = tmp_path / "taken" / "baked.blend", ("--cache", tmp_path)
    assert complaint("bake", scene_file, "--output", wanted, *words) == (
        f"supple: The folder {tmp_path / 'taken'} cannot be made: a file has that name. Choose "
        "another --output."
    )
    complaint("render", scene_file, "--output", tmp_path / "taken", *words)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_file_that_is_no_blend_file_is_refused(
    complaint: Callable[..., str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.blend"
    broken.write_text("not Blender's")
    assert "broken.blend" in complaint("simulate", broken)


def test_a_scene_without_soft_bodies_is_refused_and_nothing_is_written(
    complaint: Callable[..., str], tmp_path: Path
) -> None:
    empty_file()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "empty.blend"))
    assert "no soft body" in complaint("bake", tmp_path / "empty.blend")
    assert [path.name for path in tmp_path.iterdir()] == ["empty.blend"]


@pytest.mark.parametrize("arguments", [(), ("melt",), ("simulate", "a.blend", "--frames", "five")])
def test_commands_it_does_not_know_are_explained(
    run_here: Runs, arguments: tuple[str, ...]
) -> None:
    _, error = run_here(*arguments, rc=2)
    assert "usage: python -m supple" in error


def test_an_integrator_it_does_not_know_is_refused_with_those_it_does(run_here: Runs) -> None:
    _, error = run_here("simulate", "a.blend", "--integrator", "euler", rc=2)
    assert "invalid choice: 'euler'" in error
    assert all(name in error.splitlines()[-1] for name in INTEGRATORS)


def test_inside_blender_the_same_words_need_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["simulate", "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: blender scene.blend --command supple simulate")
    assert "the .blend file" not in out


def test_a_file_that_blender_could_not_read_is_no_startup_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    empty_file()
    words = ["simulate", "--frames", "1-2"]
    monkeypatch.setattr(sys, "argv", ["blender", "gone.blend", "--command", "supple", *words])
    assert command_line.run(words) == 1
    said = "supple: Blender cannot read gone.blend; its own messages are above."
    assert capsys.readouterr().err.splitlines()[-1] == said
    monkeypatch.setattr(sys, "argv", ["blender", "--command", "supple", "bake"])
    assert command_line.run(["bake"]) == 1
    assert "No .blend file is open" in capsys.readouterr().err
