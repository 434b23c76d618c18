# SPDX-License-Identifier: GPL-3.0-or-later
"""What is reported of bodies far from the origin."""

from __future__ import annotations

import bpy
import pytest
from mathutils import Matrix

from supple.addon.reports import far_away, notices

from ..shown_notices import shown_notices


def reported() -> str:
    (text,) = [notice.text for notice in shown_notices() if "so far from" in notice.text]
    assert text in notices.before_a_run(bpy.context)
    return text


@pytest.mark.parametrize("resolution", [13, 26])
def test_a_body_is_reported_where_rounding_is_more_than_a_thousandth_of_a_cell(
    scene: bpy.types.Scene, add_body, resolution: int
) -> None:
    body = add_body()
    body.supple.resolution = resolution
    longest = max(body.dimensions)
    allowed = longest / resolution / 1000.0
    # Between powers of two single precision rounds by 2⁻²³ of the lower one.
    limit = 2.0 ** int(allowed * 2**23).bit_length()
    body.location = (0.49 * limit, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert far_away.text(scene, body) == ""
    body.location = (-1.5 * limit, 0.0, 0.0)
    bpy.context.view_layer.update()
    text = reported()
    assert "Move the scene to the origin of the world." in text and "Set Origin" not in text


def test_a_mesh_far_from_its_object_is_reported_with_the_cure(scene, add_body) -> None:
    body = add_body()
    body.data.transform(Matrix.Translation((9000.0, 0.0, 0.0)))
    body.location = (-9000.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    text = reported()
    assert "Origin to Geometry." in text and "Move the scene" not in text
