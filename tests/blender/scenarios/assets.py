# SPDX-License-Identifier: GPL-3.0-or-later
"""A ready body is dragged from the asset browser into the 3D view, and simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 20


def scenario(ui: Ui) -> Steps:
    yield from ui.new_file("assets", LAST)
    yield from ui.delete_selected()
    libraries = bpy.context.preferences.filepaths.asset_libraries
    assert [each.name for each in libraries].count("Supple") == 1
    yield from _open_browser(ui)
    yield from ui.screenshot("browser")
    yield from _drag_first(ui)
    yield from ui.wait_for(lambda: _bodies(), "the body to be dropped")
    (body,) = _bodies()
    assert body.data.library is None and body.supple.enabled
    yield from ui.screenshot("dropped")
    yield from ui.hover()
    for is_redo in (False, True):
        yield from ui.key("Z", ctrl=True, shift=is_redo)
        yield from ui.wait_for(lambda is_redo=is_redo: bool(_bodies()) == is_redo, "undo and redo")
    (body,) = _bodies()
    body.location.z += 1.0
    with ui.context():
        bpy.ops.ed.undo_push(message="Up")
    yield from ui.simulate()
    heights = [float(ui.shape(body, frame)[:, 2].min()) for frame in (1, LAST)]
    assert heights[0] - heights[1] > 0.5 and heights[1] > -0.01, heights
    yield from ui.screenshot("landed")
    ui.assert_clean_log()


def _open_browser(ui: Ui) -> Steps:
    ui.area("PROPERTIES").ui_type = "ASSETS"
    yield from ui.redraw()
    space = ui.area("FILE_BROWSER").spaces.active
    yield from ui.wait_for(lambda: space.params is not None, "the asset browser")
    space.params.asset_library_reference = "Supple"
    space.params.catalog_id = ""
    space.show_region_toolbar = space.show_region_tool_props = False
    yield from ui.wait(2.0)
    yield from ui.redraw()


def _drag_first(ui: Ui) -> Steps:
    """Drag the first asset of the browser to the middle of the 3D view."""
    region, view = ui.region("WINDOW", "FILE_BROWSER"), ui.region()
    x, y = region.x + 50, region.y + region.height - 60
    yield from ui.move(x, y)
    yield from ui.wait(0.3)
    ui._event("LEFTMOUSE", "PRESS")
    yield from ui.wait(0.2)
    target = view.x + 0.45 * view.width, view.y + 0.4 * view.height
    for step in range(1, 21):
        part = step / 20
        yield from ui.move(x + part * (target[0] - x), y + part * (target[1] - y))
        yield from ui.wait(0.05)
    yield from ui.wait(0.5)
    ui._event("LEFTMOUSE", "RELEASE")
    yield from ui.wait(1.0)


def _bodies() -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if obj.supple.enabled]
