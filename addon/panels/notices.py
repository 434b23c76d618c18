# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong or unexpected about the soft bodies, with the buttons that help."""

from __future__ import annotations

from itertools import groupby

import bpy

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
    for (operator, name), group in groupby(_latest[uid], _button):
        alike = list(group)
        box = layout.box()
        for notice in alike[:_SHOWN]:
            write(box, context, notice.text, icon="ERROR" if notice.is_problem else "INFO")
        if len(alike) > _SHOWN:
            write(box, context, f"And so for {len(alike) - _SHOWN} more.")
        if operator:
            button = box.operator(operator)
            if name:
                button.object_name = name


def _button(notice: Notice) -> tuple[str, str]:
    return notice.operator, notice.name
