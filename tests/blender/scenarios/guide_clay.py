# SPDX-License-Identifier: GPL-3.0-or-later
"""Clay of docs/user_guide.md works step by step, at the first try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui


def scenario(ui: Ui) -> Steps:
    ball = yield from ui.new_object("clay", 36, bpy.ops.mesh.primitive_uv_sphere_add)
    yield from ui.make_soft(ball)
    with ui.context():
        bpy.ops.supple.apply_preset("EXEC_DEFAULT", preset="clay")
    assert ball.supple.use_plasticity
    with ui.context():
        bpy.ops.mesh.primitive_cube_add(location=(0.0, 0.0, 2.0))
    plate = bpy.context.object
    plate.scale = (2.0, 2.0, 0.1)
    plate.supple.collider = True
    for frame, height in ((1, 2.0), (18, -0.8), (30, 2.0)):
        bpy.context.scene.frame_set(frame)
        plate.location.z = height
        yield from ui.press_i(plate)
    yield from ui.simulate_cleanly()
    heights = {frame: float(np.ptp(ui.shape(ball, frame)[:, 2])) for frame in (1, 18, 36)}
    assert heights[18] < 0.75 * heights[1], heights
    assert heights[36] < 0.85 * heights[1], heights
    yield from ui.screenshot("clay")
    ui.assert_clean_log()
