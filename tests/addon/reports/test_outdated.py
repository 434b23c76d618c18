# SPDX-License-Identifier: GPL-3.0-or-later
"""The Simulate button gives the state of what is played, and frames that are missing."""

from __future__ import annotations

import json
import shutil

import bpy
import pytest

from supple.addon import actions, ids
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.reports import outdated
from supple.tests.addon.layout import drawn
from supple.tests.addon.shown_notices import only, shown_notices


def _button(obj: bpy.types.Object) -> str:
    bpy.context.view_layer.update()
    panel = drawn(SUPPLE_PT_main, obj)
    assert panel.buttons.count(ids.SIMULATE) == 1
    (text,) = (label for label in panel.labels if label.startswith("Simulate"))
    return text


def test_the_button_tells_what_it_would_do(scene, add_body, play):
    obj = add_body()
    assert _button(obj) == "Simulate"
    job, _ = play(3)
    assert _button(obj) == "Simulate (up to date)"
    scene.frame_end = 9
    assert _button(obj) == "Simulate (frames missing)"
    obj.location.x += 1.0
    assert _button(obj) == "Simulate (scene changed)"
    obj.supple.young *= 2.0
    assert _button(obj) == "Simulate (settings changed)"
    obj.supple.young /= 2.0
    obj.location.x -= 1.0
    scene.gravity.z = -1.0
    assert _button(obj) == "Simulate (settings changed)"
    scene.gravity.z = -9.81
    shutil.rmtree(job.folder)
    assert _button(obj) == "Simulate (frames missing)"


def test_settings_are_named_by_their_panel_where_the_name_alone_is_not_clear(scene, add_body, play):
    obj = add_body()
    play(3)
    scene.supple.ground_height -= 1.0
    scene.supple.ground_friction = 0.1
    assert outdated.changed_of_scene(scene) == ["Ground Height", "Ground Friction"]
    scene.supple.contact_distance, scene.supple.fluid_density = 0.1, 900.0
    assert outdated.changed_since(bpy.context, [obj]) == [
        "Scene: Contact Distance, Ground Height, Ground Friction and 1 more"
    ]
    obj.supple.young, obj.supple.pin_force, obj.supple.drag = 1e6, 5.0, 2.0
    assert outdated.changed(obj) == ["Stiffness", "Drag", "Pin Break Force"]


def test_a_file_of_a_supple_that_lacked_a_setting_is_up_to_date_until_it_is_changed(
    scene, add_body, play
):
    obj = add_body()
    play(3)
    for owner, name in ((scene, "resolution_scale"), (obj, "hardening")):
        parts = json.loads(owner.supple.simulated_as)
        (settings,) = [part for part in parts.values() if isinstance(part, dict) and name in part]
        del settings[name]
        owner.supple.simulated_as = json.dumps(parts)
    assert outdated.changed_of_scene(scene) == outdated.changed(obj) == []
    scene.supple.resolution_scale, obj.supple.hardening = 50.0, 1e4
    assert outdated.changed_of_scene(scene) == ["Resolution Scale"]
    assert outdated.changed(obj) == ["Hardening"]


def test_a_soft_body_more_is_named_as_added(scene, add_body, play):
    obj = add_body()
    play(3)
    add_body("Second", location=(3, 0, 0))
    assert outdated.changed_since(bpy.context, [obj]) == ["Scene: soft bodies added or removed"]


@pytest.mark.usefixtures("solver_here")
def test_frames_that_are_cached_are_said_to_be(scene, add_body):
    obj = add_body()
    assert "Simulated frames 1 to 4" in actions.simulate(bpy.context)
    assert "Already simulated. Showing cached frames" in actions.simulate(bpy.context)
    scene_copy = obj.copy()
    scene_copy.data = obj.data.copy()
    other = bpy.data.scenes.new("Other")
    other.frame_start, other.frame_end = scene.frame_start, scene.frame_end
    other.supple.cache_folder = scene.supple.cache_folder
    other.supple.ground_height = scene.supple.ground_height
    for modifier in list(scene_copy.modifiers):
        scene_copy.modifiers.remove(modifier)
    other.collection.objects.link(scene_copy)
    bpy.context.window.scene = other
    message = actions.simulate(bpy.context)
    assert message.startswith("Already simulated. Showing cached frames.")


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
    assert only(ids.SIMULATE).startswith("Second plays another simulation than First, so that")
    actions.simulate(bpy.context)
    assert shown_notices() == []
