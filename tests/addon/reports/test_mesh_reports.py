# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel reports of the tetrahedra of a soft body."""

from __future__ import annotations

import bpy
import pytest

from supple.addon import actions


@pytest.mark.parametrize("resolution", [8, 20])
def test_the_panel_reports_how_stiffly_a_rod_bends_and_what_helps(
    scene: bpy.types.Scene, resolution: int
) -> None:
    bpy.ops.mesh.primitive_cylinder_add(radius=0.02, depth=1.0)
    rod = bpy.context.object
    bpy.ops.supple.add()
    rod.supple.resolution = resolution
    actions.tetrahedralize(bpy.context)
    report = rod.supple.bending_report
    cured = int(report.partition("With Resolution ")[2].split()[0])
    # Edges of two thirds of the thickness.
    assert cured == pytest.approx(1.0 / (0.63 * 0.04), rel=0.15)
    rod.supple.resolution = cured
    actions.tetrahedralize(bpy.context)
    assert rod.supple.bending_report == ""
