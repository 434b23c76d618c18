# SPDX-License-Identifier: GPL-3.0-or-later
"""A hand grips a falling jelly where it is, carries it, and lets it go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

GRIP, THROW, LAST = 6, 18, 26


def scenario(ui: Ui) -> Steps:
    jelly = yield from ui.new_object("grip", LAST, _ball)
    hand = _hand(ui)
    side = [vertex.index for vertex in jelly.data.vertices if vertex.co.x > 0.7]
    jelly.vertex_groups.new(name="Grip").add(side, 1.0, "REPLACE")
    ui.activate(jelly.name)
    ui.unfold("attach")
    yield from ui.make_soft(jelly)
    jelly.supple.attach_to, jelly.supple.attach_group = hand, "Grip"
    for frame, is_held in ((1, False), (GRIP, True), (THROW, False)):
        jelly.supple.attached = is_held
        jelly.supple.keyframe_insert("attached", frame=frame)
    with ui.context():
        bpy.ops.ed.undo_push(message="Keys")
    yield from ui.simulate_cleanly()
    for frame in (GRIP, THROW, LAST):
        bpy.context.scene.frame_set(frame)
        yield from ui.screenshot(f"frame {frame}")
    _check(ui, jelly, hand, side)

    name = jelly.name
    shown = ui.shape(jelly, THROW)
    yield from ui.hover()
    for is_redo in (False, True):
        yield from ui.key("Z", ctrl=True, shift=is_redo)
        yield from ui.wait(0.5)
    jelly = bpy.data.objects[name]
    np.testing.assert_allclose(ui.shape(jelly, THROW), shown, atol=1e-6)
    ui.assert_clean_log()


def _ball() -> None:
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=3, location=(0.0, 0.0, 4.0))


def _hand(ui: Ui) -> bpy.types.Object:
    with ui.context():
        bpy.ops.mesh.primitive_cube_add(location=(3.0, 0.0, 4.0))
    hand = bpy.context.object
    hand.name, hand.scale, hand.supple.collider = "Hand", (0.2, 1.2, 1.2), True
    for frame, x in ((1, 3.0), (GRIP, 3.0), (THROW, 5.0), (LAST, 5.0)):
        hand.location.x = x
        hand.keyframe_insert("location", frame=frame)
    return hand


def _check(ui: Ui, jelly: bpy.types.Object, hand: bpy.types.Object, side: list[int]) -> None:
    """The gripped vertices fall, keep their place beside the hand, and fall again."""
    beside = []
    for frame in range(1, LAST + 1):
        bpy.context.scene.frame_set(frame)
        beside.append(ui.shape(jelly, frame)[side] - np.array(hand.matrix_world.translation))
    places = np.array(beside)
    assert places[0, :, 2].mean() - places[GRIP - 1, :, 2].mean() > 0.1
    np.testing.assert_allclose(
        places[GRIP - 1 : THROW], np.tile(places[GRIP - 1], (THROW - GRIP + 1, 1, 1)), atol=2e-5
    )
    assert places[THROW - 1, :, 2].mean() - places[-1, :, 2].mean() > 0.1
    events = ui.module("panels.main").latest_report(bpy.context.scene).events
    assert "took hold" in events and "let go" in events, events
