# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of Supple that imports Blender."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from pathlib import Path

import bpy

from ..core.errors import legible
from . import (
    asset_library,
    command_line,
    operators,
    panels,
    preferences,
    properties,
    remembered,
    render_check,
    translations,
)
from .cache import cache_moves, packed_frames, trash
from .capture import fingerprint
from .capture.objects import is_soft_body
from .fits import fit_run
from .operators import presets, solver
from .panels import ghost_overlay, ground_overlay, menus, paint_overlay
from .playback import fields, fitting
from .properties import suited
from .worker import session, warm_worker

CLASSES = [
    *properties.CLASSES,
    preferences.SupplePreferences,
    *operators.CLASSES,
    *presets.PANELS,
    *panels.CLASSES,
    *panels.LISTS,
    *menus.CLASSES,
]
Handler = Callable[..., object]


def register() -> None:
    translations.register()
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    properties.attach()
    menus.register()
    presets.register()
    command_line.register()
    asset_library.register()
    for name, handler in HANDLERS.items():
        getattr(bpy.app.handlers, name).append(handler)
    ground_overlay.register()
    ghost_overlay.register()
    paint_overlay.register()
    if not bpy.app.background:
        # Not at once: Blender is still starting.
        bpy.app.timers.register(
            warm_worker.prepare_unless_compiled, first_interval=2.0, persistent=True
        )
    # Blender unregisters when it quits. The bpy module does not, and crashes over the remaining
    # classes.
    if bpy.app.module:
        atexit.register(unregister)


def unregister() -> None:
    session.stop()
    solver.forget()
    if bpy.app.timers.is_registered(warm_worker.prepare_unless_compiled):
        bpy.app.timers.unregister(warm_worker.prepare_unless_compiled)
    fit_run.unregister()
    paint_overlay.unregister()
    ghost_overlay.unregister()
    ground_overlay.unregister()
    atexit.unregister(unregister)
    for name, handler in HANDLERS.items():
        getattr(bpy.app.handlers, name).remove(handler)
    asset_library.unregister()
    command_line.unregister()
    presets.unregister()
    menus.unregister()
    properties.detach()
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
    translations.unregister()


def _prepare_worker() -> None:
    cache_moves.problem = ""
    cache_moves.reconnect()
    if not bpy.app.background and any(is_soft_body(obj) for obj in bpy.data.objects):
        warm_worker.prepare()


def _report_travel() -> None:
    if note := packed_frames.travel_note(list(bpy.data.scenes)):
        print(f"Supple: {legible(note)}", flush=True)


def _forget_edited(_: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    fingerprint.forget(depsgraph)
    remembered.forget()
    suited.forget(depsgraph)
    paint_overlay.forget_changed(depsgraph)
    fitting.update_edited(depsgraph)


def _each(*functions: Handler) -> Handler:
    """A handler that calls functions without arguments."""

    def handle(*_: object) -> None:
        for function in functions:
            function()

    return handle


def _first(*functions: Handler) -> Handler:
    """A handler that calls functions with the scene, or with the path of the file."""

    def handle(subject: object, *_: object) -> None:
        argument = Path(subject) if isinstance(subject, str) else subject
        for function in functions:
            function(argument)

    return handle


_AFTER_SAVE = _first(cache_moves.after_saving, lambda _: _report_travel())
_AFTER_UNDO = _each(
    *(fingerprint.forget, suited.forget, remembered.forget),
    *(paint_overlay.forget, cache_moves.reconnect),
)
#: Functions for Blender's lists of handlers.
HANDLERS = {
    name: bpy.app.handlers.persistent(handler)
    for name, handler in {
        "load_pre": _each(
            *(session.stop, trash.forget, solver.forget, fields.forget_fields), paint_overlay.forget
        ),
        "load_post": _each(fingerprint.forget, suited.forget, remembered.forget, _prepare_worker),
        "save_pre": _first(cache_moves.before_saving),
        "save_post": _AFTER_SAVE,
        "save_post_fail": _AFTER_SAVE,
        "undo_post": _AFTER_UNDO,
        "redo_post": _AFTER_UNDO,
        "frame_change_pre": _first(fields.update),
        "frame_change_post": _each(paint_overlay.forget_shapes),
        "depsgraph_update_post": _forget_edited,
        "render_init": _first(render_check.begin),
        "render_pre": _first(render_check.check),
        "render_post": _first(render_check.check_again),
        "render_complete": _first(render_check.end),
        "render_cancel": _first(render_check.end),
    }.items()
}
