# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground that keeps bodies from a collider below it is told of before the run."""

from __future__ import annotations

import bpy
import pytest

from .ignored_lines import messages, only


def add_collider(kind: str, **place: object) -> bpy.types.Object:
    getattr(bpy.ops.mesh, f"primitive_{kind}_add")(**place)
    obj = bpy.context.object
    obj.supple.collider = True
    bpy.context.view_layer.update()
    return obj


def test_a_floor_below_the_ground_is_named(scene, add_body):
    scene.supple.ground_height = 0.0
    add_body(location=(0, 0, 1))
    floor = add_collider("plane", size=10, location=(0, 0, -3))
    assert only() == (
        "Plane: the collider is below the ground, down to -3 m, and bodies land on that first, at "
        "0 m. Lower its Height, or untick Ground, under Scene."
    )
    floor.hide_set(True)
    assert only() == "Plane is a collider and hidden, so nothing lands on it. Show it."
    floor.hide_set(False)
    scene.supple.use_ground = False
    assert messages() == []
    scene.supple.use_ground, scene.supple.ground_height = True, -3.0
    assert messages() == []


def test_a_floor_half_under_the_ground_is_named_as_it_is_seen(scene, add_body):
    scene.supple.ground_height = 0.0
    add_body(location=(0, 0, 3))
    floor = add_collider("plane", size=2.0, rotation=(0.5, 0, 0))
    assert only().startswith("Plane: the collider goes below the ground, down to -0.479 m, and")
    floor.modifiers.new("Up", "DISPLACE").mid_level = 0.0
    bpy.context.view_layer.update()
    assert messages() == []


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("plane", {"size": 10.0}),
        ("plane", {"size": 10.0, "location": (0, 0, -0.005)}),
        ("cube", {"size": 1.0, "location": (0, 0, -0.5)}),
        ("uv_sphere", {"location": (0, 0, -0.5)}),
    ],
)
def test_what_lies_on_the_ground_or_stands_in_it_is_not(scene, add_body, kind, place):
    scene.supple.ground_height = 0.0
    add_body(location=(0, 0, 3))
    add_collider(kind, **place)
    assert messages() == []
