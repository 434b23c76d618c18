# SPDX-License-Identifier: GPL-3.0-or-later
"""The notices there are, and their buttons."""

from __future__ import annotations

import bpy

from supple.addon.reports import notices
from supple.addon.reports.notices import Notice


def shown_notices() -> list[Notice]:
    bpy.context.view_layer.update()
    return notices.notices(bpy.context)


def only(operator: str) -> str:
    """The one notice there is, which has this button."""
    (notice,) = shown_notices()
    assert notice.operator == operator
    return notice.text


def press(notice: Notice) -> set[str]:
    operator = getattr(bpy.ops.supple, notice.operator.removeprefix("supple."))
    return operator(object_name=notice.name)
