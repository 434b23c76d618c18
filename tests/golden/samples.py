# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample scenes of the extension at a third of their resolution."""

from __future__ import annotations

import bpy

import supple
from supple.addon.capture.objects import is_soft_body
from supple.addon.capture.scene import capture
from supple.core.job.run import simulator_of
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.simulator import Simulator
from supple.sample_scenes import build
from supple.sample_scenes.scenes import SAMPLES

from .scenes import FRAMES

RESOLUTION_RATIO, LEAST_RESOLUTION = 3, 4

NAMES = tuple(SAMPLES)


def make(name: str) -> Simulator:
    """A sample that is ready to run, as a worker would."""
    if not hasattr(bpy.types.Scene, "supple"):
        supple.register()
    bpy.ops.wm.open_mainfile(filepath=str(build.FOLDER / f"{name}.blend"))
    scene = bpy.context.scene
    scene.frame_end = scene.frame_start + FRAMES
    for obj in scene.objects:
        if is_soft_body(obj):
            settings = obj.supple
            settings.resolution = max(LEAST_RESOLUTION, settings.resolution // RESOLUTION_RATIO)
    captured = capture(bpy.context)
    tets, _ = tetrahedralize_scene(captured.scene)
    return simulator_of(tets, captured.settings)
