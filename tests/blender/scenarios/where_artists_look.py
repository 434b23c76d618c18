# SPDX-License-Identifier: GPL-3.0-or-later
"""Supple is found by search, in menus and in Properties › Physics; Help opens the guide."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 12


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    yield from _search_finds(ui)
    yield from _jelly_by_search(ui, cube)
    yield from _undo_and_redo(ui, cube)
    yield from _menus(ui)
    yield from _physics(ui)
    yield from _help(ui)
    yield from _drawing_time(ui)
    ui.assert_clean_log()


def _search(ui: Ui, words: str) -> Steps:
    yield from ui.hover()
    yield from ui.key("F3")
    yield from ui.wait(0.5)
    yield from ui.type(words)
    yield from ui.wait(0.5)


def _search_finds(ui: Ui) -> Steps:
    """Pictures of what search shows for the words that artists have."""
    for words in ("soft body", "jiggle", "bake"):
        yield from _search(ui, words)
        yield from ui.screenshot(f"search {words}")
        yield from ui.key("ESC")
        yield from ui.key("ESC")
        yield from ui.wait(0.3)


def _jelly_by_search(ui: Ui, cube: bpy.types.Object) -> Steps:
    began = time.monotonic()
    yield from _search(ui, "jelly")
    yield from ui.screenshot("search jelly")
    yield from ui.key("RET")
    yield from ui.wait_for(lambda: cube.supple.enabled, "the cube to become jelly")
    yield from ui.wait_for(lambda: ui.plays("Cube"), "the first frames")
    print(f"Moving after {time.monotonic() - began:.1f} s", flush=True)
    yield from ui.wait_for_end()
    yield from ui.wait(0.5)
    yield from ui.stop_playing()
    yield from ui.screenshot("jelly")
    assert cube.supple.loss_factor > 0.0 and len(cube.data.vertices) > 8


def _undo_and_redo(ui: Ui, cube: bpy.types.Object) -> Steps:
    name = cube.name
    yield from ui.hover()
    for _ in range(3):
        yield from ui.key("Z", ctrl=True)
        yield from ui.wait(0.5)
    assert not bpy.data.objects[name].supple.enabled, "undo takes the soft body back"
    for _ in range(3):
        yield from ui.key("Z", ctrl=True, shift=True)
        yield from ui.wait(0.5)
    assert bpy.data.objects[name].supple.enabled and ui.plays(name), "redo brings it back"


def _menus(ui: Ui) -> Steps:
    for menu in ("SUPPLE_MT_object", "VIEW3D_MT_object_context_menu"):
        yield from ui.hover()
        with ui.context():
            bpy.ops.wm.call_menu(name=menu)
        yield from ui.screenshot(menu)
        yield from ui.key("ESC")
        yield from ui.wait(0.3)


def _physics(ui: Ui) -> Steps:
    ui.activate("Cube")
    ui.area("PROPERTIES").spaces.active.context = "PHYSICS"
    panels = ui.module("panels")
    for panel in reversed(panels.CLASSES):
        bpy.utils.unregister_class(panel)
    panels.SUPPLE_PT_physics.bl_options = set()
    for panel in panels.CLASSES:
        bpy.utils.register_class(panel)
    yield from ui.screenshot("physics")


def _help(ui: Ui) -> Steps:
    opened: list[str] = []
    browser: Any = webbrowser
    original, browser.open = browser.open, opened.append
    try:
        yield from ui.open_sidebar("Supple")
        yield from ui.click_button("supple.help")
        yield from ui.wait_for(lambda: opened, "the guide to be opened")
    finally:
        browser.open = original
    address = urlsplit(opened[0])
    text = Path(unquote(address.path)).read_text(encoding="utf-8")
    assert f'id="{address.fragment}"' in text, address


def _drawing_time(ui: Ui) -> Steps:
    """Print how long each panel takes to draw."""
    spent: dict[str, list[float]] = {}

    def timed(panel: Any) -> Any:
        draw = panel.draw

        def measured(self: Any, context: bpy.types.Context) -> None:
            began = time.perf_counter()
            draw(self, context)
            spent.setdefault(panel.__name__, []).append(time.perf_counter() - began)

        return measured

    contents = ui.module("panels").CONTENTS
    for panel in contents:
        panel.draw, panel.measured_draw = timed(panel), panel.draw
    try:
        ui.activate("Cube")
        yield from ui.open_sidebar("Supple")
        for _ in range(20):
            yield from ui.redraw()
    finally:
        for panel in contents:
            panel.draw = panel.measured_draw
    least = {name: 1e3 * min(seconds) for name, seconds in spent.items()}
    for name, milliseconds in least.items():
        print(f"{name}: {milliseconds:.3f} ms", flush=True)
    print(f"All panels: {sum(least.values()):.3f} ms", flush=True)
