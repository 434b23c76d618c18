# SPDX-License-Identifier: GPL-3.0-or-later
"""The target volume of a body, which can be keyed."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture.scene import capture
from supple.addon.reports import ignored

from ..conftest import set_linear


def captured():
    (body,) = capture(bpy.context).scene.bodies
    return body


def test_there_is_none_unless_it_is_ticked(add_body):
    body = add_body()
    body.supple.target_volume = 2.0
    assert captured().target_volume is None
    body.supple.use_target_volume = True
    body.supple.volume_stiffness = 4321.0
    assert captured().target_volume == pytest.approx(2.0)
    assert captured().volume_stiffness == pytest.approx(4321.0)


def test_a_keyed_target_volume_is_captured_frame_by_frame(scene, add_body):
    body = add_body()
    scene.frame_start, scene.frame_end = 3, 6
    body.supple.use_target_volume = True
    for frame, factor in ((3, 1.0), (6, 2.5)):
        body.supple.target_volume = factor
        body.keyframe_insert("supple.target_volume", frame=frame)
    set_linear(body)
    np.testing.assert_allclose(captured().target_volume.samples, [1.0, 1.5, 2.0, 2.5], rtol=1e-5)
    assert ignored.messages(bpy.context) == []
    body.supple.use_target_volume = False
    (message,) = ignored.messages(bpy.context)
    assert "animation of Target Volume is ignored" in message
