# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of what a simulation follows, at frames that it does not simulate."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..animated import GRAVITY, SETTINGS, curve_of, own_curves
from ..capture.absorbers import ABSORPTION, absorbers
from ..capture.attachments import rows_of
from ..capture.force_fields import acts
from ..capture.objects import soft_bodies


def messages(context: bpy.types.Context, frames: range) -> Iterator[str]:
    """One for each setting that changes at other frames alone, with the cure.

    ``of_switches`` has those of switches.
    """
    scene = context.scene
    if not frames:
        return
    for obj in soft_bodies(context):
        yield from _of_owner(obj, (SETTINGS,), frames)
    for obj in context.view_layer.objects:
        if acts(scene, obj):
            yield from _of_owner(obj, ("field.",), frames)
    for obj in absorbers(context):
        yield from _of_owner(obj, (ABSORPTION,), frames)
    yield from _of_owner(scene, (*GRAVITY, SETTINGS), frames)


def _of_owner(owner: bpy.types.ID, paths: tuple[str, ...], frames: range) -> Iterator[str]:
    outside: dict[str, str] = {}
    for curve in own_curves(owner):
        if (
            not curve.data_path.startswith(paths)
            or _setting(owner, curve.data_path).type == "BOOLEAN"
        ):
            continue
        if side := _side(curve, frames):
            outside.setdefault(curve.data_path, side)
    for path, side in outside.items():
        name = _setting(owner, path).name
        yield (
            f"{owner.name}: all keys of {name} lie {side}, so it does not change. Move them, or "
            "the frames to simulate."
        )


def _side(curve: bpy.types.FCurve, frames: range) -> str:
    """Where all that a curve does takes place; empty where some of it is simulated."""
    points = curve.keyframe_points
    if curve.extrapolation == "LINEAR" or len(curve.modifiers):
        return ""
    if all(point.co.y == points[0].co.y for point in points):
        return ""
    first, last = curve.range()
    if first >= frames[-1]:
        return f"after the end frame {frames[-1]}"
    return f"before the start frame {frames[0]}" if last <= frames[0] else ""


def _setting(owner: bpy.types.ID, path: str) -> bpy.types.Property:
    prefix, _, name = path.rpartition(".")
    settings = owner.path_resolve(prefix) if prefix else owner
    return settings.bl_rna.properties[name]


def of_switches(obj: bpy.types.Object, frames: range) -> Iterator[str]:
    """Keys of what lets go that change nothing: it does so once, and for good.

    Args:
        obj: a soft body.
        frames: that are simulated.
    """
    if obj.supple.pin_group:
        yield from _of_switch(obj, "pinned", "Pinned", frames)
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
