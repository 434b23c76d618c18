# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated frames as shape keys: the mesh itself moves, and needs neither Supple nor a cache.

A mesh without keys of its own gets absolute keys, one curve over all of them: the fastest to play
back. A mesh that has some gets relative keys, because absolute ones would switch its own off.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from . import key_curves

Positions = NDArray[np.float32]

# What a bake needs to know about itself, kept on the mesh's shape keys.
RECORD = "supple_bake"
PREFIX = "Supple"


def bake(obj: bpy.types.Object, frames: NDArray[Any], start_frame: int) -> None:
    """Bakes ``frames`` to the mesh of ``obj``, in place of an earlier bake.

    The user's own keys, their values and their animation stay as they are. The frames are final
    positions: the mix of the user's keys at the start is taken off, so it does not count twice.
    Where those keys are animated, what they change after the start adds to the frames.

    Args:
        obj: a mesh object.
        frames: (F, V, 3) positions in the object's own space, one a scene frame.
        start_frame: the scene frame of the first.

    Raises:
        SuppleError: when the mesh cannot hold the frames. It is then as it was.
    """
    _check(obj, frames)
    earlier = _read(obj)
    free(obj)
    try:
        _write(obj, _without_mix(obj, frames, start_frame), start_frame)
    except BaseException:
        free(obj)
        if earlier is not None:
            _write(obj, *earlier)
        raise


def free(obj: bpy.types.Object) -> bool:
    """Removes what ``bake`` added to ``obj``, and only that; False when there was no bake."""
    if not has_bake(obj):
        return False
    _check_editable(obj)
    keys = obj.data.shape_keys
    record = keys[RECORD].to_dict()
    baked = [block for block in keys.key_blocks if is_supple_key(block)]
    active = obj.active_shape_key
    kept = "" if active is None or active in baked else active.name
    key_curves.remove(keys, [block.name for block in baked])
    for block in reversed(baked):
        obj.shape_key_remove(block)
    if record["made_basis"] and len(keys.key_blocks) == 1:
        obj.shape_key_clear()
    else:
        del keys[RECORD]
        keys.use_relative = True
        keys.eval_time = record["eval_time"]
        obj.active_shape_key_index = max(keys.key_blocks.find(kept), 0)
    obj.show_only_shape_key = record["show_only"]
    obj.data.update_tag()
    return True


def has_bake(obj: bpy.types.Object) -> bool:
    """Whether the mesh of ``obj`` holds a bake."""
    return obj.type == "MESH" and obj.data.shape_keys is not None and RECORD in obj.data.shape_keys


def is_supple_key(key_block: bpy.types.ShapeKey) -> bool:
    """Whether ``bake`` made this key."""
    record = key_block.id_data.get(RECORD)
    return record is not None and key_block.name.startswith(record["prefix"])


# Before


def _check(obj: bpy.types.Object, frames: NDArray[Any]) -> None:
    if obj.type != "MESH":
        raise SuppleError(f"{obj.name} is not a mesh; shape keys need one.")
    mesh = obj.data
    if frames.ndim != 3 or frames.shape[2] != 3 or len(frames) == 0:
        raise SuppleError(f"{obj.name}: there are no frames to bake; simulate first.")
    if frames.shape[1] != len(mesh.vertices):
        raise SuppleError(
            f"{obj.name} has {len(mesh.vertices)} vertices, but had {frames.shape[1]} when it was "
            "simulated. Undo the change to the mesh, or simulate again."
        )
    for index, frame in enumerate(frames):
        if not np.isfinite(frame).all():
            vertex = int(np.isfinite(frame).all(axis=1).argmin())
            raise SuppleError(
                f"{obj.name}: vertex {vertex} is not a finite position in simulated frame "
                f"{index}; simulate again with more substeps."
            )
    _check_editable(obj)
    _check_sole_user(obj)
    _check_own_keys(obj)


def _check_editable(obj: bpy.types.Object) -> None:
    mesh = obj.data
    if not (obj.is_editable and mesh.is_editable) or mesh.override_library:
        raise SuppleError(
            f"The mesh of {obj.name} is linked from another file and cannot hold shape keys. "
            "Choose Object > Relations > Make Local > Selected Objects and Data first."
        )
    if obj.mode in ("EDIT", "SCULPT"):
        raise SuppleError(f"{obj.name} is being edited; go back to Object Mode first.")


def _check_sole_user(obj: bpy.types.Object) -> None:
    others = [other.name for other in bpy.data.objects if other.data == obj.data and other != obj]
    if others:
        raise SuppleError(
            f"{obj.name} shares its mesh with {', '.join(others[:3])}, which would deform alike. "
            "Choose Object > Relations > Make Single User > Object & Data, then bake."
        )


def _check_own_keys(obj: bpy.types.Object) -> None:
    keys = obj.data.shape_keys
    if keys is None or has_bake(obj):
        return
    if not keys.use_relative:
        raise SuppleError(
            f"{obj.name} has absolute shape keys of its own, which a bake would switch off. Turn "
            "on Relative in Object Data > Shape Keys, or remove them, then bake."
        )
    key_curves.check_editable(obj.name, keys)


def _without_mix(
    obj: bpy.types.Object, frames: NDArray[Any], start_frame: int
) -> Iterable[NDArray[Any]]:
    """What the Supple keys must hold for the mesh to come out at ``frames``."""
    keys = obj.data.shape_keys
    if keys is None or len(keys.key_blocks) == 1:
        return frames
    offset = _positions(keys.key_blocks[0]) - _mix(obj, start_frame)
    return (frame + offset for frame in frames)


def _mix(obj: bpy.types.Object, frame: int) -> Positions:
    """What Blender makes of the user's keys at ``frame``."""
    keys = obj.data.shape_keys
    values = {block: block.value for block in keys.key_blocks}
    pinned, active = obj.show_only_shape_key, obj.active_shape_key_index
    try:
        obj.show_only_shape_key = False
        for block, value in key_curves.values_at(keys, frame).items():
            block.value = value
        mixed = obj.shape_key_add(name=PREFIX, from_mix=True)
        positions = _positions(mixed)
        obj.shape_key_remove(mixed)
    finally:
        for block, value in values.items():
            block.value = value
        obj.show_only_shape_key, obj.active_shape_key_index = pinned, active
    return positions


# Writing and reading the keys


def _write(obj: bpy.types.Object, positions: Iterable[NDArray[Any]], start: int) -> None:
    active, made_basis = obj.active_shape_key_index, obj.data.shape_keys is None
    if made_basis:
        obj.shape_key_add(name="Basis", from_mix=False)
    keys = obj.data.shape_keys
    relative = len(keys.key_blocks) > 1
    # The record comes first: from here on, `free` undoes whatever was done.
    keys[RECORD] = {
        "prefix": _unused_prefix(keys),
        "start": start,
        "made_basis": made_basis,
        "eval_time": keys.eval_time,
        "active": active,
        "show_only": obj.show_only_shape_key,
    }
    prefix = keys[RECORD]["prefix"]
    blocks = [
        _add_block(obj, f"{prefix} {frame:04d}", shape)
        for frame, shape in enumerate(positions, start)
    ]
    if relative:
        key_curves.write_values(keys, blocks, start)
    else:
        keys.use_relative = False
        key_curves.write_eval_time(keys, blocks, start)
    obj.show_only_shape_key = False
    obj.active_shape_key_index = active
    obj.data.update_tag()


def _add_block(obj: bpy.types.Object, name: str, positions: NDArray[Any]) -> bpy.types.ShapeKey:
    block = obj.shape_key_add(name=name, from_mix=False)
    block.points.foreach_set("co", np.ascontiguousarray(positions, dtype=np.float32).ravel())
    # Blender 5 starts new keys at 1.
    block.value = 0.0
    block.interpolation = "KEY_LINEAR"
    return block


def _read(obj: bpy.types.Object) -> tuple[list[Positions], int] | None:
    """The keys of the bake as they are stored, and their first frame."""
    if not has_bake(obj):
        return None
    keys = obj.data.shape_keys
    shapes = [_positions(block) for block in keys.key_blocks if is_supple_key(block)]
    return shapes, keys[RECORD]["start"]


def _positions(block: bpy.types.ShapeKey) -> Positions:
    positions = np.empty((len(block.points), 3), dtype=np.float32)
    block.points.foreach_get("co", positions.ravel())
    return positions


def _unused_prefix(keys: bpy.types.Key) -> str:
    prefix = PREFIX
    while any(block.name.startswith(prefix) for block in keys.key_blocks):
        prefix += "+"
    return prefix
