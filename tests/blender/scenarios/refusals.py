# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes that cannot be simulated are refused with a message, in the window, and stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui


def scenario(ui: Ui) -> Steps:
    cube = bpy.data.objects["Cube"]
    bpy.context.scene.supple.cache_folder = str(ui.work / "cache")
    cube.location.z = 2.0
    with ui.context():
        bpy.ops.object.select_all(action="DESELECT")
        assert not bpy.ops.supple.add.poll(), "nothing is selected"
        cube.select_set(True)
    yield from ui.open_sidebar("Supple")
    yield from ui.click_button("supple.add")
    yield from ui.wait_for(lambda: cube.supple.enabled, "a soft body")

    cube.supple.poisson = 0.5
    yield from _refused(ui, "Cube: Poisson's ratio must lie above -1 and below 0.5")
    cube.supple.poisson = 0.45
    cube.supple.pin_group = "Nowhere"
    yield from _refused(ui, "Cube has no vertex group 'Nowhere'")
    cube.supple.pin_group = ""
    bpy.context.scene.frame_end = bpy.context.scene.frame_start
    yield from _refused(ui, "does not come after the start frame")
    bpy.context.scene.frame_end = 20
    cube.location.z = -3.0
    yield from _refused(ui, "Cube starts 4 m below the ground")


def _refused(ui: Ui, message: str) -> Steps:
    yield from ui.click_button("supple.simulate")
    yield from ui.wait(0.5)
    yield from ui.screenshot("refused")
    # The report's popup takes the next key.
    yield from ui.key("ESC")
    yield from ui.wait(0.3)
    reports = ui.reports()
    assert any(message in line for line in reports[-3:]), reports
    cube = bpy.data.objects["Cube"]
    assert not cube.modifiers and cube.data.shape_keys is None
