# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with simulated frames, and what they play."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np

from supple.addon.cache import scene_cache
from supple.addon.capture.scene import capture
from supple.addon.modifiers import find_modifier, find_refined
from supple.addon.paths import absolute
from supple.addon.playback import mesh_cache
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene

from ..conftest import evaluated_positions, write_frames


def simulate() -> Path:
    """The cache that Simulate leaves, without waiting for a solver; returns the job folder."""
    captured = capture(bpy.context)
    job = scene_cache.open_job(bpy.context.scene, captured.scene, captured.settings).job
    job.write_tet_scene(*tetrahedralize_scene(captured.scene))
    write_frames(job, 3)
    shown = mesh_cache.Playback(job, captured)
    while shown.extend(3, 1.0):
        shown.attach()
    return job.folder


def save(path: Path, **options: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), **options)


def opened(path: Path) -> bpy.types.Object:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.data.objects["Cube"]


def path_of(obj: bpy.types.Object) -> str:
    modifier = find_modifier(obj)
    assert modifier is not None
    return str(modifier.filepath)


def assert_moves(obj: bpy.types.Object) -> None:
    rise = evaluated_positions(obj, 4) - evaluated_positions(obj, 1)
    np.testing.assert_allclose(rise, np.tile([0.3, 0.6, 0.9], (16, 1)), atol=1e-6)
    (refined,) = find_refined(obj)
    path = absolute(refined.filepath)
    assert path.is_file() and path == absolute(path_of(obj)).with_name("0_both.pc2")
