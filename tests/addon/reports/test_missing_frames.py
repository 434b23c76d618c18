# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames that were not simulated yet are told of."""

from __future__ import annotations

import bpy

from supple.addon import actions, ids

from ..shown_notices import only, shown_notices


def test_frames_beyond_those_simulated_are_told_of_and_not_baked(scene, add_body, play):
    add_body()
    play(3)
    scene.frame_end = 5
    assert only(ids.SIMULATE) == "Frame 5 is not simulated yet."
    scene.frame_end = 20
    assert only(ids.SIMULATE) == "Frames 5 to 20 are not simulated yet."
    assert "Frames 5 to 20 are not simulated yet." in actions.bake(bpy.context)
    assert shown_notices() == []
