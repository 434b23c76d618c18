# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m supple batch``: many shots of a list."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest

from supple.addon import command_line
from supple.addon.batch import shots
from supple.core.job import Job
from supple.core.list_file import ListError

from .conftest import empty_file

BLOCK = "block.blend"


@pytest.fixture(scope="module")
def folder(addon: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a file of a small block that falls, and one that is broken."""
    empty_file()
    bpy.ops.mesh.primitive_cube_add(location=(0.0, 0.0, 2.0))
    bpy.context.object.supple.enabled = True
    bpy.context.object.supple.resolution = 2
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 5
    folder = tmp_path_factory.mktemp("shots")
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / BLOCK))
    (folder / "broken.blend").write_text("not Blender's")
    yield folder
    empty_file()


def problem(_options: object) -> str:
    return ""


def listed(folder: Path, text: str, name: str = "shots.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_shot_takes_what_all_have_and_its_own_and_a_cache_where_files_are_shared(
    folder: Path,
) -> None:
    path = listed(
        folder,
        f"""
        [all]
        frames = "1-3"
        settings = {{ ground_height = 0.5, "Cube.young" = 1e4 }}
        [[shot]]
        name = "soft"
        file = "{BLOCK}"
        [[shot]]
        name = "stiff"
        file = "{BLOCK}"
        frames = [2, 4]
        output = "new/stiff.blend"
        settings = {{ "Cube.young" = 1e6 }}
        [[shot]]
        file = "broken.blend"
        do = "simulate"
        """,
    )
    soft, stiff, broken = shots.read(path, problem)
    assert (soft.command, soft.output) == ("bake", folder / "soft_baked.blend")
    assert {"--frames=1-3", "--set=ground_height=0.5", "--set=Cube.young=10000.0"} <= {
        *soft.options
    }
    assert str(folder / "supple_cache" / "soft") in soft.options
    assert stiff.output == folder / "new" / "stiff.blend"
    assert {"--frames=2-4", "--set=Cube.young=1000000.0"} <= {*stiff.options}
    assert (broken.name, broken.command, broken.output) == ("broken", "simulate", None)
    assert "--cache" not in broken.options
    assert soft.fingerprint() not in (stiff.fingerprint(), broken.fingerprint())


def test_json_lists_are_read_too(folder: Path) -> None:
    path = listed(folder, json.dumps({"shot": [{"file": BLOCK, "do": "render"}]}), "shots.json")
    (shot,) = shots.read(path, problem)
    assert (shot.command, shot.output) == ("render", folder / "block_frames")


SHOT = f'[[shot]]\nfile = "{BLOCK}"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{SHOT}fraems = "1-2"', "line 3: shot 1 has no key 'fraems'. Did you mean frames?"),
        (f"[all]\nspeed = 1\n{SHOT}", "line 2: [all] has no key 'speed'"),
        (f"size = 1\n{SHOT}", "line 1: The list has no key 'size'"),
        ('[[shot]]\nfile = "none.blend"', "line 2: "),
        ("[[shot]]\nname = 'a'", "line 1: shot 1 has no file."),
        ("", "the list has no shots"),
        (f"{SHOT}frames = 'many'", "line 3: argument --frames: 'many' is not a frame range"),
        (f"{SHOT}integrator = 'euler'", "line 3: argument --integrator: invalid choice: 'euler'"),
        (f"{SHOT}do = 'melt'", "line 3: do must be one of simulate, bake, render, not 'melt'."),
        (f"{SHOT}do = 'render'\nstep = 2", "line 4: step is an option of bake"),
        (
            f"{SHOT}settings = {{ 'Cube.yuong' = 1 }}",
            "line 3: An object such as Cube has no setting 'yuong'. Did you mean young?",
        ),
        (f"{SHOT}{SHOT}", "line 3: shots 1 and 2 are both named block."),
        (
            f"{SHOT}output = 'a.blend'\n{SHOT}name = 'b'\noutput = 'a.blend'",
            "line 7: block and b have one output, ",
        ),
        (f"{SHOT}output = '{BLOCK}'", "line 3: block would overwrite "),
        (f"{SHOT}name = 'a/b'", "line 3: 'a/b' cannot be the name of a file."),
    ],
)
def test_a_wrong_list_is_refused_with_its_line(
    folder: Path, text: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = listed(folder, text, "wrong.toml")
    assert command_line.run_with_file(["batch", str(path)]) == 1
    error = capfd.readouterr().err.splitlines()[-1]
    assert error.startswith("supple: wrong.toml") and said in error
    assert not (folder / "wrong_report").exists()


def test_a_missing_file_is_named(folder: Path) -> None:
    with pytest.raises(ListError, match=r"line 2: .*none\.blend does not exist"):
        shots.read(listed(folder, '[[shot]]\nfile = "none.blend"'), problem)


def _names(count: int) -> list[str]:
    return [f"shot{number}" for number in range(count)]


def _started(path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "supple", "batch", str(path), "--jobs", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _frame_times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.glob("cache/*/*/frames/*.npy")}


@pytest.mark.usefixtures("solver")
@pytest.mark.skipif(os.name != "posix", reason="processes cannot be told apart there")
def test_a_killed_batch_goes_on_and_a_broken_shot_does_not_stop_it(folder: Path) -> None:
    each = "".join(
        f'[[shot]]\nname = "{name}"\nfile = "{BLOCK}"\ncache = "cache"\n'
        f'settings = {{ "Cube.density" = {100 * (number + 1)} }}\n'
        for number, name in enumerate(_names(2))
    )
    path = listed(folder, f'[[shot]]\nfile = "broken.blend"\n{each}', "killed.toml")
    report = folder / "killed_report" / "report.json"
    first = _started(path)
    while not _frame_times(folder):
        assert first.poll() is None
        time.sleep(0.005)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    before = _frame_times(folder)
    second = _started(path)
    _, error = second.communicate(timeout=300)
    assert second.returncode == 1
    assert (
        error.decode()
        .splitlines()[-1]
        .startswith("supple: 1 of 3 shots failed: broken. The report names the reasons")
    )
    after = _frame_times(folder)
    # Those of jobs of the same file that no shot needs are removed; none was written again.
    assert all(after.get(frame, then) == then for frame, then in before.items())
    content = json.loads(report.read_text())
    states = {shot["name"]: shot["state"] for shot in content["shots"]}
    assert states == {"broken": "failed", **dict.fromkeys(_names(2), "done")}
    assert "broken.blend" in content["shots"][0]["error"]
    for shot in content["shots"][1:]:
        assert (folder / f"{shot['name']}_baked.blend").exists()
        assert Job(Path(shot["job"])).last_frame() == 4 == shot["frames"]
        assert (report.parent / shot["picture"]).read_bytes().startswith(b"\x89PNG")
    page = (report.parent / "index.html").read_text()
    assert all(name in page for name in states)
    assert not list(folder.glob("*_baked.blend@"))
