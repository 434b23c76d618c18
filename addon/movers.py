# SPDX-License-Identifier: GPL-3.0-or-later
"""What carries an object over the frames, by name: its own animation, constraints and parents.

Panels ask at every redraw, so nothing is evaluated.
"""

from __future__ import annotations

import bpy

from .animated import animated_paths, is_animated

#: Of an object's own animation.
ANIMATION = "its animation"
_PLACE = ("location", "rotation_", "scale", "delta_")
# The constraint that moves an object as a file has it.
_BY_FILE = "TRANSFORM_CACHE"


def movers(obj: bpy.types.Object) -> list[str]:
    """Such as ``its animation``, ``its constraint Child Of`` or ``its parent Hand``; none of an
    object that stays where it is, and not its rigid body."""
    return _movers(obj, frozenset())


def _movers(obj: bpy.types.Object, followers: frozenset[bpy.types.Object]) -> list[str]:
    """
    Args:
        followers: those that follow the object, who cannot move it.
    """
    if obj in followers:
        return []
    followers |= {obj}
    paths = animated_paths(obj)
    found = [ANIMATION] if any(path.startswith(_PLACE) for path in paths) else []
    found += [
        f"its constraint {each.name}"
        for each in obj.constraints
        if _acts(each) and _is_moving(each, paths, followers)
    ]
    if obj.parent is not None and _carries(obj, followers):
        found.append(f"its parent {obj.parent.name}")
    return found


def _moves(obj: bpy.types.Object, followers: frozenset[bpy.types.Object]) -> bool:
    return obj.rigid_body is not None or bool(_movers(obj, followers))


def _acts(constraint: bpy.types.Constraint) -> bool:
    return bool(constraint.enabled and not constraint.mute and constraint.influence > 0.0)


def _is_moving(
    constraint: bpy.types.Constraint, paths: set[str], followers: frozenset[bpy.types.Object]
) -> bool:
    """Whether what a constraint does changes over the frames.

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
