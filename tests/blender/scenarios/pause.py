# SPDX-License-Identifier: GPL-3.0-or-later
"""Pause, go on and cancel by the buttons beside the progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 250


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    cube.supple.resolution = 24
    yield from ui.open_sidebar("Supple")
    yield from ui.click_button("supple.simulate")
    runs = ui.module("runs")
    yield from ui.wait_for(lambda: runs.current and _reached(runs) >= 2, "frames", 120.0)
    run = runs.current
    yield from ui.wait_for(run.pace, "the pace")
    yield from ui.screenshot("running")

    yield from ui.click_button("supple.pause")
    yield from ui.wait_for(lambda: run.is_paused, "the pause")
    paused = _reached(runs)
    yield from ui.wait(1.5)
    assert run.step() and not ui.module("worker.session").is_running()
    yield from ui.screenshot("paused")
    yield from ui.click_button("supple.pause")
    yield from ui.wait_for(lambda: _reached(runs) > paused + 1, "more frames", 120.0)

    button = yield from ui.find_button("supple.cancel")
    reached = _reached(runs)
    yield from ui.click(button.x, button.y)
    yield from ui.wait_for(lambda: runs.current is None, "the end")
    # On a busy machine frames take longer, too.
    assert run.playback.last_frame <= reached + 2, "it goes on after Cancel"
    assert any("Cancelled after frame" in line for line in ui.reports())
    yield from ui.hover()
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait(0.5)
    yield from ui.key("Z", ctrl=True, shift=True)
    yield from ui.wait(0.5)
    assert ui.plays("Cube")
    ui.assert_clean_log()


def _reached(runs: object) -> int:
    return int(runs.current.playback.last_frame)  # type: ignore[attr-defined]
