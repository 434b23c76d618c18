# SPDX-License-Identifier: GPL-3.0-or-later
"""What of an object or a scene is keyed or driven."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

#: Of a scene: the gravity, and whether it acts.
GRAVITY = ("gravity", "use_gravity")
#: With what the paths of Supple's settings begin.
SETTINGS = ".".join(("supple", ""))


def has_animated_gravity(scene: bpy.types.Scene) -> bool:
    """Whether anything changes a scene's gravity, or whether it has one."""
    return not animated_paths(scene).isdisjoint(GRAVITY)


def is_animated(data_block: bpy.types.ID) -> bool:
    """Whether an action, the NLA or a driver changes anything of it."""
    data = data_block.animation_data
    return data is not None and bool(data.action or len(data.drivers) or len(data.nla_tracks))


def animated_settings(owner: bpy.types.ID) -> set[str]:
    """The names of Supple's own settings among what is animated of it."""
    parts = (path.partition(".") for path in animated_paths(owner))
    return {name for prefix, _, name in parts if prefix == "supple"}


def animated_paths(owner: bpy.types.ID) -> set[str]:
    """The paths of all that its action, its NLA strips and its drivers change."""
    data = owner.animation_data
    if data is None:
        return set()
    actions = [(data.action, data.action_slot)]
    for track in data.nla_tracks:
        for strip in track.strips:
            actions += [(each.action, each.action_slot) for each in (strip, *strip.strips)]
    paths = {driver.data_path for driver in data.drivers}
    for action, slot in actions:
        if action is not None and slot is not None:
            paths.update(_paths(action, slot))
    return paths


def curve_of(owner: bpy.types.ID, setting: str) -> bpy.types.FCurve | None:
    """That of its action on one of Supple's settings, such as ``attachments[0].attached``; None
    where there is none."""
    data, path = owner.animation_data, ".".join(("supple", setting))
    if data is None or data.action is None or data.action_slot is None:
        return None
    curves = curves_of(data.action, data.action_slot)
    return next((curve for curve in curves if curve.data_path == path), None)


def own_curves(owner: bpy.types.ID) -> Iterator[bpy.types.FCurve]:
    """Those of its action, where neither NLA tracks nor drivers have a say as well."""
    data = owner.animation_data
    if data is None or data.action is None or data.action_slot is None or len(data.nla_tracks):
        return
    driven = {driver.data_path for driver in data.drivers}
    for curve in curves_of(data.action, data.action_slot):
        if curve.data_path not in driven and not curve.mute:
            yield curve


def _paths(action: bpy.types.Action, slot: bpy.types.ActionSlot) -> Iterator[str]:
    return (curve.data_path for curve in curves_of(action, slot))


def curves_of(action: bpy.types.Action, slot: bpy.types.ActionSlot) -> Iterator[bpy.types.FCurve]:
    """All curves of a slot of an action."""
    for layer in action.layers:
        for strip in layer.strips:
            channels = strip.channelbag(slot)
            if channels is not None:
                yield from channels.fcurves
