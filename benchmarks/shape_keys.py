# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing 1 000 frames of 10 000 vertices to shape keys, beside the way most add-ons do it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from supple.addon.bake import shape_keys

FRAMES = 1000
SIDE = 100
REPEATS = 5


def run() -> dict[str, Any]:
    """Median seconds of each way; the first run of each, which meets fresh memory, also apart."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=SIDE - 1, y_subdivisions=SIDE - 1)
    obj = bpy.context.object
    shape = (FRAMES, len(obj.data.vertices), 3)
    frames = np.random.default_rng(1).random(shape, dtype=np.float32)
    supple = _times(obj, lambda: shape_keys.bake(obj, frames, 1))
    naive = _times(obj, lambda: _bake_naively(obj, frames))
    return {
        "blender": bpy.app.version_string,
        "frames": FRAMES,
        "vertices": shape[1],
        "repeats": REPEATS,
        "supple_seconds": statistics.median(supple),
        "supple_first_seconds": supple[0],
        "data_foreach_set_seconds": statistics.median(naive),
        "data_foreach_set_first_seconds": naive[0],
        "ratio": statistics.median(naive) / statistics.median(supple),
    }


def _times(obj: bpy.types.Object, write: Callable[[], None]) -> list[float]:
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        write()
        seconds.append(time.perf_counter() - began)
        shape_keys.free(obj)
        obj.shape_key_clear()
    return seconds


def _bake_naively(obj: bpy.types.Object, frames: NDArray[np.float32]) -> None:
    """One key a frame through ``data``, and two or three inserted keyframes for each."""
    obj.shape_key_add(name="Basis")
    for frame, positions in enumerate(frames, 1):
        key = obj.shape_key_add(name=f"frame {frame}", from_mix=False)
        key.data.foreach_set("co", positions.ravel())
        for at, value in ((frame - 1, 0.0), (frame, 1.0), (frame + 1, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=at)
