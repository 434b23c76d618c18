# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong or unexpected about the soft bodies, each with the button that helps."""

from __future__ import annotations

import bpy

from ..notices import notices
from .sidebar import write


def draw_notices(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    for notice in notices(context):
        box = layout.box()
        write(box, context, notice.text, icon="ERROR" if notice.is_problem else "INFO")
        if notice.operator:
            button = box.operator(notice.operator)
            if notice.name:
                button.object_name = notice.name
