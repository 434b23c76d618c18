# SPDX-License-Identifier: GPL-3.0-or-later
"""Stack and Pour of docs/user_guide.md works step by step, at the first try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui


def scenario(ui: Ui) -> Steps:
    yield from ui.new_file("stack", last=24)
    cube = bpy.data.objects["Cube"]
    yield from ui.simulate()
    bpy.context.scene.frame_set(1)
    with ui.context():
        bpy.ops.mesh.primitive_uv_sphere_add()
    ball = bpy.context.object
    ball.location.z = 3.0
    yield from ui.click_button("supple.simulate")
    yield from ui.wait(0.5)
    # The first choice, Make It a Soft Body, is under the mouse.
    yield from ui.key("RET")
    yield from ui.wait_for(lambda: ball.supple.enabled, "the ball to become soft, too")
    yield from ui.wait(1.0)
    yield from ui.wait_for_end()
    yield from ui.stop_playing()
    assert not ui.problems(), ui.problems()
    top, bottom = (ui.shape(obj, 24)[:, 2] for obj in (cube, ball))
    assert bottom.min() < 1.5 and top.min() < -1.5, (bottom.min(), top.min())
    yield from ui.screenshot("stack")
    ui.assert_clean_log()
