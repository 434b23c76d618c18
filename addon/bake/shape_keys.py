# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated frames as shape keys: the mesh itself moves, and needs neither Supple nor a cache.

Relative keys have a curve each, which glTF and FBX can hold. A mesh without keys of its own may get
absolute keys instead, one curve over all of them: the fastest to play back. A mesh that has some
always gets relative keys, because absolute ones would switch its own off. The user's moving keys
would move the frames as well, and are muted while baked. Modifiers that drive the body would deform
the frames once more, and are switched off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from .. import driving
from . import key_curves, own_mesh
from .key_curves import moving_keys
from .own_mesh import give_own_mesh, take_back

Positions = NDArray[np.float32]

# The record of a bake, kept on the mesh's shape keys.
RECORD = "supple_bake"
PREFIX = "Supple"

# The distance of absolute keys. Blender puts a key at the evaluation time unless that is 10 after
# the last key, where rounding errors add up.
_KEY_SPACING = 20.0


def bake(
    obj: bpy.types.Object,
    frames: NDArray[Any],
    start_frame: int,
    step: int = 1,
    is_absolute: bool = True,
    action: bpy.types.Action | None = None,
) -> list[str]:
    """Bakes ``frames`` to the mesh of ``obj``, in place of an earlier bake.

    The frames are final positions, and come out as they are. The user's own keys stay, with their
    values and their animation. The offset of constant ones is subtracted from the frames. Moving
    ones are muted until ``free``, as are the modifiers that drive the body.
    A mesh that other objects share, or that is linked, is copied first.

    Args:
        obj: a mesh object.
        frames: (F, V, 3) positions in the object's own space, one a scene frame.
        start_frame: the scene frame of the first.
        step: the frames from key to key; there is one at the last frame, too. The mesh moves
            linearly between keys.
        is_absolute: whether a mesh without keys of its own gets absolute ones.
        action: for the curves, unless the keys have one; None makes one.

    Returns:
        Notes for the user, in sentences.

    Raises:
        SuppleError: when the mesh cannot hold the frames. It is then as it was.
    """
    check(obj, frames)
    shared = give_own_mesh(obj)
    earlier = _read(obj)
    try:
        _remove_keys(obj)
        if shared is not None:
            own_mesh.remember(obj, shared)
        frame_indices = kept_frames(len(frames), step)
        driving_names = _prepare(obj, [start_frame + index for index in frame_indices], is_absolute)
        _write(obj, _without_mix(obj, [frames[index] for index in frame_indices]), action)
    except BaseException:
        _remove_keys(obj)
        if earlier is not None:
            positions, key_frames, was_absolute = earlier
            _prepare(obj, key_frames, was_absolute)
            _write(obj, positions)
        take_back(obj, shared)
        raise
    return _notes(obj, shared, driving_names)


def kept_frames(count: int, step: int) -> list[int]:
    """The frames that get a key: every ``step`` of ``count``, and the last."""
    return [*range(0, count - 1, step), count - 1]


def free(obj: bpy.types.Object) -> bool:
    """Remove everything that ``bake`` added to ``obj``, and let it share its former mesh again.
    Returns False when there was no bake."""
    mesh = obj.data
    if not _remove_keys(obj):
        return False
    # The mesh that another one was copied from may have been baked until now.
    copies = [other for other in bpy.data.objects if own_mesh.shared_mesh(other) == mesh]
    for each in (obj, *copies):
        shared = own_mesh.shared_mesh(each)
        if shared is not None and not (_is_baked(shared) or has_bake(each)):
            own_mesh.give_back(each)
    return True


def _remove_keys(obj: bpy.types.Object) -> bool:
    if not has_bake(obj) or not obj.data.is_editable:
        # A linked duplicate loses the keys of the mesh that it shares with another.
        if not has_bake(obj):
            driving.restore(obj)
        return False
    _check_editable(obj)
    driving.restore(obj)
    keys = obj.data.shape_keys
    before = record(obj)
    baked = [block for block in keys.key_blocks if is_supple_key(block)]
    active = obj.active_shape_key
    active_name = "" if active is None or active in baked else active.name
    key_curves.remove_from_object(obj)
    key_curves.remove(keys, [block.name for block in baked])
    for block in reversed(baked):
        obj.shape_key_remove(block)
    if before["made_basis"] and len(keys.key_blocks) == 1:
        obj.shape_key_clear()
    else:
        for name in before["muted"]:
            if (block := keys.key_blocks.get(name)) is not None:
                block.mute = False
        del keys[RECORD]
        if not keys.use_relative:
            keys.eval_time = before["eval_time"]
        keys.use_relative = before["relative"]
        obj.active_shape_key_index = max(keys.key_blocks.find(active_name), 0)
    obj.show_only_shape_key = before["show_only"]
    obj.data.update_tag()
    return True


def has_bake(obj: bpy.types.Object) -> bool:
    """Whether the mesh of ``obj`` holds a bake."""
    return obj.type == "MESH" and _is_baked(obj.data)


def _is_baked(mesh: bpy.types.Mesh) -> bool:
    return mesh.shape_keys is not None and RECORD in mesh.shape_keys


def record(obj: bpy.types.Object) -> dict[str, Any]:
    """The record in which Bake keeps the earlier state of the shape keys; empty without a bake."""
    return obj.data.shape_keys[RECORD].to_dict() if has_bake(obj) else {}


def is_supple_key(key_block: bpy.types.ShapeKey) -> bool:
    """Whether ``bake`` made this key."""
    bake_record = key_block.id_data.get(RECORD)
    return bake_record is not None and key_block.name.startswith(bake_record["prefix"])


def has_idle_keys(obj: bpy.types.Object) -> bool:
    """Whether the user added keys to a bake of absolute ones, where they do nothing."""
    if not has_bake(obj) or obj.data.shape_keys.use_relative:
        return False
    keys = obj.data.shape_keys
    return any(not is_supple_key(block) for block in keys.key_blocks if block != keys.reference_key)


def make_relative(obj: bpy.types.Object) -> None:
    """Turns a bake of absolute keys into one of relative keys, beside which the user's keys work.

    Raises:
        SuppleError: when the mesh cannot be changed.
    """
    _check_editable(obj)
    keys = obj.data.shape_keys
    blocks = [block for block in keys.key_blocks if is_supple_key(block)]
    key_curves.remove(keys, [block.name for block in blocks])
    keys.use_relative = True
    key_curves.write_values(keys, blocks, key_frames(obj))
    key_curves.add_to_object(obj)
    obj.data.update_tag()


@contextmanager
def suspended(obj: bpy.types.Object) -> Iterator[None]:
    """Let the mesh's own keys and its driving modifiers act as they do without the bake."""
    keys = obj.data.shape_keys
    before = record(obj)
    relative, pinned = keys.use_relative, (obj.show_only_shape_key, obj.active_shape_key_index)
    muted = [(block, block.mute) for block in keys.key_blocks]
    for block, _ in muted:
        if is_supple_key(block):
            block.mute = True
        elif block.name in before["muted"]:
            block.mute = False
    if relative:
        keys.use_relative = before["relative"]
        obj.show_only_shape_key, obj.active_shape_key_index = before["show_only"], before["active"]
    else:
        obj.show_only_shape_key, obj.active_shape_key_index = True, 0
    try:
        with driving.restored(obj):
            yield
    finally:
        keys.use_relative = relative
        for block, value in muted:
            block.mute = value
        obj.show_only_shape_key, obj.active_shape_key_index = pinned


# Before


def check(obj: bpy.types.Object, frames: NDArray[Any]) -> None:
    """Raises SuppleError where ``bake`` would."""
    if obj.type != "MESH":
        raise SuppleError(f"{obj.name} is not a mesh; shape keys need one.")
    mesh = obj.data
    if frames.ndim != 3 or frames.shape[2] != 3 or len(frames) == 0:
        raise SuppleError(f"{obj.name}: there are no frames to bake. Simulate first.")
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
                f"{index}. Simulate again with more substeps."
            )
    _check_editable(obj)
    driving.steady(obj, driving.drivers(obj))
    keys = obj.data.shape_keys
    if keys is not None and not has_bake(obj):
        key_curves.check_editable(obj.name, keys)
        moving_keys(keys, obj.name)


def _check_editable(obj: bpy.types.Object) -> None:
    if not obj.is_editable:
        raise SuppleError(
            f"{obj.name} is linked from another file and cannot be changed. Choose Object > "
            "Library Override > Make first."
        )
    if obj.mode in ("EDIT", "SCULPT"):
        raise SuppleError(f"{obj.name} is being edited. Go back to Object Mode first.")


def _without_mix(obj: bpy.types.Object, frames: Sequence[NDArray[Any]]) -> Iterable[NDArray[Any]]:
    """The positions that Supple's keys must hold for the mesh to match ``frames``."""
    keys = obj.data.shape_keys
    if not keys.use_relative or len(keys.key_blocks) == 1:
        return frames
    mixed = obj.shape_key_add(name=PREFIX, from_mix=True)
    offset = _positions(keys.reference_key).astype(np.float64) - _positions(mixed)
    obj.shape_key_remove(mixed)
    return (frame + offset for frame in frames)


def _notes(
    obj: bpy.types.Object, shared: bpy.types.Mesh | None, driving_names: list[str]
) -> list[str]:
    notes = []
    if shared is not None:
        notes.append(f"{obj.name} uses its own copy of the mesh until Free.")
    if muted := ", ".join(obj.data.shape_keys[RECORD]["muted"].keys()):
        notes.append(
            f"Muted shape keys until Free, since the frames hold all motion of {obj.name}: {muted}."
        )
    if driving_names:
        notes.append(
            f"Turned off until Free, since the frames hold all motion of {obj.name}: "
            f"{', '.join(driving_names)}."
        )
    return notes


# Writing and reading the keys


def _prepare(obj: bpy.types.Object, key_frames: list[int], is_absolute: bool) -> list[str]:
    """Stop the user's keys and the modifiers that drive the body. Record everything that ``free``
    restores, and the scene frames of the keys to come.

    Returns:
        The names of the modifiers and the parent that drive the body.
    """
    made_basis = obj.data.shape_keys is None
    active = obj.active_shape_key_index
    if made_basis:
        obj.shape_key_add(name="Basis", from_mix=False)
    keys = obj.data.shape_keys
    moving = [block for block in moving_keys(keys, obj.name) if not block.mute]
    # An absolute bake needs the curve of the time for itself.
    absolute = is_absolute and len(keys.key_blocks) == 1 and keys.animation_data is None
    keys[RECORD] = {
        "prefix": _unused_prefix(keys),
        "frames": key_frames,
        "made_basis": made_basis,
        "relative": keys.use_relative,
        "eval_time": keys.eval_time,
        "muted": {block.name: True for block in moving},
        "active": active,
        "show_only": obj.show_only_shape_key,
    }
    for block in moving:
        block.mute = True
    keys.use_relative = not absolute
    obj.show_only_shape_key = False
    return driving.switch_off(obj)


def _write(
    obj: bpy.types.Object, positions: Iterable[NDArray[Any]], action: bpy.types.Action | None = None
) -> None:
    keys, frames = obj.data.shape_keys, key_frames(obj)
    prefix: str = keys[RECORD]["prefix"]
    blocks: list[bpy.types.ShapeKey] = []
    times: list[float] = []
    for frame, shape in zip(frames, positions, strict=True):
        times.append(_KEY_SPACING * (1 + len(blocks)))
        if not keys.use_relative:
            keys.eval_time = times[-1]
        blocks.append(add_block(obj, f"{prefix} {frame:04d}", shape))
    if keys.use_relative:
        key_curves.write_values(keys, blocks, frames, action)
    else:
        key_curves.write_eval_time(keys, times, frames, action)
    obj.active_shape_key_index = keys[RECORD]["active"]
    obj.data.update_tag()


def key_frames(obj: bpy.types.Object) -> list[int]:
    """The scene frames of a bake's keys."""
    before = record(obj)
    if "frames" in before:
        return list(before["frames"])
    # A file of an earlier build has a key at each frame, and the first.
    count = sum(is_supple_key(block) for block in obj.data.shape_keys.key_blocks)
    return list(range(before["start"], before["start"] + count))


def add_block(obj: bpy.types.Object, name: str, positions: NDArray[Any]) -> bpy.types.ShapeKey:
    """Add a key with (V, 3) positions, switched off."""
    block = obj.shape_key_add(name=name, from_mix=False)
    block.points.foreach_set("co", np.ascontiguousarray(positions, dtype=np.float32).ravel())
    # Blender 5 starts new keys at 1.
    block.value = 0.0
    block.interpolation = "KEY_LINEAR"
    return block


def _read(obj: bpy.types.Object) -> tuple[list[Positions], list[int], bool] | None:
    """The keys of the bake as they are stored, their frames, and whether they are absolute."""
    if not has_bake(obj):
        return None
    keys = obj.data.shape_keys
    shapes = [_positions(block) for block in keys.key_blocks if is_supple_key(block)]
    return shapes, key_frames(obj), not keys.use_relative


def _positions(block: bpy.types.ShapeKey) -> Positions:
    positions = np.empty((len(block.points), 3), dtype=np.float32)
    block.points.foreach_get("co", positions.ravel())
    return positions


def _unused_prefix(keys: bpy.types.Key) -> str:
    prefix = PREFIX
    while any(block.name.startswith(prefix) for block in keys.key_blocks):
        prefix += "+"
    return prefix


_RUN = "run"


def note_run(obj: bpy.types.Object, run: str) -> None:
    """Store the run from which ``obj`` was baked."""
    obj.data.shape_keys[RECORD][_RUN] = run


def is_of(obj: bpy.types.Object, run: str, last_frame: int) -> bool:
    """Whether the bake of ``obj`` is of that run, up to that scene frame or a later one."""
    return bool(record(obj).get(_RUN) == run and key_frames(obj)[-1] >= last_frame)
