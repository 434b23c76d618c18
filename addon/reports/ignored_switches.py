# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of what lets go that change nothing: it does so once, and for good."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..animated import curve_of
from ..capture.attachments import rows_of


def messages(obj: bpy.types.Object, frames: range) -> Iterator[str]:
    """
    Args:
        obj: a soft body.
        frames: that are simulated.
    """
    if obj.supple.pin_group:
        yield from _of_switch(obj, "pinned", "Pinned", frames)
    elif curve_of(obj, "pinned") is not None:
        yield (
            f"{obj.name}: the keys of Pinned are ignored, since it has no Pin Group. Choose one "
            "under Pins, or remove them."
        )
    for row, props in rows_of(obj.supple):
        path = f"{row}.attached" if row else "attached"
        yield from _of_switch(obj, path, f"Attached to {props.attach_to.name}", frames)


def _of_switch(obj: bpy.types.Object, path: str, label: str, frames: range) -> Iterator[str]:
    curve = curve_of(obj, path)
    if curve is None:
        return
    off = [frame for frame in frames if curve.evaluate(frame) < 0.5]
    if not off:
        keys = [point.co[0] for point in curve.keyframe_points if point.co[1] < 0.5]
        if keys:
            yield (
                f"{obj.name}: {label} is keyed off at frame {keys[0]:g}, which is not among the "
                f"simulated frames {frames[0]} to {frames[-1]}, and holds throughout. Move the key."
            )
        return
    on = [frame for frame in range(off[0], frames[-1] + 1) if curve.evaluate(frame) >= 0.5]
    if on:
        yield (
            f"{obj.name}: {label} is keyed on again at frame {on[0]}, which is ignored: what has "
            f"let go at frame {off[0]} stays free. Remove the later key."
        )
    elif off[0] == frames[0]:
        yield (
            f"{obj.name}: {label} is keyed off at the start frame {frames[0]} already, so it never "
            "holds. Move the key into the simulated frames, or remove it."
        )
