# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that is simulated, baked and rendered in a moment."""

from __future__ import annotations

from pathlib import Path

import bpy

from .conftest import empty_file

FRAMES = 3


def save(path: Path, resolution: int = 2) -> Path:
    """A small block that falls, with a camera, saved and open; returns the file."""
    empty_file()
    scene = bpy.context.scene
    bpy.ops.mesh.primitive_cube_add(location=(0.0, 0.0, 2.0))
    bpy.context.object.supple.enabled = True
    bpy.context.object.supple.resolution = resolution
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.frame_start, scene.frame_end = 1, FRAMES
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 1
    scene.cycles.use_denoising = False
    scene.render.resolution_x = scene.render.resolution_y = 8
    path.parent.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path
