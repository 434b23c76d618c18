# SPDX-License-Identifier: GPL-3.0-or-later
"""The animation of baked shape keys. Curves go into the action the keys have, or a new one."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError

# Marks an action that was made for a bake, and goes with it.
OWN_ACTION = "supple_bake"

_EVAL_TIME = "eval_time"
_LINEAR = 1


def write_eval_time(keys: bpy.types.Key, times: Sequence[float], frames: Sequence[int]) -> None:
    """Absolute keys: one curve that passes through each key, which were added at ``times``, at its
    scene frame."""
    _write_curve(_channels(keys), _EVAL_TIME, np.column_stack([frames, times]))
    keys.eval_time = times[0]


def write_values(
    keys: bpy.types.Key, blocks: Sequence[bpy.types.ShapeKey], frames: Sequence[int]
) -> None:
    """Relative keys: each rises to 1 at its scene frame and falls back by that of the next.

    The first is 1 before its frame and the last after it, so the mesh keeps their shapes there.
    """
    channels = _channels(keys)
    for index, block in enumerate(blocks):
        around = slice(max(index - 1, 0), index + 2)
        points = [(frame, float(frame == frames[index])) for frame in frames[around]]
        _write_curve(channels, _value_path(block.name), np.array(points))
    blocks[0].value = 1.0


def remove(keys: bpy.types.Key, names: Sequence[str]) -> None:
    """Removes the curves of a bake whose keys have these ``names``, and what they leave empty."""
    data = keys.animation_data
    if data is None:
        return
    action = data.action
    if action is not None and OWN_ACTION in action and action.users > 1:
        # A copy of the object plays the same action.
        data.action = None
    elif action is not None:
        _remove_curves(keys, names)
        if OWN_ACTION in action and not any(_all_curves(action)):
            data.action = None
            bpy.data.actions.remove(action)
    if data.action is None and not data.drivers and not data.nla_tracks:
        keys.animation_data_clear()


def check_editable(name: str, keys: bpy.types.Key) -> None:
    """Raises SuppleError when the action of ``keys`` cannot take the curves of a bake."""
    data = keys.animation_data
    if data is not None and data.action is not None and not data.action.is_editable:
        raise SuppleError(
            f"The shape keys of {name} are animated by {data.action.name}, which is linked from "
            "another file. Make the action local, then bake."
        )


def _write_curve(
    channels: bpy.types.ActionChannelbag, path: str, points: NDArray[np.float64]
) -> None:
    curve = channels.fcurves.new(path)
    curve.keyframe_points.add(len(points))
    curve.keyframe_points.foreach_set("co", points.astype(np.float32).ravel())
    curve.keyframe_points.foreach_set("interpolation", np.full(len(points), _LINEAR, np.int32))
    curve.update()


def _channels(keys: bpy.types.Key) -> bpy.types.ActionChannelbag:
    data = keys.animation_data or keys.animation_data_create()
    if data.action is None:
        data.action = bpy.data.actions.new(f"{keys.user.name} Supple")
        data.action[OWN_ACTION] = True
    action = data.action
    if data.action_slot is None:
        data.action_slot = action.slots.new(id_type="KEY", name=keys.user.name)
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(data.action_slot, ensure=True)


def _existing_channels(keys: bpy.types.Key) -> bpy.types.ActionChannelbag | None:
    data = keys.animation_data
    if data is None or data.action is None or data.action_slot is None:
        return None
    for layer in data.action.layers:
        for strip in layer.strips:
            return strip.channelbag(data.action_slot)
    return None


def _remove_curves(keys: bpy.types.Key, names: Sequence[str]) -> None:
    channels = _existing_channels(keys)
    if channels is None:
        return
    paths = {_value_path(name) for name in names}
    if not keys.use_relative:
        paths.add(_EVAL_TIME)
    for curve in reversed([curve for curve in channels.fcurves if curve.data_path in paths]):
        channels.fcurves.remove(curve)


def _all_curves(action: bpy.types.Action) -> list[bpy.types.FCurve]:
    return [
        curve
        for layer in action.layers
        for strip in layer.strips
        for channels in strip.channelbags
        for curve in channels.fcurves
    ]


def _value_path(name: str) -> str:
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'
