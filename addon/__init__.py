# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that knows Blender."""

from __future__ import annotations

import atexit
from pathlib import Path

import bpy

from ..core.errors import legible
from . import command_line, operators, panels, preferences, properties, render_check
from .cache import cache_moves, packed_frames, trash
from .capture import fingerprint
from .capture.objects import is_soft_body
from .fits import loss_plot
from .operators import doctor
from .panels import ground_overlay, paint_overlay
from .playback import fields, fitting
from .properties import rest_boxes
from .worker import session, warm_worker

CLASSES = [
    *properties.CLASSES,
    preferences.SupplePreferences,
    *operators.CLASSES,
    *panels.CLASSES,
]


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    properties.attach()
    command_line.register()
    for handlers, handler in _HANDLERS:
        handlers.append(handler)
    ground_overlay.register()
    paint_overlay.register()
    if not bpy.app.background:
        # Not at once: Blender is still starting.
        bpy.app.timers.register(
            warm_worker.prepare_unless_compiled, first_interval=2.0, persistent=True
        )
    # Blender unregisters when it quits, the bpy module does not, and crashes over what is left.
    if bpy.app.module:
        atexit.register(unregister)


def unregister() -> None:
    session.stop()
    doctor.forget()
    if bpy.app.timers.is_registered(warm_worker.prepare_unless_compiled):
        bpy.app.timers.unregister(warm_worker.prepare_unless_compiled)
    loss_plot.unregister()
    paint_overlay.unregister()
    ground_overlay.unregister()
    atexit.unregister(unregister)
    for handlers, handler in _HANDLERS:
        handlers.remove(handler)
    command_line.unregister()
    properties.detach()
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _before_load(*_: object) -> None:
    session.stop()
    trash.forget()
    doctor.forget()
    fields.forget_fields()
    paint_overlay.forget()


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _before_frame(scene: bpy.types.Scene, *_: object) -> None:
    fields.update(scene)


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _after_frame(*_: object) -> None:
    paint_overlay.forget_shapes()


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _after_load(*_: object) -> None:
    fingerprint.forget()
    rest_boxes.forget()
    cache_moves.problem = ""
    cache_moves.reconnect()
    if not bpy.app.background and any(is_soft_body(obj) for obj in bpy.data.objects):
        warm_worker.prepare()


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _before_save(file: str, *_: object) -> None:
    cache_moves.before_saving(Path(file))


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _after_save(file: str, *_: object) -> None:
    cache_moves.after_saving(Path(file))
    if note := packed_frames.travel_note(list(bpy.data.scenes)):
        print(f"Supple: {legible(note)}", flush=True)


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _begin_render(scene: bpy.types.Scene, *_: object) -> None:
    render_check.begin(scene)


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _before_render(scene: bpy.types.Scene, *_: object) -> None:
    render_check.check(scene)


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _after_render(scene: bpy.types.Scene, *_: object) -> None:
    render_check.check_again(scene)


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _end_render(scene: bpy.types.Scene, *_: object) -> None:
    render_check.end(scene)


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _after_undo(*_: object) -> None:
    fingerprint.forget()
    rest_boxes.forget()
    paint_overlay.forget()
    cache_moves.reconnect()


@bpy.app.handlers.persistent  # type: ignore[untyped-decorator]
def _after_edit(_: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    fingerprint.forget(depsgraph)
    if any(update.is_updated_geometry for update in depsgraph.updates):
        rest_boxes.forget()
    paint_overlay.forget_changed(depsgraph)
    fitting.update_edited(depsgraph)


_HANDLERS = [
    (bpy.app.handlers.load_pre, _before_load),
    (bpy.app.handlers.load_post, _after_load),
    (bpy.app.handlers.save_pre, _before_save),
    (bpy.app.handlers.save_post, _after_save),
    (bpy.app.handlers.save_post_fail, _after_save),
    (bpy.app.handlers.undo_post, _after_undo),
    (bpy.app.handlers.redo_post, _after_undo),
    (bpy.app.handlers.frame_change_pre, _before_frame),
    (bpy.app.handlers.frame_change_post, _after_frame),
    (bpy.app.handlers.depsgraph_update_post, _after_edit),
    (bpy.app.handlers.render_init, _begin_render),
    (bpy.app.handlers.render_pre, _before_render),
    (bpy.app.handlers.render_post, _after_render),
    (bpy.app.handlers.render_complete, _end_render),
    (bpy.app.handlers.render_cancel, _end_render),
]
