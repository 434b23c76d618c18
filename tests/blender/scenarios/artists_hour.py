# SPDX-License-Identifier: GPL-3.0-or-later
"""An artist's first hour with the buttons of the tab, from the default cube on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 24
# They stand where they are, whatever is active.
FIXED = ("supple.add", "supple.jiggle", "supple.remove", "supple.simulate", "supple.bake")


def scenario(ui: Ui) -> Steps:
    scene = bpy.context.scene
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    yield from ui.open_sidebar("Supple")
    yield from ui.screenshot("01 default cube")
    yield from _first_try(ui)
    yield from _buttons_stand_still(ui)
    yield from _free_and_undo(ui)
    yield from _table_in_the_way(ui)
    ui.assert_clean_log()


def _first_try(ui: Ui) -> Steps:
    yield from ui.simulate()
    yield from ui.screenshot("02 first try")
    cube = bpy.data.objects["Cube"]
    assert cube.supple.enabled
    first, last = ui.shape(cube, 1), ui.shape(cube, LAST)
    assert np.abs(last - first).max() > 0.05, "nothing is seen to move"
    yield from ui.screenshot("03 after the run")


def _buttons_stand_still(ui: Ui) -> Steps:
    places = []
    for name in ("Cube", "Camera", None):
        with ui.context():
            bpy.ops.object.select_all(action="DESELECT")
        obj = bpy.data.objects.get(name) if name else None
        bpy.context.view_layer.objects.active = obj
        if obj is not None:
            obj.select_set(True)
        yield from ui.redraw()
        ui._seen.clear()
        found = yield from ui.buttons("supple.free")
        places.append({each.operator: each.y for each in found})
    assert all(set(FIXED) <= set(each) for each in places), places
    for operator in (*FIXED, "supple.free"):
        heights = [each[operator] for each in places]
        # The mouse finds a button anywhere on it.
        assert max(heights) - min(heights) <= 8, (operator, heights)
    yield from ui.screenshot("04 nothing active")
    ui.activate("Cube")


def _free_and_undo(ui: Ui) -> Steps:
    bpy.context.scene.frame_set(LAST)
    before = ui.shape(bpy.data.objects["Cube"], LAST)
    yield from ui.click_button("supple.free")
    yield from ui.wait_for(lambda: not ui.plays("Cube"), "Free")
    yield from ui.screenshot("05 freed")
    yield from ui.hover("WINDOW")
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait_for(lambda: ui.plays("Cube"), "undo of Free")
    yield from ui.screenshot("06 free undone")
    assert np.array_equal(ui.shape(bpy.data.objects["Cube"], LAST), before)
    assert not any("does not play" in text for text in ui.notices())


def _table_in_the_way(ui: Ui) -> Steps:
    bpy.context.scene.frame_set(1)
    with ui.context():
        bpy.ops.mesh.primitive_plane_add(size=6.0, location=(0, 0, -1.1))
        bpy.context.object.name = "Table"
    bpy.context.scene.supple.ground_height = -4.0
    ui.activate("Cube")
    yield from ui.redraw()
    yield from ui.screenshot("07 table in the way")
    assert any("passes through Table" in text for text in ui.notices()), ui.notices()
    ui.activate("Table")
    yield from ui.click_button("supple.add_collider")
    yield from ui.wait_for(lambda: bpy.data.objects["Table"].supple.collider, "Add Collider")
    yield from ui.screenshot("08 collider")
    yield from ui.simulate()
    yield from ui.screenshot("09 on the table")
    low = ui.shape(bpy.data.objects["Cube"], LAST)[:, 2].min()
    assert low > -1.11, low
