# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong or unexpected about the soft bodies, with the buttons that help."""

from __future__ import annotations

from itertools import groupby

import bpy

from .. import ids
from ..reports.notices import Notice, notices
from .sidebar import write

_SHOWN = 5

# Of scenes, by their session_uid. They stay while an animation plays: to look anew takes half a
# millisecond a body.
_latest: dict[int, list[Notice]] = {}


def draw_notices(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    uid = context.scene.session_uid
    if uid not in _latest or not context.screen.is_animation_playing:
        _latest[uid] = sorted(notices(context), key=_button)
    for (operator, name, hint_of), group in groupby(_latest[uid], _button):
        alike = list(group)
        box = layout.box()
        for notice in alike[:_SHOWN]:
            write(box, context, notice.text, icon="ERROR" if notice.is_problem else "INFO")
        if len(alike) > _SHOWN:
            write(box, context, f"And so for {len(alike) - _SHOWN} more.")
        row = box.row(align=True)
        if operator:
            button = row.operator(operator)
            if name:
                button.object_name = name
        if hint_of:
            row.operator(ids.DISMISS_HINT, text="Dismiss", icon="X").object_name = hint_of


def _button(notice: Notice) -> tuple[str, str, str]:
    return notice.operator, notice.name, notice.hint_of
