# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of what a simulation follows, at frames that it does not simulate."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..animated import GRAVITY, SETTINGS, own_curves
from ..capture.absorbers import ABSORPTION, absorbers
from ..capture.force_fields import acts
from ..capture.objects import soft_bodies


def messages(context: bpy.types.Context, frames: range) -> Iterator[str]:
    """One for each setting that changes at other frames alone, with the cure; of switches
    ``ignored_switches`` tells."""
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
