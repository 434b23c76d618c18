# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the sample scenes: ``python -m supple.sample_scenes.build``, or in Blender's own Python.

Saved with the oldest Blender that Supple supports, so that all later ones open them.
"""

from __future__ import annotations

from pathlib import Path

import bpy

from ..addon import actions
from .scenes import SAMPLES

FOLDER = Path(__file__).resolve().parent


def build(name: str, folder: Path = FOLDER, with_kept: bool = True) -> Path:
    """Writes one of ``SAMPLES`` into ``folder``; to find a shape that is kept takes a while."""
    sample, path = SAMPLES[name], folder / f"{name}.blend"
    sample.build(empty_scene(sample.frames))
    if with_kept and sample.sag_free_body:
        actions.find(bpy.context, bpy.data.objects[sample.sag_free_body], "keep_shape")
    bpy.context.preferences.filepaths.save_version = 0
    bpy.ops.object.select_all(action="DESELECT")
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True, relative_remap=False)
    return path


def empty_scene(frames: int) -> bpy.types.Scene:
    """Open an empty file with Supple enabled, and so many frames."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    _register()
    scene = bpy.context.scene
    scene.render.fps = 24
    scene.frame_start, scene.frame_end = 1, frames
    scene.frame_set(1)
    return scene


def _register() -> None:
    from .. import register

    if not hasattr(bpy.types.Object, "supple"):
        register()


if __name__ == "__main__":
    for name in SAMPLES:
        print(build(name))
