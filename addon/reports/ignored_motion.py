# SPDX-License-Identifier: GPL-3.0-or-later
"""Animation of bodies that have no pins, which it would move: they fall by themselves."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from .. import driving
from ..animated import animated_paths
from ..bake import shape_keys
from ..capture import kept_control
from ..capture.rest_shape import has_shape_keys
from ..movers import ANIMATION, movers

# Its own shape keys, as messages name them.
_KEYS = "its shape keys"


def messages(obj: bpy.types.Object, is_followed: bool) -> Iterator[str]:
    """Of a soft body: what carries it, and what bends it, each with the cure.

    Args:
        is_followed: whether a search is for how it follows its animation.
    """
    props = obj.supple
    if props.pin_group or props.jiggle_group or kept_control.kept_by(obj) or is_followed:
        return
    if not props.start_from_animation and (carrying := movers(obj)):
        keyed = ANIMATION in carrying
        follow = ", press Follow My Keys under Find" if keyed else ""
        last = "remove the keys" if keyed else "take away what moves it"
        yield (
            f"{obj.name}: {_moves(carrying)} its pins, and it has none. Press Jiggle, choose a Pin "
            f"Group, tick From Animation under Start{follow}, or {last}."
        )
    if bending := [*_moving_keys(obj), *driving.followers(obj)]:
        yield (
            f"{obj.name}: it takes its shape at the start from {', '.join(bending)}, whose motion "
            "moves its pins, and it has none. Press Jiggle, choose a Pin Group, or apply what "
            "bends it."
        )


def _moves(names: list[str]) -> str:
    return f"{' and '.join(names)} {'moves' if len(names) == 1 else 'move'}"


def _moving_keys(obj: bpy.types.Object) -> list[str]:
    """The shape keys, where those of the user bend the body and are animated."""
    keys, record = obj.data.shape_keys, shape_keys.record(obj)
    if keys is None or has_shape_keys(obj) or (record and not keys.use_relative):
        return []
    paths = animated_paths(keys)
    if not record.get("relative", keys.use_relative):
        return [_KEYS] if "eval_time" in paths else []
    blocks = [
        block
        for block in keys.key_blocks
        if not shape_keys.is_supple_key(block)
        and (not block.mute or block.name in record.get("muted", ()))
    ]
    values = {f'key_blocks["{bpy.utils.escape_identifier(each.name)}"].value' for each in blocks}
    return [] if paths.isdisjoint(values) else [_KEYS]
