# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames that repeat without a jump: the last ones are blended into the first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ..capture.scene import frame_range
from ..modifiers import find_modifier, find_refined
from ..named import named
from ..paths import absolute, portable
from . import mesh_cache, pc2


def why_none(objects: Sequence[bpy.types.Object]) -> str:
    """The reason why no frames can be looped; empty where some can."""
    playing = [obj for obj in objects if find_modifier(obj) is not None]
    return "" if playing else "Nothing is simulated yet. Press Simulate first."


def make(context: bpy.types.Context, objects: Sequence[bpy.types.Object], count: int) -> str:
    """Let bodies play a loop.

    Args:
        context: the context of the scene with the bodies.
        objects: with simulated frames.
        count: the frames at the end that are blended into those at the start.

    Returns:
        The message for the user, which says how far first and last frame are apart.

    Raises:
        SuppleError: when there are too few frames, or they cannot be read or written.
    """
    bodies = [obj for obj in objects if find_modifier(obj) is not None]
    frames = {obj: _simulated(obj) for obj in bodies}
    for obj, each in frames.items():
        if len(each) < 2 * count:
            raise SuppleError(
                f"{obj.name} has {len(each)} frames, too few to blend {count}. Blend fewer frames, "
                "or simulate more."
            )
    gaps = [_gap(each, count) for each in frames.values()]
    for obj in bodies:
        for modifier in (find_modifier(obj), *find_refined(obj)):
            _play_loop(obj, modifier, count)
    first = frame_range(context.scene)[0]
    length = min(map(len, frames.values())) - count
    return (
        f"{named(bodies)} loop after {length} frames. Before blending, first and last frame were "
        f"{max(gaps):.1%} of the size apart. Set the end of the scene to {first + length - 1}."
    )


def blended(frames: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """(F - count, V, 3) frames whose last one leads to the first.

    The frames at the start come out of those after the end, and become themselves bit by bit.
    """
    length = len(frames) - count
    part = (np.arange(count, dtype=np.float32) / np.float32(count))[:, None, None]
    looped = frames[:length].copy()
    looped[:count] = frames[length:] + part * (frames[:count] - frames[length:])
    return looped


def _play_loop(obj: bpy.types.Object, modifier: bpy.types.Modifier, count: int) -> None:
    source = _source(modifier)
    frames = pc2.read(source)[: obj.supple.simulated_frames or None]
    target = mesh_cache.folder_of(source) / f"{mesh_cache.LOOP}{count}" / source.name
    partial = target.with_suffix(".partial")
    pc2.create(partial, frames.shape[1])
    pc2.put(partial, 0, list(blended(frames, count)))
    partial.replace(target)
    modifier.filepath = portable(target)


def _simulated(obj: bpy.types.Object) -> NDArray[np.float32]:
    """The frames of a body as they were simulated, also where it plays a loop of them."""
    frames = pc2.read(_source(find_modifier(obj)))
    return frames[: obj.supple.simulated_frames or None]


def _source(modifier: bpy.types.Modifier) -> Path:
    """The file of simulated frames, of a loop of which a modifier may play."""
    path = absolute(modifier.filepath)
    if not mesh_cache.is_loop(path):
        return path
    files = mesh_cache.folder_of(path).glob(f"playback*/{path.name}")
    return next((file for file in sorted(files) if not mesh_cache.is_loop(file)), path)


def _gap(frames: NDArray[np.float32], count: int) -> float:
    """The largest distance between the first frame and the one that it is blended with, as a
    ratio to the size."""
    apart = np.linalg.norm(frames[len(frames) - count] - frames[0], axis=1).max()
    return float(apart / np.linalg.norm(np.ptp(frames[0], axis=0)))
