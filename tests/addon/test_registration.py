# SPDX-License-Identifier: GPL-3.0-or-later
"""Enabling and disabling the extension."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import bpy

import supple
from supple.addon.operators.presets import FOLDER
from supple.addon.panels import menus
from supple.addon.worker import session, warm_worker


def traces() -> list[str]:
    """Everything of Supple that Blender has while the extension is enabled."""
    return [
        *(name for name in dir(bpy.types) if name.startswith(("SUPPLE", "Supple"))),
        *(f"operator {name}" for name in dir(bpy.ops.supple)),
        *(kind.__name__ for kind in (bpy.types.Object, bpy.types.Scene) if has_settings(kind)),
        *(f"handler {name}" for name in handlers()),
        *(f"entry in {name}" for name in entries()),
        *(f"presets in {path}" for path in bpy.utils._preset_path_registry if path == FOLDER),
    ]


def has_settings(kind: type) -> bool:
    return hasattr(kind, "supple")


def handlers() -> Iterator[str]:
    """The lists of Blender's handlers, once for each function of Supple in them."""
    for name in dir(bpy.app.handlers):
        functions = getattr(bpy.app.handlers, name)
        if isinstance(functions, list):
            yield from (name for each in functions if "supple" in each.__module__)


def entries() -> Iterator[str]:
    """Blender's menus, once for each function of Supple that draws in them."""
    for name in menus.ENTRIES:
        drawing = getattr(getattr(bpy.types, name).draw, "_draw_funcs", ())
        yield from (name for each in drawing if "supple" in each.__module__)


def test_disabling_leaves_nothing_and_enabling_again_brings_everything_back():
    enabled = traces()
    assert {"SUPPLE_PT_main", "operator simulate", "handler load_post"} <= set(enabled)
    assert {"entry in VIEW3D_MT_object", f"presets in {FOLDER}"} <= set(enabled)
    supple.unregister()
    try:
        assert traces() == []
    finally:
        supple.register()
    assert traces() == enabled


def test_fifty_times_leave_no_more_than_once():
    enabled, threads = traces(), threading.active_count()
    for _ in range(50):
        supple.unregister()
        assert traces() == []
        supple.register()
    assert traces() == enabled
    assert threading.active_count() == threads
    assert not session.is_running() and warm_worker.progress() is None
    assert not bpy.app.timers.is_registered(warm_worker.prepare_unless_compiled)
