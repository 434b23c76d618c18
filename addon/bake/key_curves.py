# SPDX-License-Identifier: GPL-3.0-or-later
"""Curves of shape keys: of a bake, and the user's own that move."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ..animated import animated_paths, curves_of

_VALUE, _MUTE = ".value", ".mute"


def moving_keys(keys: bpy.types.Key, name: str) -> list[bpy.types.ShapeKey]:
    """The keys that an action, the NLA or a driver moves; all where they are absolute.

    Args:
        keys: of a mesh.
        name: of its object, for messages.

    Raises:
        SuppleError: when a key is switched on and off by its animation.
    """
    if not keys.use_relative:
        return [block for block in keys.key_blocks if block != keys.reference_key]
    moving = []
    for path in sorted(animated_paths(keys)):
        block = _block(keys, path)
        if block is None:
            continue
        if path.endswith(_MUTE):
            raise SuppleError(
                f"The shape key {block.name} of {name} is switched on and off by its "
                "animation. Clear that keyframe or driver and animate its value, then bake."
            )
        if block not in moving:
            moving.append(block)
    return moving


def _block(keys: bpy.types.Key, path: str) -> bpy.types.ShapeKey | None:
    """The key whose value or muting has this path; None where the path leads elsewhere."""
    ending = next((each for each in (_VALUE, _MUTE) if path.endswith(each)), "")
    if not ending:
        return None
    try:
        block = keys.path_resolve(path.removesuffix(ending))
    except ValueError:  # a curve whose key was deleted
        return None
    return block if isinstance(block, bpy.types.ShapeKey) else None


# Marks an action that was made for a bake, and goes with it.
OWN_ACTION = "supple_bake"

_EVAL_TIME = "eval_time"
_LINEAR = 1


def write_eval_time(
    keys: bpy.types.Key,
    times: Sequence[float],
    frames: Sequence[int],
    action: bpy.types.Action | None = None,
) -> None:
    """Absolute keys: one curve that passes through each key, which were added at ``times``, at its
    scene frame.

    Args:
        action: for the curve, unless the keys have one; None makes one.
    """
    write_curve(_channels(keys, action), _EVAL_TIME, np.column_stack([frames, times]))
    keys.eval_time = times[0]


def write_values(
    keys: bpy.types.Key,
    blocks: Sequence[bpy.types.ShapeKey],
    frames: Sequence[int],
    action: bpy.types.Action | None = None,
) -> None:
    """Relative keys: each rises to 1 at its scene frame and falls back by that of the next.

    The first is 1 before its frame and the last after it, so the mesh keeps their shapes there.

    Args:
        action: as ``write_eval_time`` has it.
    """
    channels = _channels(keys, action)
    for index, block in enumerate(blocks):
        around = slice(max(index - 1, 0), index + 2)
        points = [(frame, float(frame == frames[index])) for frame in frames[around]]
        write_curve(channels, _value_path(block.name), np.array(points))
    blocks[0].value = 1.0


def new_action(name: str) -> bpy.types.Action:
    """An action for the curves of a bake, with a slot for each body: glTF files then hold one
    animation of all bodies."""
    action = bpy.data.actions.new(f"{name} Supple")
    action[OWN_ACTION] = True
    return action


def add_to_object(obj: bpy.types.Object) -> bool:
    """Gives an object that has no animation an empty slot of the action that its bake made; False
    where it has some, or its keys play another action.

    By default, FBX files leave out the animation of shape keys unless an object has an action.
    """
    data = obj.data.shape_keys.animation_data
    action = None if data is None else data.action
    if obj.animation_data is not None or obj.override_library is not None:
        return False
    if action is None or OWN_ACTION not in action:
        return False
    animation = obj.animation_data_create()
    animation.action = action
    animation.action_slot = action.slots.new(id_type="OBJECT", name=obj.name)
    return True


def remove_from_object(obj: bpy.types.Object) -> None:
    """Remove the curves that ``add_to_object`` added, unless the user has keyed the object
    since."""
    data = obj.animation_data
    if data is None or data.action is None or OWN_ACTION not in data.action:
        return
    if data.action_slot is None or not any(curves_of(data.action, data.action_slot)):
        _leave(data)
        if not data.drivers and not data.nla_tracks:
            obj.animation_data_clear()


def remove(keys: bpy.types.Key, names: Sequence[str]) -> None:
    """Remove the curves of a bake whose keys have these ``names``, and actions that become
    empty."""
    data = keys.animation_data
    if data is None:
        return
    action, slot = data.action, data.action_slot
    if action is not None and OWN_ACTION in action:
        # A copy of the object may play the same slot.
        if slot is not None and len(slot.users()) == 1:
            _remove_curves(keys, names)
        if slot is None or len(slot.users()) > 1 or not any(curves_of(action, slot)):
            _leave(data)
    elif action is not None:
        _remove_curves(keys, names)
    if data.action is None and not data.drivers and not data.nla_tracks:
        keys.animation_data_clear()


def _leave(data: bpy.types.AnimData) -> None:
    """Unlink the action of a bake from its data, and remove unused data blocks."""
    action, slot = data.action, data.action_slot
    data.action = None
    if slot is not None and not slot.users():
        action.slots.remove(slot)
    if action.users == 0:
        bpy.data.actions.remove(action)


def check_editable(name: str, keys: bpy.types.Key) -> None:
    """Raises SuppleError when the action of ``keys`` cannot take the curves of a bake."""
    data = keys.animation_data
    if data is not None and data.action is not None and not data.action.is_editable:
        raise SuppleError(
            f"The shape keys of {name} are animated by {data.action.name}, which is linked from "
            "another file. Make the action local, then bake."
        )


def write_curve(
    channels: bpy.types.ActionChannelbag, path: str, points: NDArray[np.float64], index: int = 0
) -> None:
    """Write a linear curve through (K, 2) frames and values."""
    curve = channels.fcurves.new(path, index=index)
    curve.keyframe_points.add(len(points))
    curve.keyframe_points.foreach_set("co", points.astype(np.float32).ravel())
    curve.keyframe_points.foreach_set("interpolation", np.full(len(points), _LINEAR, np.int32))
    curve.update()


def _channels(
    keys: bpy.types.Key, new: bpy.types.Action | None = None
) -> bpy.types.ActionChannelbag:
    data = keys.animation_data or keys.animation_data_create()
    if data.action is None:
        data.action = new or new_action(keys.user.name)
        # Blender may have chosen the slot of another body.
        data.action_slot = None
    action = data.action
    if data.action_slot is None:
        data.action_slot = action.slots.new(id_type="KEY", name=keys.user.name)
    return _slot_channels(action, data.action_slot)


def object_channels(obj: bpy.types.Object, action: bpy.types.Action) -> bpy.types.ActionChannelbag:
    """Let an object play a new slot of an action, and return its curves."""
    data = obj.animation_data_create()
    data.action = action
    data.action_slot = action.slots.new(id_type="OBJECT", name=obj.name)
    return _slot_channels(action, data.action_slot)


def _slot_channels(
    action: bpy.types.Action, slot: bpy.types.ActionSlot
) -> bpy.types.ActionChannelbag:
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)


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


def _value_path(name: str) -> str:
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'
