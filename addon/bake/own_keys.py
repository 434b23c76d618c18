# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's own shape keys: which of them move by themselves."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from ..animated import animated_paths

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
        found = keys.path_resolve(path.removesuffix(ending))
    except ValueError:  # a curve whose key was deleted
        return None
    return found if isinstance(found, bpy.types.ShapeKey) else None
