# SPDX-License-Identifier: GPL-3.0-or-later
"""The display while a window simulates, without a window."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import bpy
import pytest

from supple.addon.operators import simulate
from supple.addon.operators.simulate import SUPPLE_OT_simulate


class Window:
    """A window that shows a scene, and takes a step of a simulation of the first."""

    def __init__(self, scene: bpy.types.Scene) -> None:
        self.scene = scene
        self.screen = SimpleNamespace(is_animation_playing=False)
        self.playback = SimpleNamespace(last_shown=scene.frame_current)
        run = SimpleNamespace(
            scene_uid=scene.session_uid, playback=self.playback, first_shown=scene.frame_start
        )
        leads: Any = SUPPLE_OT_simulate._leads_playhead
        again: Any = SUPPLE_OT_simulate._play_again
        self._operator: Any = SimpleNamespace(
            _run=run,
            _playhead=scene.frame_current,
            _has_played=False,
            _play_again=lambda context, newest: again(self._operator, context, newest),
            _leads_playhead=lambda context: leads(self._operator, context),
        )

    def step(self, newest: int) -> int:
        """The position of the playhead when a frame has come."""
        self.playback.last_shown = newest
        show: Any = SUPPLE_OT_simulate.show
        show(self._operator, self)
        return self.scene.frame_current

    def finish(self) -> int:
        """The position of the playhead when the run has ended."""
        show_result: Any = SUPPLE_OT_simulate.show_result
        show_result(self._operator, self)
        return self.scene.frame_current


@pytest.fixture
def window(scene: bpy.types.Scene) -> Window:
    scene.frame_set(1)
    return Window(scene)


def test_the_playhead_goes_along_with_the_newest_frame(window):
    assert [window.step(newest) for newest in (1, 4, 9)] == [1, 4, 9]


def test_the_playhead_stays_where_the_user_puts_it(window):
    window.step(5)
    window.scene.frame_set(3)
    assert [window.step(newest) for newest in (6, 7)] == [3, 3]
    window.scene.frame_set(5)
    assert window.step(8) == 8


def test_the_playhead_is_left_alone_while_the_animation_plays(window):
    window.step(5)
    window.screen.is_animation_playing = True
    assert window.step(6) == 5


def test_the_playhead_of_another_scene_stays(window):
    window.step(5)
    window.scene = bpy.data.scenes.new("Another")
    window.scene.frame_set(5)
    assert window.step(6) == 5


def test_the_playhead_stands_where_stretched_time_plays_the_newest_frame(window):
    window.scene.render.frame_map_new = 50
    assert [window.step(newest) for newest in (4, 9)] == [2, 4]
    assert window.scene.frame_current_final == 8.0


@pytest.fixture
def plays(monkeypatch) -> Mock:
    play = Mock()
    screen = SimpleNamespace(screen=SimpleNamespace(animation_play=play))
    monkeypatch.setattr(simulate, "bpy", SimpleNamespace(ops=screen))
    return play


def test_the_frames_so_far_play_again_and_again_until_the_user_stops_them(window, plays):
    window.scene.supple.play_while_simulating = True
    assert window.step(1) == 1 and plays.call_count == 0
    assert window.step(5) == 1 and plays.call_count == 1
    window.screen.is_animation_playing = True
    window.scene.frame_set(5)
    assert window.step(7) == 5
    window.scene.frame_set(8)
    assert window.step(7) == 1
    window.screen.is_animation_playing = False
    window.scene.frame_set(9)
    assert window.step(7) == 9 and plays.call_count == 1


def test_at_the_end_the_frames_are_played_from_the_first(window, plays):
    window.scene.frame_start = 3
    window.step(9)
    window._operator._run.first_shown = 3
    assert window.finish() == 3
    plays.assert_called_once_with()


def test_at_the_end_nothing_is_played_where_the_user_has_moved_the_playhead(window, plays):
    window.step(9)
    window.scene.frame_set(4)
    assert window.finish() == 4
    window.scene.frame_set(9)
    window.screen.is_animation_playing = True
    assert window.finish() == 9
    plays.assert_not_called()
