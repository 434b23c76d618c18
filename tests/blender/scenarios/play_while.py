# SPDX-License-Identifier: GPL-3.0-or-later
"""The frames so far play again and again while more are simulated, until the user stops them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 250


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    scene.supple.play_while_simulating = True
    cube.supple.resolution = 24
    ui.unfold("playback")
    yield from ui.open_sidebar("Supple")
    yield from ui.click_button("supple.simulate")
    runs = ui.module("runs")
    screen = ui.window.screen
    yield from ui.wait_for(lambda: screen.is_animation_playing, "frames that play", 120.0)
    seen: list[int] = []

    def watch() -> int:
        """The number of times that the frames began again."""
        assert runs.current is not None, "the simulation should still run"
        if not seen or seen[-1] != scene.frame_current:
            seen.append(scene.frame_current)
        return sum(after < before for before, after in pairwise(seen))

    yield from ui.wait_for(lambda: watch() >= 3, "the third time", 120.0)
    newest = runs.current.playback.last_shown
    # A frame may be drawn after the newest before it is taken back.
    assert max(seen) <= newest + 2, (max(seen), newest)
    yield from ui.screenshot("playing")
    # The first Esc stops the animation, which then does not begin again; the second cancels.
    yield from ui.hover()
    yield from ui.key("ESC")
    yield from ui.wait(1.5)
    assert not screen.is_animation_playing and runs.current is not None
    yield from ui.key("ESC")
    yield from ui.wait_for(lambda: runs.current is None, "the end")
    ui.assert_clean_log()
