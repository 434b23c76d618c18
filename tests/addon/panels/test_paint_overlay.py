# SPDX-License-Identifier: GPL-3.0-or-later
"""The paint that viewports draw; that they do is seen in a real window."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest

from supple.addon.capture import fingerprint
from supple.addon.capture.paint import painted_weights
from supple.addon.panels import paint_overlay
from supple.addon.panels.paint_overlay import coloured, colours_of, shown_bodies


@pytest.fixture(autouse=True)
def nothing_known():
    paint_overlay.forget()
    yield
    paint_overlay.forget()


def drawn(obj, setting="young"):
    return coloured(obj, bpy.context.evaluated_depsgraph_get(), setting)


def painted(obj, weights, name="Head"):
    group = obj.vertex_groups.new(name=name)
    for index, weight in enumerate(weights):
        group.add([index], weight, "REPLACE")
    return group


def shown(with_overlays=True):
    bpy.context.view_layer.update()
    space = SimpleNamespace(overlay=SimpleNamespace(show_overlays=with_overlays))
    context: Any = SimpleNamespace(
        scene=bpy.context.scene, view_layer=bpy.context.view_layer, space_data=space
    )
    return shown_bodies(context)


def test_colours_go_from_blue_over_green_to_red():
    found = colours_of(np.array([-1.0, 0.0, 0.125, 0.5, 1.0, 7.0]))
    expected = [(0, 0, 1), (0, 0, 1), (0, 0.5, 1), (0, 1, 0), (1, 0, 0), (1, 0, 0)]
    np.testing.assert_allclose(found[:, :3], expected)
    assert ((found[:, 3] > 0.0) & (found[:, 3] < 1.0)).all()


def test_every_vertex_that_is_seen_has_the_colour_of_its_weight(add_body):
    obj = add_body()
    weights = np.linspace(0.0, 1.0, 8)
    painted(obj, weights)
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    obj.supple.paint_young = "Head"
    found = drawn(obj)
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    assert len(found.points) == len(mesh.vertices) == 26
    assert found.corners.shape == (48, 3)
    np.testing.assert_allclose(found.points[3], mesh.vertices[3].co, atol=1e-6)
    np.testing.assert_allclose(found.colours[:8], colours_of(weights), atol=0.3)


def test_what_is_not_painted_or_cannot_be_is_not_drawn(add_body):
    obj = add_body()
    assert drawn(obj) is None
    obj.supple.paint_young = "Gone"
    assert drawn(obj) is None
    painted(obj, np.ones(8))
    obj.supple.paint_young = "Head"
    assert drawn(obj) is not None
    assert drawn(obj, "density") is None


def test_weights_are_read_once_until_the_mesh_changes(add_body, monkeypatch):
    obj, read = add_body(), []
    group = painted(obj, [0, 0, 0, 0, 0, 0, 0, 1])
    obj.supple.paint_friction = "Head"

    def counted(*of):
        read.append(of)
        return painted_weights(*of)

    monkeypatch.setattr(paint_overlay, "painted_weights", counted)
    drawn(obj, "friction")
    paint_overlay.forget_shapes()
    blue = drawn(obj, "friction").colours[0]
    assert len(read) == 1
    np.testing.assert_allclose(blue[:3], (0, 0, 1))
    group.add([0], 1.0, "REPLACE")
    obj.data.update()
    bpy.context.view_layer.update()
    np.testing.assert_allclose(drawn(obj, "friction").colours[0, :3], (1, 0, 0))
    assert len(read) == 2


def test_it_is_off_until_it_is_chosen_and_where_overlays_are_hidden(scene, add_body):
    obj = add_body()
    assert scene.supple.paint_overlay == "none"
    assert shown() == []
    scene.supple.paint_overlay = "friction"
    assert shown() == [obj]
    assert shown(with_overlays=False) == []
    obj.hide_set(True)
    assert shown() == []
    obj.hide_set(False)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    assert shown() == []


def test_choosing_it_changes_no_result(scene, add_body):
    add_body()
    before = fingerprint.scene_fingerprint(scene)
    scene.supple.paint_overlay = "density"
    assert fingerprint.scene_fingerprint(scene) == before
