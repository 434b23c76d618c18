# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a mesh that was changed are not played, and Blender does not complain about them."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.modifiers import find_modifier, find_refined

from ..conftest import evaluated_positions
from ..shown_notices import shown_notices


@pytest.fixture
def said(capfd):
    """Counts complaints on the console since it was asked last."""

    def count() -> int:
        bpy.context.view_layer.update()
        return sum(text.count("mismatch") for text in capfd.readouterr())

    return count


def shown(obj: bpy.types.Object) -> list[bool]:
    return [each.show_viewport for each in (find_modifier(obj), *find_refined(obj))]


def play_through() -> None:
    for frame in (1, 2, 4, 9):
        bpy.context.scene.frame_set(frame)


def test_subdividing_what_was_simulated_hides_its_frames_until_the_next(
    scene, add_body, solver_here, said
):
    body = add_body()
    body.modifiers.new("Solidify", "SOLIDIFY")
    actions.simulate(bpy.context)
    play_through()
    assert said() == 0 and all(shown(body))
    assert bpy.ops.supple.subdivide(object_name="Cube") == {"FINISHED"}
    play_through()
    assert said() == 0
    assert not any(shown(body))
    assert any("vertices and had 8 when it was simulated" in each.text for each in shown_notices())
    actions.simulate(bpy.context)
    play_through()
    assert said() == 0 and all(shown(body))
    assert np.ptp(evaluated_positions(body, 4) - evaluated_positions(body, 1)) > 0.0


def test_vertices_added_in_edit_mode_hide_the_frames_and_their_removal_shows_them(
    scene, add_body, play, said
):
    body = add_body()
    play(3)
    bpy.ops.object.mode_set(mode="EDIT")
    mesh = bmesh.from_edit_mesh(body.data)
    mesh.verts.new((0, 0, 3))
    bmesh.update_edit_mesh(body.data)
    bpy.context.view_layer.update()
    assert shown(body) == [False]
    bpy.ops.object.mode_set(mode="OBJECT")
    play_through()
    assert said() == 0
    bpy.ops.object.mode_set(mode="EDIT")
    mesh = bmesh.from_edit_mesh(body.data)
    mesh.verts.ensure_lookup_table()
    mesh.verts.remove(mesh.verts[8])
    bmesh.update_edit_mesh(body.data)
    bpy.ops.object.mode_set(mode="OBJECT")
    play_through()
    assert said() == 0
    assert shown(body) == [True]
    assert evaluated_positions(body, 4)[0] != pytest.approx(evaluated_positions(body, 1)[0])


def test_undo_of_subdividing_shows_the_frames_again(scene, add_body, play, said):
    add_body()
    bpy.ops.ed.undo_push(message="before")
    play(3)
    bpy.ops.ed.undo_push(message="Simulate")
    bpy.ops.supple.subdivide(object_name="Cube")
    bpy.ops.ed.undo_push(message="Subdivide")
    bpy.ops.ed.undo()
    body = bpy.data.objects["Cube"]
    play_through()
    assert said() == 0
    assert shown(body) == [True]


def test_a_playback_that_the_user_hides_stays_hidden(scene, add_body, play):
    body = add_body()
    play(3)
    find_modifier(body).show_viewport = False
    body.data.update()
    bpy.context.view_layer.update()
    assert shown(body) == [False]
