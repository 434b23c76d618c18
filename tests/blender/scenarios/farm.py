# SPDX-License-Identifier: GPL-3.0-or-later
"""Submit writes a job beside the file, and sends one to a manager of Flamenco."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 6


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    scene.supple.farm_chunk = 3
    cube.supple.enabled = True
    # Without an active body the button is near the top.
    bpy.context.view_layer.objects.active = None
    ui.unfold("farm")
    yield from ui.open_sidebar("Supple")
    with ui.context("UI"):
        assert not bpy.ops.supple.submit.poll(), "the file is not saved"
    bpy.ops.wm.save_as_mainfile(filepath=str(ui.work / "shot.blend"))
    yield from _written(ui)
    yield from _refused_with_changes(ui)
    yield from _submitted(ui)
    ui.assert_clean_log()


def _written(ui: Ui) -> Steps:
    yield from _submit(ui, "Wrote the job")
    yield from ui.screenshot("written")
    template = json.loads((ui.work / "shot_job" / "template.json").read_text())
    assert [step["name"] for step in template["steps"]] == ["Simulate", "Bake", "Render"]
    values = json.loads((ui.work / "shot_job" / "parameters.json").read_text())
    assert values["File"] == str(ui.work / "shot.blend")
    assert (values["Frames"], values["FramesPerTask"]) == (f"1-{LAST}", 3)
    assert values["Cache"] == str(ui.work / "cache")


def _refused_with_changes(ui: Ui) -> Steps:
    yield from ui.hover()
    with ui.context():
        bpy.ops.object.select_all(action="DESELECT")
        bpy.ops.ed.undo_push(message="Change")
    yield from _submit(ui, "The file has changes that are not on the disk. Save it first.")
    yield from ui.key("ESC")
    bpy.ops.wm.save_mainfile()


def _submitted(ui: Ui) -> Steps:
    received: list[tuple[str, Any]] = []

    class Manager(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, json.loads(content)))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"id": "5f0"}')

    server = HTTPServer(("127.0.0.1", 0), Manager)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    scene, chosen = bpy.context.scene, ui.module("preferences").find()
    system = bpy.context.preferences.system
    was_online, system.use_online_access = system.use_online_access, False
    scene.supple.farm = "flamenco"
    chosen.flamenco_manager = f"http://127.0.0.1:{server.server_port}"
    bpy.ops.wm.save_mainfile()
    try:
        yield from _submit(ui, "Online access is off.")
        yield from ui.key("ESC")
        assert not received
        system.use_online_access = True
        yield from _submit(ui, "Submitted shot to Flamenco as job 5f0.")
        yield from ui.screenshot("submitted")
    finally:
        server.shutdown()
        server.server_close()
        chosen.flamenco_manager, system.use_online_access = "", was_online
    ((path, job),) = received
    assert path == "/api/v3/jobs" and job["type"] == "supple-simulate-and-render"
    assert job["settings"]["blendfile"] == (ui.work / "shot.blend").as_posix()
    assert (job["settings"]["frames"], job["settings"]["chunk_size"]) == (f"1-{LAST}", 3)


def _submit(ui: Ui, message: str) -> Steps:
    yield from ui.click_button("supple.submit")
    yield from ui.wait(0.5)
    reports = ui.reports()
    assert any(message in line for line in reports[-3:]), reports
