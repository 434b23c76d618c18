# SPDX-License-Identifier: GPL-3.0-or-later
"""A jelly leaves Blender: bones, a moving origin, a loop and files, with undo and redo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 24


def scenario(ui: Ui) -> Steps:
    scene = bpy.context.scene
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    # A panel is open where it is so when the sidebar is first drawn.
    for name in ("export", "playback"):
        ui.unfold(name)
    yield from ui.open_sidebar("Supple")
    yield from ui.simulate()
    yield from _bones(ui)
    yield from _origin(ui)
    yield from _loop(ui)
    yield from _files(ui)
    ui.assert_clean_log()


def _cube() -> bpy.types.Object:
    return bpy.data.objects["Cube"]


def _undone_and_redone(ui: Ui, name: str) -> Steps:
    yield from ui.hover()
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait_for(lambda: name not in bpy.data.objects, "undo")
    assert not _cube().hide_get() and ui.plays("Cube")
    yield from ui.key("Z", ctrl=True, shift=True)
    yield from ui.wait_for(lambda: name in bpy.data.objects, "redo")
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait_for(lambda: name not in bpy.data.objects, "undo again")


def _bones(ui: Ui) -> Steps:
    expected = ui.shape(_cube(), 14)
    yield from ui.click_button("supple.make_bones")
    yield from ui.wait_for(lambda: "Cube Skinned" in bpy.data.objects, "bones", 60.0)
    yield from ui.wait(0.5)
    found = ui.shape(bpy.data.objects["Cube Skinned"], 14)
    size = np.linalg.norm(np.ptp(expected, axis=0))
    assert np.linalg.norm(found - expected, axis=1).mean() < 0.02 * size
    yield from ui.screenshot("bones")
    assert any("Bones follow Cube to" in line for line in ui.reports())
    yield from _undone_and_redone(ui, "Cube Skinned")


def _origin(ui: Ui) -> Steps:
    expected = ui.shape(_cube(), 14)
    yield from ui.click_button("supple.move_origins")
    yield from ui.wait_for(lambda: "Cube Baked" in bpy.data.objects, "a copy", 60.0)
    yield from ui.wait(0.5)
    np.testing.assert_allclose(ui.shape(bpy.data.objects["Cube Baked"], 14), expected, atol=1e-4)
    yield from ui.screenshot("origin")
    yield from _undone_and_redone(ui, "Cube Baked")


def _loop(ui: Ui) -> Steps:
    expected, first = ui.shape(_cube(), 13), ui.shape(_cube(), 1)
    yield from ui.click_button("supple.loop")
    yield from ui.wait_for(lambda: any("loop after 12" in line for line in ui.reports()), "a loop")
    # Twelve frames are blended by default, so that the first one is the thirteenth.
    shown = ui.shape(_cube(), 1)
    assert np.abs(shown - first).max() > 1e-3
    np.testing.assert_allclose(shown, expected, atol=1e-5)
    yield from ui.hover()
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait(0.5)
    np.testing.assert_allclose(ui.shape(_cube(), 1), first, atol=1e-5)


def _files(ui: Ui) -> Steps:
    """Some builds of Blender have no Alembic or no USD; the buttons are grey there."""
    for kind, ending in (("alembic", "abc"), ("usd", "usdc")):
        operator = getattr(bpy.ops.supple, f"export_{kind}")
        with ui.context():
            is_there = getattr(bpy.app.build_options, kind)
            assert operator.poll() == is_there
            if is_there:
                operator(filepath=str(ui.work / f"jelly.{ending}"))
                assert (ui.work / f"jelly.{ending}").exists()
    if not bpy.app.build_options.usd:
        return
    yield from ui.click_button("supple.export_usd")
    yield from ui.wait(1.0)
    yield from ui.screenshot("file browser")
    yield from ui.hover()
