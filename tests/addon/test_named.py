# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of many objects in messages."""

from __future__ import annotations

import bpy

from supple.addon.named import named
from supple.addon.properties import selection


def test_up_to_three_are_named_and_more_are_counted(add_body):
    bodies = [add_body(name) for name in ("Ball", "Cube", "Egg", "Jelly")]
    assert named(bodies[:1]) == "Ball"
    assert named(bodies[:3]) == "Ball, Cube, Egg"
    assert named(bodies) == "4 soft bodies"


def test_a_button_for_many_bodies_reports_their_number(add_body, capfd):
    for _ in range(4):
        add_body()
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.supple.suit_young()
    assert "Stiffness from Size: 4 soft bodies." in capfd.readouterr().out


def test_many_meshes_become_soft_bodies_in_a_short_sentence(scene):
    for place in range(25):
        bpy.ops.mesh.primitive_cube_add(location=(3 * place, 0, 5))
    bpy.ops.object.select_all(action="SELECT")
    message = selection.make_soft(bpy.context, selection.candidates(bpy.context))
    assert message == "25 meshes are soft bodies now."
