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


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (0.5, "2 loose parts. They overlap or lie in each other, and hold together as one piece."),
        (3.0, "2 loose parts. None of them overlap, so that nothing holds them together."),
    ],
)
def test_the_panel_reports_loose_parts(scene: bpy.types.Scene, offset: float, words: str) -> None:
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    cube = bpy.context.object
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(offset, 0.2, 0.1))
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.supple.add()
    actions.tetrahedralize(bpy.context)
    assert cube.supple.parts_report == f"{cube.name} has {words}"
