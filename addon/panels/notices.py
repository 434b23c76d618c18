# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong or unexpected about the soft bodies, with the buttons that help."""

from __future__ import annotations

from itertools import groupby

import bpy

from ..reports.notices import Notice, notices
from .sidebar import write

_SHOWN = 5

# They stay while an animation plays: to look anew takes half a millisecond a body.
_latest: list[Notice] = []


def draw_notices(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    if not context.screen.is_animation_playing:
        _latest[:] = sorted(notices(context), key=lambda each: (each.operator, each.name))
    for (operator, name), group in groupby(_latest, lambda each: (each.operator, each.name)):
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
