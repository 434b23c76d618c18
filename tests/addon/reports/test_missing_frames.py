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


def test_a_body_that_was_hidden_while_others_were_simulated_is_told(scene, add_body, solver_here):
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    actions.simulate(bpy.context)
    second.hide_set(True)
    first.supple.young *= 2.0
    actions.simulate(bpy.context)
    assert shown_notices() == []
    second.hide_set(False)
    assert only(ids.SIMULATE).startswith("Second plays another simulation than First: one was")
    actions.simulate(bpy.context)
    assert shown_notices() == []
