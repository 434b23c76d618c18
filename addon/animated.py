# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyed and driven properties of objects and scenes, and the animation that moves an object.

Panels read it at every redraw, so nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import bpy

from .modifiers import is_own

#: The data paths of a scene's gravity and its switch.
GRAVITY = ("gravity", "use_gravity")
#: The begin of the data paths of Supple's settings.
SETTINGS = ".".join(("supple", ""))
# The path of a modifier, and its name as Blender escapes it.
_MODIFIER_PATH = re.compile(r'modifiers\["((?:[^"\\]|\\.)*)"\]')


def has_animated_gravity(scene: bpy.types.Scene) -> bool:
    """Whether anything changes a scene's gravity, or whether it has one."""
    return not animated_paths(scene).isdisjoint(GRAVITY)


def is_animated(data_block: bpy.types.ID) -> bool:
    """Whether an action, the NLA or a driver changes an owner, apart from Supple's modifiers."""
    return any(acts_on_input(data_block, path) for path in _all_paths(data_block))


def acts_on_input(owner: bpy.types.ID, path: str) -> bool:
    """Whether a path leads to anything but Supple's own modifiers, which show the result, and
    deleted modifiers."""
    begin = _MODIFIER_PATH.match(path) if isinstance(owner, bpy.types.Object) else None
    if begin is None:
        return True
    modifier = owner.modifiers.get(bpy.utils.unescape_identifier(begin[1]))
    return modifier is not None and not is_own(modifier)


def animated_settings(owner: bpy.types.ID) -> set[str]:
    """Return the names of an owner's animated Supple settings."""
    parts = (path.partition(".") for path in animated_paths(owner))
    return {name for prefix, _, name in parts if prefix == "supple"}


def animated_paths(owner: bpy.types.ID) -> set[str]:
    """Return the data paths that its action, NLA strips and drivers change, without those of
    Supple's modifiers."""
    return {path for path in _all_paths(owner) if acts_on_input(owner, path)}


def is_modifier_animated(modifier: bpy.types.Modifier) -> bool:
    """Whether an action, the NLA or a driver changes anything of a modifier."""
    begin = f"{modifier.path_from_id()}."
    return any(path.startswith(begin) for path in _all_paths(modifier.id_data))


def _all_paths(owner: bpy.types.ID) -> Iterator[str]:
    data = owner.animation_data
    if data is None:
        return
    yield from (driver.data_path for driver in data.drivers)
    actions = [(data.action, data.action_slot)]
    for track in data.nla_tracks:
        for strip in track.strips:
            actions += [(each.action, each.action_slot) for each in (strip, *strip.strips)]
    for action, slot in actions:
        if action is not None and slot is not None:
            yield from (curve.data_path for curve in curves_of(action, slot))


def curve_of(owner: bpy.types.ID, setting: str) -> bpy.types.FCurve | None:
    """Return the curve of an owner's action on one of Supple's settings, such as
    ``attachments[0].attached``; None for none."""
    data, path = owner.animation_data, ".".join(("supple", setting))
    if data is None or data.action is None or data.action_slot is None:
        return None
    curves = curves_of(data.action, data.action_slot)
    return next((curve for curve in curves if curve.data_path == path), None)


def own_curves(owner: bpy.types.ID) -> Iterator[bpy.types.FCurve]:
    """The curves of its action; none where NLA tracks or drivers act as well."""
    data = owner.animation_data
    if data is None or data.action is None or data.action_slot is None or len(data.nla_tracks):
        return
    driven = {driver.data_path for driver in data.drivers}
    for curve in curves_of(data.action, data.action_slot):
        path = curve.data_path
        if path not in driven and not curve.mute and acts_on_input(owner, path):
            yield curve


def curves_of(action: bpy.types.Action, slot: bpy.types.ActionSlot) -> Iterator[bpy.types.FCurve]:
    """All curves of a slot of an action."""
    for layer in action.layers:
        for strip in layer.strips:
            channels = strip.channelbag(slot)
            if channels is not None:
                yield from channels.fcurves


#: An object's own animation, as messages name it.
ANIMATION = "its animation"
_PLACE = ("location", "rotation_", "scale", "delta_")
# The constraint that moves an object as a file has it.
_BY_FILE = "TRANSFORM_CACHE"


def movers(obj: bpy.types.Object) -> list[str]:
    """Return the causes of an object's motion, such as ``its animation`` or ``its parent Hand``,
    except for rigid bodies."""
    return _movers(obj, frozenset())


def _movers(obj: bpy.types.Object, followers: frozenset[bpy.types.Object]) -> list[str]:
    """Return the objects that can move an object.

    Args:
        followers: the objects that follow the object, and so cannot move it.
    """
    if obj in followers:
        return []
    followers |= {obj}
    paths = animated_paths(obj)
    names = [ANIMATION] if any(path.startswith(_PLACE) for path in paths) else []
    names += [
        f"its constraint {each.name}"
        for each in obj.constraints
        if _acts(each) and _is_moving(each, paths, followers)
    ]
    if obj.parent is not None and _carries(obj, followers):
        names.append(f"its parent {obj.parent.name}")
    return names


def _moves(obj: bpy.types.Object, followers: frozenset[bpy.types.Object]) -> bool:
    return obj.rigid_body is not None or bool(_movers(obj, followers))


def _acts(constraint: bpy.types.Constraint) -> bool:
    return bool(constraint.enabled and not constraint.mute and constraint.influence > 0.0)


def _is_moving(
    constraint: bpy.types.Constraint, paths: set[str], followers: frozenset[bpy.types.Object]
) -> bool:
    """Whether the effect of a constraint changes over the frames.

    Args:
        paths: that are animated of its owner.
    """
    begin = f'constraints["{bpy.utils.escape_identifier(constraint.name)}"]'
    if constraint.type == _BY_FILE or any(path.startswith(begin) for path in paths):
        return True
    bones = [(each.target, each.subtarget) for each in getattr(constraint, "targets", ())]
    bones.append((getattr(constraint, "target", None), getattr(constraint, "subtarget", "")))
    return any(
        target is not None
        and (
            _moves(target, followers)
            or (bool(bone) and _poses(target, followers))
            or (target.type == "CURVE" and is_animated(target.data))
        )
        for target, bone in bones
    )


def _carries(obj: bpy.types.Object, followers: frozenset[bpy.types.Object]) -> bool:
    """Whether the parent of an object takes it along."""
    parent = obj.parent
    if _moves(parent, followers):
        return True
    if obj.parent_type in ("VERTEX", "VERTEX_3"):
        return len(parent.modifiers) > 0
    if obj.parent_type == "BONE":
        return _poses(parent, followers)
    return parent.type == "CURVE" and parent.data.use_path and is_animated(parent.data)


def _poses(armature: bpy.types.Object, followers: frozenset[bpy.types.Object]) -> bool:
    """Whether the bones of an armature move."""
    if armature.pose is None:
        return False
    paths = animated_paths(armature)
    return any(path.startswith("pose.") for path in paths) or any(
        _acts(each) and _is_moving(each, set(), followers)
        for bone in armature.pose.bones
        for each in bone.constraints
    )
