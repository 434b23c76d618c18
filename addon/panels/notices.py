# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong or unexpected about the soft bodies, with the buttons that help."""

from __future__ import annotations

from itertools import groupby

import bpy

from .. import ids
from ..capture.objects import soft_bodies
from ..modifiers import find_modifier
from ..reports import outdated
from ..reports.notices import Notice, notices
from .sidebar import write

_SHOWN = 5

# Of scenes, by their session_uid. They stay while an animation plays: to look anew takes half a
# millisecond a body.
_latest: dict[int, list[Notice]] = {}


def simulate_text(context: bpy.types.Context, found: list[Notice]) -> str:
    """The text of the Simulate button, which gives the state of what is played."""
    state = outdated.worst(notice.state for notice in found)
    if not state and any(map(find_modifier, soft_bodies(context))):
        state = outdated.UP_TO_DATE
    return f"Simulate ({state})" if state else "Simulate"


def latest_notices(context: bpy.types.Context) -> list[Notice]:
    """Those of the scene, by their buttons."""
    uid = context.scene.session_uid
    if uid not in _latest or not context.screen.is_animation_playing:
        _latest[uid] = sorted(notices(context), key=_button)
    return _latest[uid]


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
