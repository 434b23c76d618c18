# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong or unexpected about the soft bodies, with the buttons that help."""

from __future__ import annotations

import math
import time
from itertools import groupby

import bpy

from .. import ids
from ..capture.objects import soft_bodies
from ..modifiers import find_modifier
from ..reports import outdated
from ..reports.notices import Notice, notices
from .sidebar import write

_SHOWN = 5

# The notices of scenes by their session_uid, and when they were looked for. While an animation
# plays that is done once a second, since it takes half a millisecond a body.
_latest: dict[int, tuple[float, list[Notice]]] = {}
_SECONDS_WHILE_PLAYING = 1.0


def simulate_text(context: bpy.types.Context, found: list[Notice]) -> str:
    """The text of the Simulate button, which gives the state of what is played."""
    state = outdated.worst(notice.state for notice in found)
    if not state and any(map(find_modifier, soft_bodies(context))):
        state = outdated.UP_TO_DATE
    return f"Simulate ({state})" if state else "Simulate"


def latest_notices(context: bpy.types.Context) -> list[Notice]:
    """Those of the scene, by their buttons."""
    uid, now = context.scene.session_uid, time.monotonic()
    then, found = _latest.get(uid, (-math.inf, []))
    age = _SECONDS_WHILE_PLAYING if context.screen.is_animation_playing else 0.0
    if now - then >= age:
        found = sorted(notices(context), key=_button)
        _latest[uid] = now, found
    return found


def forget_notices() -> None:
    """Look for notices anew at the next drawing, as after a run, which plays its frames."""
    _latest.clear()


def draw_notices(
    layout: bpy.types.UILayout, context: bpy.types.Context, found: list[Notice]
) -> None:
    """Draws notices with their buttons, but for Simulate, which stands above them."""
    for (operator, name, hint_of), group in groupby(found, _button):
        alike = list(group)
        box = layout.box()
        for notice in alike[:_SHOWN]:
            write(box, context, notice.text, icon="ERROR" if notice.is_problem else "INFO")
        if len(alike) > _SHOWN:
            write(box, context, f"And so for {len(alike) - _SHOWN} more.")
        row = box.row(align=True)
        if operator and operator != ids.SIMULATE:
            button = row.operator(operator)
            if name:
                button.object_name = name
        if hint_of:
            row.operator(ids.DISMISS_HINT, text="Dismiss", icon="X").object_name = hint_of


def _button(notice: Notice) -> tuple[str, str, str]:
    return notice.operator, notice.name, notice.hint_of
