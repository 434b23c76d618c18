# SPDX-License-Identifier: GPL-3.0-or-later
"""A soft body that is thrown, turns and bends, as if it had been simulated."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from supple.addon.bake import shape_keys
from supple.addon.modifiers import find_modifier
from supple.addon.paths import absolute
from supple.addon.playback import pc2

from ..conftest import AddBody, Play

LAST = 8
Throw = Callable[..., bpy.types.Object]


@pytest.fixture
def thrown(scene: bpy.types.Scene, add_body: AddBody, play: Play) -> Throw:
    """Makes the body; with ``baked`` its frames are shape keys."""

    def throw(baked: bool = False, name: str = "Bar") -> bpy.types.Object:
        scene.frame_end = LAST
        obj = add_body(name, scale=(4, 1, 0.5), location=(2, 1, 3), rotation=(0.2, 0.3, 0.4))
        with bpy.context.temp_override(object=obj):
            obj.modifiers.new("Cuts", "SUBSURF").subdivision_type = "SIMPLE"
            obj.modifiers["Cuts"].levels = 3
            bpy.ops.object.modifier_apply(modifier="Cuts")
        obj.data.name = name
        play(LAST - 1)
        path = absolute(find_modifier(obj).filepath)
        frames = _frames(obj)
        pc2.create(path, frames.shape[1])
        pc2.put(path, 0, frames)
        if baked:
            shape_keys.bake(obj, frames, 1, is_absolute=False)
            obj.modifiers.remove(find_modifier(obj))
        return obj

    return throw


def _frames(obj: bpy.types.Object) -> np.ndarray:
    rest = np.array([tuple(vertex.co) for vertex in obj.data.vertices])
    frames = []
    for frame in range(LAST):
        angle = 0.3 * frame + 0.08 * frame * rest[:, 0]
        cos, sin = np.cos(angle), np.sin(angle)
        x, y, z = rest.T
        turned = np.column_stack([x, cos * y - sin * z, sin * y + cos * z])
        frames.append(turned + np.array([0.3 * frame, 0.0, 0.5 * frame - 0.05 * frame**2]))
    return np.array(frames, dtype=np.float32)


@pytest.fixture
def recorded_bar(scene: bpy.types.Scene, add_body: AddBody, play: Play) -> bpy.types.Object:
    """A cube with a recorded stretch that is its number times the frame."""
    scene.supple.results = {"stretch"}
    obj = add_body()
    job, _ = play(0)
    count = sum(len(body.mesh.tets) for body in job.tet_scene.bodies)
    for index in range(4):
        values = np.arange(1, count + 1, dtype=np.float32) * index
        job.write_fields(index, {"stretch": values})
    play(3)
    return obj
