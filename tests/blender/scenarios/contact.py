# SPDX-License-Identifier: GPL-3.0-or-later
"""Two soft cubes that begin inside of each other are shown, pushed apart, and pile up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 24
SHIPPED = "user_default/supple/core/shipped"


def scenario(ui: Ui) -> Steps:
    scene = bpy.context.scene
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    kernels = _without_kernels(ui)
    lower, upper = _cubes_on_plate(ui)
    yield from ui.open_sidebar("Supple")
    _select(ui, lower, upper)
    yield from ui.click_button("supple.add")
    yield from ui.wait_for(lambda: upper.supple.enabled, "the cubes to be soft bodies")
    yield from ui.click_button("supple.simulate")
    yield from ui.wait_for(
        lambda: _reported(ui, "intersects"), "the message on the intersection", 180
    )
    assert lower.select_get() and upper.select_get(), "what intersects should be selected"
    assert any(polygon.select for polygon in upper.data.polygons), "and so should its faces"
    yield from ui.wait(0.5)
    yield from ui.screenshot("intersecting")
    # The report's popup takes the next key.
    yield from ui.key("ESC")
    yield from ui.wait(0.3)
    yield from ui.click_button("supple.push_apart")
    yield from ui.wait(0.5)
    yield from ui.click_button("supple.simulate")
    yield from ui.wait(0.2)
    yield from ui.wait_for_end()
    assert _reported(ui, f"Simulated frames 1 to {LAST}")
    scene.frame_set(LAST)
    yield
    low, high = (np.sort(_heights(cube)) for cube in (lower, upper))
    assert low[0] > 0.5, "the lower cube should lie on the plate"
    assert high.mean() > low.mean() + 0.2, "the upper cube should lie on the lower one"
    yield from ui.screenshot("piled")
    # Nor has it compiled any that did not come with the extension.
    assert not _packed() or not list(kernels.rglob("*.nbc")), list(kernels.rglob("*.nbc"))


def _without_kernels(ui: Ui) -> Path:
    """An empty folder for compiled loops, as after the installation."""
    ui.module("worker.warm_worker").stop()
    os.environ["NUMBA_CACHE_DIR"] = str(ui.work / "kernels")
    return ui.work / "kernels"


def _packed() -> bool:
    """Whether the extension came with loops that this Blender's Python compiled."""
    return (Path(str(bpy.utils.user_resource("EXTENSIONS"))) / SHIPPED).is_dir()


def _cubes_on_plate(ui: Ui) -> tuple[bpy.types.Object, bpy.types.Object]:
    lower = bpy.data.objects["Cube"]
    lower.scale, lower.location = (0.25, 0.25, 0.25), (0.0, 0.0, 0.85)
    with ui.context():
        bpy.ops.mesh.primitive_cube_add(size=2.0, location=(0.05, 0.05, 1.15), scale=(0.25,) * 3)
        upper = bpy.context.object
        bpy.ops.mesh.primitive_plane_add(size=4.0, location=(0.0, 0.0, 0.55))
        bpy.context.object.supple.collider = True
    lower.supple.resolution = upper.supple.resolution = 5
    return lower, upper


def _select(ui: Ui, *objects: bpy.types.Object) -> None:
    with ui.context():
        bpy.ops.object.select_all(action="DESELECT")
    for obj in objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = objects[0]


def _heights(cube: bpy.types.Object) -> np.ndarray:
    """The (V,) heights of the vertices in the world."""
    evaluated = cube.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([(evaluated.matrix_world @ v.co).z for v in evaluated.data.vertices])


def _reported(ui: Ui, message: str) -> bool:
    return any(message in line for line in ui.reports())
