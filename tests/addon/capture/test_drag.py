# SPDX-License-Identifier: GPL-3.0-or-later
"""A drag, which can be keyed and painted."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture.scene import capture
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene

from ..conftest import set_linear


def test_it_is_keyed_frame_by_frame_and_painted_by_a_group(scene, add_body):
    body = add_body()
    (captured,) = capture(bpy.context).scene.bodies
    assert captured.drag == 0.0
    scene.frame_start, scene.frame_end = 3, 6
    for frame, drag in ((3, 0.0), (6, 3.0)):
        body.supple.drag = drag
        body.keyframe_insert("supple.drag", frame=frame)
    set_linear(body)
    group = body.vertex_groups.new(name="Cape")
    group.add([v.index for v in body.data.vertices if v.co.z > 0.0], 1.0, "REPLACE")
    body.supple.paint_drag, body.supple.unpainted_drag = "Cape", 0.0
    body.supple.resolution = 4
    found = capture(bpy.context).scene
    np.testing.assert_allclose(found.bodies[0].drag.samples, [0.0, 1.0, 2.0, 3.0], rtol=1e-5)
    (filled,) = tetrahedralize_scene(found)[0].bodies
    heights = filled.mesh.vertices[filled.mesh.tets].mean(axis=1)[:, 2]
    np.testing.assert_allclose(filled.drag_factors, heights + 0.5, atol=0.03)
    assert filled.drag_factors.max() == pytest.approx(0.9, abs=0.1)
