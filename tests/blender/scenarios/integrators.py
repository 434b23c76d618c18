# SPDX-License-Identifier: GPL-3.0-or-later
"""Each integrator of the menu simulates, and the sidebar says which one did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui


def scenario(ui: Ui) -> Steps:
    scene = bpy.context.scene
    scene.frame_end = 6
    scene.supple.cache_folder = str(ui.work / "cache")
    cube = bpy.data.objects["Cube"]
    cube.location.z, cube.supple.resolution = 2.0, 5
    yield from ui.open_sidebar("Supple")
    yield from ui.click_button("supple.add")
    yield from _look_at_the_menu(ui)
    menu = scene.supple.bl_rna.properties["integrator"].enum_items
    for item in menu:
        scene.supple.integrator = item.identifier
        yield from ui.click_button("supple.simulate")
        yield from ui.wait(0.2)
        yield from ui.wait_for_end()
        message = next(line for line in reversed(ui.reports()) if "Simulated frames 1 to 6" in line)
        assert item.identifier == "automatic" or f" {item.name}, " in message, message
    yield from ui.screenshot("last")


def _look_at_the_menu(ui: Ui) -> Steps:
    yield from ui.hover("WINDOW")
    with ui.context():
        bpy.ops.wm.call_panel(name="SUPPLE_PT_solver_advanced", keep_open=True)
    yield from ui.screenshot("menu")
    yield from ui.key("ESC")
    yield from ui.wait(0.3)
