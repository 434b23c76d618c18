# SPDX-License-Identifier: GPL-3.0-or-later
"""Fifty times off and on in a window leave no process, timer, class or entry behind."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import addon_utils
import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

ADDON = "bl_ext.user_default.supple"


def scenario(ui: Ui) -> Steps:
    cube = bpy.data.objects["Cube"]
    bpy.context.scene.frame_end = 4
    bpy.context.scene.supple.cache_folder = str(ui.work / "cache")
    cube.supple.resolution = 4
    yield from ui.open_sidebar("Supple")
    # With a worker that waits, and frames that play.
    yield from ui.simulate()
    before = _traces()
    assert before
    # Blender crashes where it takes away the button under the mouse, of whatever extension.
    yield from ui.hover()
    began = time.monotonic()
    for _ in range(50):
        addon_utils.disable(ADDON)
        assert not _traces(), _traces()
        addon_utils.enable(ADDON)
        yield
    print(f"Fifty times took {time.monotonic() - began:.1f} s", flush=True)
    assert _traces() == before
    addon_utils.disable(ADDON)
    yield from ui.wait_for(lambda: not _children(), "the last process to end")
    yield from ui.screenshot("without supple")
    modifiers = bpy.data.objects["Cube"].modifiers
    assert any(each.type == "MESH_CACHE" for each in modifiers), "frames play without Supple"
    addon_utils.enable(ADDON)
    yield from ui.redraw()
    ui.assert_clean_log()


def _traces() -> list[str]:
    """The classes, handlers and timers of Supple."""
    names = [name for name in dir(bpy.types) if name.startswith(("SUPPLE", "Supple"))]
    for kind in dir(bpy.app.handlers):
        functions = getattr(bpy.app.handlers, kind)
        if isinstance(functions, list):
            names += [kind for each in functions if each.__module__.startswith(ADDON)]
    return names


def _children() -> list[str]:
    """The processes that this one has started and that have not ended, where Linux lists them."""
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    numbers = [number for task in tasks for number in task.read_text().split()]
    states = [Path(f"/proc/{number}/stat") for number in numbers]
    return [path.read_text() for path in states if path.exists() and ") Z " not in path.read_text()]
