# SPDX-License-Identifier: GPL-3.0-or-later
"""Enabling and disabling the extension."""

from __future__ import annotations

import bpy

import supple


def traces() -> list[str]:
    """The classes, operators and handlers that Supple has in Blender while it is enabled."""
    found = [name for name in dir(bpy.types) if name.startswith(("SUPPLE", "Supple"))]
    found += [f"operator {name}" for name in dir(bpy.ops.supple)]
    found += [kind.__name__ for kind in (bpy.types.Object, bpy.types.Scene) if has_settings(kind)]
    handlers = bpy.app.handlers.load_pre
    return found + [f"handler {h.__module__}" for h in handlers if "supple" in h.__module__]


def has_settings(kind: type) -> bool:
    return hasattr(kind, "supple")


def test_disabling_leaves_nothing_and_enabling_again_brings_everything_back():
    enabled = traces()
    assert "SUPPLE_PT_main" in enabled and "operator simulate" in enabled
    supple.unregister()
    try:
        assert traces() == []
    finally:
        supple.register()
    assert traces() == enabled
