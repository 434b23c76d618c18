# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets of quality and material in the heads of panels, and settings copied to other bodies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    with ui.context():
        bpy.ops.supple.add()
    yield from ui.open_sidebar("Supple")
    for name in ("SUPPLE_PT_quality_presets", "SUPPLE_PT_material_presets"):
        yield from ui.hover()
        with ui.context():
            bpy.ops.wm.call_panel(name=name, keep_open=True)
        yield from ui.screenshot(name)
        yield from ui.key("ESC")
        yield from ui.wait(0.3)
    shipped = Path(ui.module("operators.presets").FOLDER) / "presets" / "supple" / "quality"
    with ui.context():
        bpy.ops.script.execute_preset(
            filepath=str(shipped / "Draft.py"), menu_idname="SUPPLE_PT_quality_presets"
        )
        assert scene.supple.resolution_scale == 60.0
        # It came with the extension.
        bpy.ops.supple.add_quality_preset(name="Draft", remove_name=True)
        assert (shipped / "Draft.py").exists()
    yield from _copied(ui, cube)
    ui.assert_clean_log()


def _copied(ui: Ui, cube: bpy.types.Object) -> Steps:
    with ui.context():
        bpy.ops.mesh.primitive_uv_sphere_add(location=(0, 0, 4))
        sphere = bpy.context.object
        cube.supple.density = 123.0
        cube.select_set(True)
        bpy.context.view_layer.objects.active = cube
        bpy.ops.ed.undo_push(message="Sphere")
        bpy.ops.supple.copy_settings("INVOKE_DEFAULT", True)  # with an undo step, as a menu does
    assert sphere.supple.enabled and sphere.supple.density == 123.0
    yield from ui.hover()
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait(0.5)
    assert not bpy.data.objects["Sphere"].supple.enabled
    yield from ui.key("Z", ctrl=True, shift=True)
    yield from ui.wait(0.5)
    assert bpy.data.objects["Sphere"].supple.enabled
    yield from _shared(ui)


def _shared(ui: Ui) -> Steps:
    """Two bodies share a material: one is changed, and undo and redo change both."""
    with ui.context():
        bpy.ops.supple.share_material("INVOKE_DEFAULT", True)
    yield from ui.redraw()
    yield from ui.screenshot("material set")
    with ui.context():
        bpy.ops.supple.apply_preset("INVOKE_DEFAULT", True, preset="clay")
    names = ("Cube", "Sphere")

    def plastic() -> list[bool]:
        return [bpy.data.objects[name].supple.use_plasticity for name in names]

    assert plastic() == [True, True]
    yield from ui.hover()
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait(0.5)
    assert plastic() == [False, False]
    yield from ui.key("Z", ctrl=True, shift=True)
    yield from ui.wait(0.5)
    assert plastic() == [True, True]
    ui.activate("Cube")
    yield from ui.click_button("supple.unshare_material")
    yield from ui.wait_for(lambda: not bpy.data.objects["Cube"].supple.material_set, "one user")
    bpy.data.objects["Cube"].supple.use_plasticity = False
    assert plastic() == [False, True]
