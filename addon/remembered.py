# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that panels show and that take long to work out.

Blender draws panels at every move of the mouse. Values are computed again after a change of the
file, after news of a run, and once a second for changes outside of Blender. Changes in other
processes or threads redraw the panels.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from typing import TypeVar

import bpy

Value = TypeVar("Value")

_SECONDS = 1.0
# The places of panels, by editor and region.
_PLACES = (("VIEW_3D", "UI"), ("PROPERTIES", "WINDOW"))
_values: dict[Hashable, tuple[float, object]] = {}


def remembered(context: bpy.types.Context, key: Hashable, work_out: Callable[[], Value]) -> Value:
    """Return a value of the last drawing, or work it out.

    Args:
        key: names the value, and whose it is by its ``session_uid``.
    """
    then, value = _values.get(key, (-math.inf, None))
    # A script that draws without a window has no events between its changes.
    is_idle_script = bpy.app.background and not context.screen.is_animation_playing
    if is_idle_script or time.monotonic() - then >= _SECONDS:
        value = work_out()
        _values[key] = time.monotonic(), value
    return value  # type: ignore[return-value]  # of the same key


def forget(*_: object) -> None:
    """Work all values out again at the next drawing."""
    _values.clear()


def redraw_panels() -> None:
    """Draw the panels of all windows with newly computed values."""
    forget()
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions:
                if (area.type, region.type) in _PLACES:
                    region.tag_redraw()
