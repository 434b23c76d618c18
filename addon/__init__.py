# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that knows Blender."""

from __future__ import annotations

import atexit

import bpy

from . import (
    command_line,
    ground_overlay,
    operators,
    panels,
    preferences,
    properties,
    session,
    standby,
)
from .capture import is_soft_body

CLASSES = [
    properties.SuppleObject,
    properties.SuppleScene,
    preferences.SupplePreferences,
    *operators.CLASSES,
    *panels.CLASSES,
]


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    properties.attach()
    command_line.register()
    bpy.app.handlers.load_pre.append(_before_load)
    bpy.app.handlers.load_post.append(_after_load)
    ground_overlay.register()
    if not bpy.app.background:
        # Not at once: Blender is still starting.
        bpy.app.timers.register(
            standby.prepare_unless_compiled, first_interval=2.0, persistent=True
        )
    # Blender unregisters when it quits, the bpy module does not, and crashes over what is left.
    if bpy.app.module:
        atexit.register(unregister)


def unregister() -> None:
    session.stop()
    if bpy.app.timers.is_registered(standby.prepare_unless_compiled):
        bpy.app.timers.unregister(standby.prepare_unless_compiled)
    ground_overlay.unregister()
    atexit.unregister(unregister)
    bpy.app.handlers.load_pre.remove(_before_load)
    bpy.app.handlers.load_post.remove(_after_load)
    command_line.unregister()
    properties.detach()
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _before_load(*_: object) -> None:
    session.stop()


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _after_load(*_: object) -> None:
    if not bpy.app.background and any(is_soft_body(obj) for obj in bpy.data.objects):
        standby.prepare()
