# SPDX-License-Identifier: GPL-3.0-or-later
"""Free says what it removes."""

from __future__ import annotations

import bpy

from supple.addon import actions


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
