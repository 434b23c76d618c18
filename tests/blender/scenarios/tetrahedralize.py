# SPDX-License-Identifier: GPL-3.0-or-later
"""A look at the tetrahedra before anything is simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui


def scenario(ui: Ui) -> Steps:
    bpy.context.scene.supple.cache_folder = str(ui.work / "cache")
    with ui.context():
        bpy.data.objects.remove(bpy.data.objects["Cube"])
        bpy.ops.mesh.primitive_monkey_add(location=(0.0, 0.0, 2.0))
    ui.unfold("solver_advanced")
    yield from ui.open_sidebar("Supple")
    yield from ui.click_button("supple.add")
    yield from ui.wait(0.2)
    yield from ui.click_button("supple.tetrahedralize")
    yield from ui.wait_for(_preview, "a preview")
    assert "tets" in bpy.data.objects["Suzanne"].supple.mesh_report
    assert bpy.data.objects["Suzanne"].modifiers.items() == []
    assert _preview().hide_render
    yield from ui.screenshot("preview")
    yield from ui.click_button("supple.free")
    yield from ui.wait_for(lambda: _preview() is None, "Free to remove the preview")


def _preview():
    return next((obj for obj in bpy.data.objects if obj.supple.is_preview), None)
