# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of Flamenco: compiled in Node by a stand-in of the manager's script interface, and sent to a
stand-in of its REST interface."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from supple.addon import command_line, ids, preferences
from supple.addon.farm import flamenco
from supple.addon.farm.farm_job import FarmJob
from supple.addon.panels.solver import SUPPLE_PT_farm
from supple.core.errors import SuppleError

from ..falling_block import save
from ..layout import drawn

JOB = FarmJob(
    name="shot",
    file=Path("/studio/shot.blend"),
    cache=Path("/studio/supple_cache"),
    baked=Path("/studio/shot_baked.blend"),
    images=Path("/studio/shot_frames"),
    frames=(1, 5),
    chunk=2,
)


class Manager:
    """A manager on this machine.

    Args:
        status: of its answers.
        answer: what it answers.
    """

    def __init__(self) -> None:
        self.status, self.answer = 200, b'{"id": "5f0"}'
        self.received: list[tuple[str, str, dict[str, Any]]] = []
        manager = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                kind = self.headers["Content-Type"]
                manager.received.append((self.path, kind, json.loads(content)))
                self.send_response(manager.status)
                self.end_headers()
                self.wfile.write(manager.answer)

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def manager() -> Iterator[Manager]:
    started = Manager()
    yield started
    started.server.shutdown()
    started.server.server_close()


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_a_job_is_compiled_into_tasks_that_wait_for_each_other(tmp_path: Path) -> None:
    sent = tmp_path / "job.json"
    sent.write_text(json.dumps(flamenco.submission(JOB)))
    words = [
        "node",
        str(Path(__file__).with_name("stand_in.js")),
        str(flamenco.JOB_TYPE),
        str(sent),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    compiled = json.loads(done.stdout)
    assert compiled["label"] == "Supple"
    assert {*compiled["settings"]} == {*flamenco.submission(JOB)["settings"]}
    tasks = {task["name"]: task for task in compiled["tasks"]}
    assert {name: task["dependencies"] for name, task in tasks.items()} == {
        "simulate": [],
        "bake": ["simulate"],
        "render-1-2": ["bake"],
        "render-3-4": ["bake"],
        "render-5": ["bake"],
    }
    for task in tasks.values():
        (command,) = task["commands"]
        assert (task["type"], command["name"]) == ("blender", "blender-render")
        assert command["parameters"]["exe"] == "{blender}"
        # What Blender gets is what the command line knows.
        *_, begin, program, action = command["parameters"]["args"][:3]
        assert (begin, program) == ("--command", "supple")
        options = command["parameters"]["args"][2:]
        parsed = command_line.parser("supple", with_file=False).parse_args(options)
        assert parsed.action is getattr(command_line, action)
    render = tasks["render-3-4"]["commands"][0]["parameters"]
    assert render["blendfile"] == "/studio/shot_baked.blend"
    assert "--frames=3-4" in render["args"]
    assert tasks["simulate"]["commands"][0]["parameters"]["blendfile"] == "/studio/shot.blend"


def test_a_job_is_sent_to_the_manager(addon, manager: Manager) -> None:
    assert flamenco.submit(JOB, f"{manager.address}/") == "5f0"
    ((path, kind, job),) = manager.received
    assert (path, kind) == ("/api/v3/jobs", "application/json")
    assert (job["name"], job["priority"]) == ("shot", 50)
    assert job["type"] == "supple-simulate-and-render"
    assert job["submitter_platform"] in ("linux", "windows", "darwin")
    assert job["settings"]["frames"] == "1-5" and job["settings"]["chunk_size"] == 2


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (400, b'{"message": "unknown job type"}', "refused the job: unknown job type. If it"),
        (500, b"oh", "refused the job: 500 Internal Server Error"),
        (200, b"<html>", "No Flamenco manager answers at"),
        (200, b"{}", "No Flamenco manager answers at"),
    ],
)
def test_what_the_manager_answers_is_said(addon, manager, status, answer, said) -> None:
    manager.status, manager.answer = status, answer
    with pytest.raises(SuppleError, match=said):
        flamenco.submit(JOB, manager.address)


def test_a_manager_that_is_not_there_is_named(addon, manager: Manager) -> None:
    manager.server.shutdown()
    manager.server.server_close()
    with pytest.raises(SuppleError, match=f"There is no Flamenco manager at {manager.address}: "):
        flamenco.submit(JOB, manager.address)
    with pytest.raises(SuppleError, match="No Flamenco manager answers at farm"):
        flamenco.submit(JOB, "farm")


def test_the_button_sends_nothing_while_online_access_is_off(
    addon, manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not bpy.app.online_access
    save(tmp_path / "shot.blend")
    bpy.context.scene.supple.farm = "flamenco"
    chosen = SimpleNamespace(flamenco_manager=manager.address)
    monkeypatch.setattr(preferences, "find", lambda: chosen)
    with pytest.raises(RuntimeError, match="Online access is off"):
        bpy.ops.supple.submit()
    assert not manager.received


def test_the_command_line_submits_writes_and_copies_the_job_type(
    addon, manager: Manager, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = save(tmp_path / "shot.blend")
    words = ["submit", str(file), "--farm", "flamenco"]
    assert command_line.run_with_file([*words, "--manager", manager.address]) == 0
    assert "Submitted shot to Flamenco as job 5f0." in capfd.readouterr().out
    assert manager.received[0][2]["settings"]["blendfile"] == file.as_posix()
    assert command_line.run_with_file(words) == 0
    written = json.loads((tmp_path / "shot_job" / "flamenco_job.json").read_text())
    assert written == manager.received[0][2]
    scripts = tmp_path / "scripts"
    assert command_line.run_with_file(["job-type", str(scripts)]) == 0
    assert (scripts / flamenco.JOB_TYPE.name).read_bytes() == flamenco.JOB_TYPE.read_bytes()


def test_the_buttons_submit_and_copy_the_job_type(addon, tmp_path: Path) -> None:
    save(tmp_path / "shot.blend")
    props = bpy.context.scene.supple
    props.farm, props.farm_chunk = "flamenco", 3
    assert bpy.ops.supple.submit() == {"FINISHED"}
    written = json.loads((tmp_path / "shot_job" / "flamenco_job.json").read_text())
    assert written["settings"]["chunk_size"] == 3
    props.farm = "open_job"
    assert bpy.ops.supple.submit() == {"FINISHED"}
    assert (tmp_path / "shot_job" / "template.json").exists()
    assert bpy.ops.supple.copy_job_type(directory=str(tmp_path / "scripts")) == {"FINISHED"}
    assert (tmp_path / "scripts" / flamenco.JOB_TYPE.name).exists()
    with pytest.raises(RuntimeError, match="Choose the folder scripts"):
        bpy.ops.supple.copy_job_type()


def test_the_panel_has_what_the_farm_needs(addon) -> None:
    props = bpy.context.scene.supple
    props.farm = "open_job"
    shown = drawn(SUPPLE_PT_farm, None)
    assert shown.settings == ["farm", "farm_chunk"] and shown.buttons == [ids.SUBMIT]
    props.farm = "flamenco"
    assert drawn(SUPPLE_PT_farm, None).buttons == [ids.COPY_JOB_TYPE, ids.SUBMIT]
