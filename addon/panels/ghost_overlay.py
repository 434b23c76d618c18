# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw takes as ghosts in the 3D viewports that show overlays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ..capture.motion import transform
from ..capture.surfaces import Triangles, triangles
from ..paths import absolute
from ..playback import pc2

_COLOUR = (1.0, 0.55, 0.1, 0.3)
# The number of bodies whose shown frame is kept in memory.
_KEPT_BODIES = 64

_handler: Any = None


def register() -> None:
    """Does nothing without windows."""
    global _handler
    if not bpy.app.background:
        _handler = bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_VIEW")


def unregister() -> None:
    global _handler
    _sample.cache_clear()
    if _handler is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handler, "WINDOW")
        _handler = None


def ghosts(scene: bpy.types.Scene) -> Iterator[tuple[NDArray[np.float32], Triangles]]:
    """Yield (V, 3) points in the world and triangles of each body of the compared takes, at the
    scene's frame."""
    for take in scene.supple.takes:
        for body in take.bodies if take.show_ghost else ():
            obj = body.object
            if not body.files or obj is None or obj.type != "MESH":
                continue
            path = absolute(take.folder) / body.files.partition("/")[0]
            try:
                points = _sample(path, scene.frame_current - body.first)
            except SuppleError:  # the list shows the take, and Show Take says what is missing
                continue
            if len(points) == len(obj.data.vertices):
                world = transform(np.array(obj.matrix_world), points.astype(float))
                yield world.astype(np.float32), triangles(obj.data)


@lru_cache(maxsize=_KEPT_BODIES)
def _sample(path: Path, index: int) -> NDArray[np.float32]:
    return pc2.sample(path, index)


def _draw() -> None:
    context = bpy.context
    if not context.space_data.overlay.show_overlays:
        return
    if not any(take.show_ghost for take in context.scene.supple.takes):
        return
    import gpu
    from gpu_extras.batch import batch_for_shader

    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("LESS_EQUAL")
    try:
        shader.bind()
        shader.uniform_float("color", _COLOUR)
        for points, corners in ghosts(context.scene):
            batch_for_shader(shader, "TRIS", {"pos": points}, indices=corners).draw(shader)
    finally:
        gpu.state.depth_test_set("NONE")
        gpu.state.blend_set("NONE")
