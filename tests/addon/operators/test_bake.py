# SPDX-License-Identifier: GPL-3.0-or-later
"""Which keys a bake makes, and what it says of other programs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy

from supple.addon import actions, bake_run, command_line
from supple.addon.operators import bake


def test_a_plain_bake_is_for_export_and_says_so_and_one_for_this_file_says_what_is_not(
    scene, add_body, play
):
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    play(3)
    message = actions.bake(bpy.context)
    assert "glTF, FBX, Alembic and USD files hold their motion." in message
    assert first.data.shape_keys.use_relative and second.data.shape_keys.use_relative
    assert len(bpy.data.actions) == 1
    play(3)
    message = actions.bake(bpy.context, kind="file")
    assert (
        "glTF and FBX files do not. For glTF and FBX, set Keys to Export and bake again." in message
    )
    assert not first.data.shape_keys.use_relative
    assert len(bpy.data.actions) == 1
    actions.free(bpy.context)
    assert not bpy.data.actions


def test_keys_that_would_play_too_slowly_for_export_are_absolute(
    scene, add_body, play, monkeypatch
):
    obj = add_body()
    monkeypatch.setattr(bake_run, "_MOST_SQUARED_KEYS", 15)
    play(3)
    assert "The keys are absolute" in actions.bake(bpy.context)
    play(3)
    assert "hold their motion" in actions.bake(bpy.context, step=2)
    play(3)
    assert "hold their motion" in actions.bake(bpy.context, kind="export")
    assert obj.data.shape_keys.use_relative


def test_the_command_line_and_the_button_have_the_kinds_of_keys():
    described = command_line.parser("supple", with_file=False)
    assert described.parse_args(["bake"]).keys == bake_run.AUTOMATIC
    assert described.parse_args(["bake", "--keys", "file"]).keys == bake_run.FILE
    items = bpy.ops.supple.bake.get_rna_type().properties["kind"].enum_items
    assert [item.identifier for item in items] == [name for name, *_ in bake_run.KINDS]


def test_free_says_which_meshes_stay_since_they_were_edited(scene, add_body, play):
    first = add_body("First")
    twins = [first.copy() for _ in range(2)]
    for x, twin in enumerate(twins, 1):
        twin.location.x = 3.0 * x
        scene.collection.objects.link(twin)
    bpy.context.view_layer.update()
    mesh = first.data
    play(3)
    actions.bake(bpy.context)
    assert len({obj.data for obj in (first, *twins)}) == 3
    edited = next(obj for obj in twins if obj.data != mesh)
    edited.data.materials.append(bpy.data.materials.new("Red"))
    message = actions.free(bpy.context)
    assert (
        f"These objects keep their own meshes, which were edited after Bake: {edited.name}."
        in message
    )
    assert [obj.data == mesh for obj in (first, *twins)].count(True) == 2


def test_a_bake_of_an_outdated_run_says_so_first_and_afterwards(scene, add_body, play):
    obj = add_body()
    play(3)
    assert bake_run.outdated_changes(bpy.context) == []
    obj.supple.young *= 2.0
    bpy.context.scene.supple.ground_height -= 1.0
    changes = bake_run.outdated_changes(bpy.context)
    assert changes == ["Cube: Stiffness", "Scene: Ground Height"]
    assert bake_run.outdated_warning(changes) == (
        "The simulation is out of date. Changed since: Cube: Stiffness; Scene: Ground Height."
    )
    message = actions.bake(bpy.context)
    assert message.startswith(
        "Baked 4 frames to shape keys: Cube. The bake is out of date, "
        "since this was changed after the"
    )
    assert "simulation: Cube: Stiffness; Scene: Ground Height. Simulate and bake again." in message


def test_in_a_window_an_outdated_bake_is_asked_about(scene, add_body, play, monkeypatch):
    obj = add_body()
    play(3)
    scene.gravity.z = -1.0
    asked: list[str] = []
    monkeypatch.setattr(bake, "_ask", lambda _, changes, choices: asked.extend(changes))
    monkeypatch.setattr(bpy, "app", SimpleNamespace(background=False))
    operator = SimpleNamespace(
        is_confirmed=False, step=1, kind="automatic", execute=lambda _: {"X"}
    )
    invoke: Any = bake.SUPPLE_OT_bake.invoke
    assert invoke(operator, bpy.context, None) == {"CANCELLED"}
    assert asked == ["Scene: gravity"]
    operator.is_confirmed = True
    assert invoke(operator, bpy.context, None) == {"X"}
    assert obj.data.shape_keys is None


def test_it_says_whose_frames_and_whose_baked_keys_are_gone(add_body, play):
    add_body("Sphere")
    play(3)
    actions.bake(bpy.context)
    assert [obj.name for obj in actions.baked_bodies(bpy.context.scene)] == ["Sphere"]
    play(3)
    assert actions.free(bpy.context) == (
        "Removed the simulated frames of Sphere and the baked shape keys of Sphere."
    )
    assert actions.baked_bodies(bpy.context.scene) == []
    assert actions.free(bpy.context) == "There is nothing to remove."


def test_without_a_bake_it_speaks_of_frames_alone(add_body, play):
    for name in ("A", "B", "C", "D"):
        add_body(name)
    play(3)
    assert actions.free(bpy.context) == "Removed the simulated frames of 4 soft bodies."


def test_scripts_are_not_asked(add_body, play):
    body = add_body()
    play(3)
    actions.bake(bpy.context)
    assert bpy.ops.supple.free() == {"FINISHED"}
    assert body.data.shape_keys is None


def test_the_tooltip_tells_of_all_bodies_and_of_their_keys(scene):
    text = bpy.ops.supple.free.get_rna_type().description
    assert "all soft bodies" in text and "baked shape keys" in text
