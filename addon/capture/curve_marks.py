# SPDX-License-Identifier: GPL-3.0-or-later
"""What is animated of an object and of all that it follows, as text that changes with any key.

The curves of an action, which may take milliseconds, are read anew when Blender reports its edit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import bpy
import numpy as np

from ..animated import acts_on_input, curves_of
from ..bake import shape_keys
from ..modifiers import is_own

# What constraints and modifiers have for the objects that they follow.
_LEADERS = (
    *("target", "pole_target", "object", "object_from", "object_to", "origin"),
    *("auxiliary_target", "mirror_object", "offset_object", "start_position_object"),
)
_STRIP = (
    *("mute", "frame_start", "frame_end", "action_frame_start", "action_frame_end", "scale"),
    *("repeat", "blend_type", "blend_in", "blend_out", "extrapolation", "use_reverse"),
)

# Paths, and digests of their curves, by the session_uid of an action and the handle of a slot.
_actions: dict[tuple[int, int], list[tuple[str, str]]] = {}


def forget(depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """The actions whose edit Blender reports; all without such a report."""
    if depsgraph is None:
        _actions.clear()
        return
    found = (each.id.original for each in depsgraph.updates)
    edited = {each.session_uid for each in found if isinstance(each, bpy.types.Action)}
    for key in [key for key in _actions if key[0] in edited]:
        del _actions[key]


def curve_marks(obj: bpy.types.Object) -> Iterator[str]:
    """Of an object, its parents, and what its constraints, modifiers and drivers follow; bakes do
    not count."""
    for owner in _owners(obj):
        data = owner.animation_data
        if data is None:
            continue
        yield from _of_action(owner, data.action, data.action_slot)
        for track in data.nla_tracks:
            for strip in track.strips:
                if marks := list(_of_action(owner, strip.action, strip.action_slot)):
                    yield repr([track.mute, *(getattr(strip, name) for name in _STRIP)])
                    yield from marks
        for each in _drivers(owner):
            yield repr((each.data_path, each.array_index, each.driver.type, each.driver.expression))


def _owners(obj: bpy.types.Object) -> Iterator[bpy.types.ID]:
    waiting, seen = [obj], set()
    while waiting:
        each = waiting.pop()
        if each is None or each in seen:
            continue
        seen.add(each)
        own = [each, each.data, getattr(each.data, "shape_keys", None)]
        own += [getattr(user, "node_group", None) for user in each.modifiers if not is_own(user)]
        for owner in own:
            if owner is not None and hasattr(owner, "animation_data"):
                yield owner
                waiting += _followed_by_drivers(owner)
        waiting += [each.parent, *_followed(each)]


def _followed(obj: bpy.types.Object) -> Iterator[bpy.types.Object | None]:
    bones = () if obj.pose is None else obj.pose.bones
    users = [*obj.constraints, *(each for bone in bones for each in bone.constraints)]
    users += [target for each in users for target in getattr(each, "targets", ())]
    users += [each for each in obj.modifiers if not is_own(each)]
    for user in users:
        for name in _LEADERS:
            if isinstance(found := getattr(user, name, None), bpy.types.Object):
                yield found


def _drivers(owner: bpy.types.ID) -> Iterator[bpy.types.FCurve]:
    drivers = () if owner.animation_data is None else owner.animation_data.drivers
    return (each for each in drivers if acts_on_input(owner, each.data_path))


def _followed_by_drivers(owner: bpy.types.ID) -> Iterator[bpy.types.Object]:
    for each in _drivers(owner):
        for variable in each.driver.variables:
            for target in variable.targets:
                if isinstance(target.id, bpy.types.Object):
                    yield target.id


def _of_action(
    owner: bpy.types.ID, action: bpy.types.Action | None, slot: bpy.types.ActionSlot | None
) -> Iterator[str]:
    if action is None or slot is None:
        return
    key = (action.session_uid, slot.handle)
    if key not in _actions:
        _actions[key] = [(each.data_path, _of_curve(each)) for each in curves_of(action, slot)]
    for path, mark in _actions[key]:
        if acts_on_input(owner, path) and not _is_baked(owner, path):
            yield f"{path} {mark}"


def _is_baked(owner: bpy.types.ID, path: str) -> bool:
    """Whether a bake animates this path."""
    if not isinstance(owner, bpy.types.Key) or shape_keys.RECORD not in owner:
        return False
    if path == "eval_time":
        return not owner.use_relative
    return path.startswith(f'key_blocks["{owner[shape_keys.RECORD]["prefix"]}')


def _of_curve(curve: bpy.types.FCurve) -> str:
    points = curve.keyframe_points
    hashed = hashlib.blake2b(digest_size=8)
    for name in ("co", "handle_left", "handle_right"):
        values = np.empty(2 * len(points), dtype=np.float32)
        points.foreach_get(name, values)
        hashed.update(values.tobytes())
    ways = np.empty(len(points), dtype=np.int32)
    points.foreach_get("interpolation", ways)
    hashed.update(ways.tobytes())
    stack = [(each.type, each.mute) for each in curve.modifiers]
    hashed.update(repr((curve.array_index, curve.mute, curve.extrapolation, stack)).encode())
    return hashed.hexdigest()
