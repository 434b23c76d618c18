# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's texts about force fields."""

from __future__ import annotations

import bpy

from supple.addon.panels.forces import SUPPLE_PT_force_fields, SUPPLE_PT_forces

from ..layout import drawn


def test_the_panel_names_the_fields_that_act(scene, add_body):
    body = add_body()
    panel = drawn(SUPPLE_PT_force_fields, body)
    assert panel.settings == ["effector_collection"]
    assert panel.texts == [("NONE", "No active force fields.")]
    for kind in ("WIND", "TURBULENCE", "GUIDE"):
        bpy.ops.object.effector_add(type=kind)
    fan = bpy.data.objects["Wind"]
    panel = drawn(SUPPLE_PT_force_fields, fan)
    assert panel.texts == [("NONE", "Acting: Turbulence, Wind")]
    scene.supple.effector_collection = bpy.data.collections.new("Chosen")
    scene.supple.effector_collection.objects.link(fan)
    settings = ["pressure", "use_target_volume", "drag", "field_weight"]
    assert drawn(SUPPLE_PT_forces, body).settings == settings
    body.supple.use_target_volume = True
    settings[2:2] = ["target_volume", "volume_stiffness"]
    assert drawn(SUPPLE_PT_forces, body).settings == settings
    assert drawn(SUPPLE_PT_force_fields, body).texts == [("NONE", "Acting: Wind")]


def test_the_panel_names_what_absorbs_them(scene, add_body):
    body = add_body()
    bpy.ops.object.effector_add(type="WIND")
    bpy.context.object.field.use_absorption = True
    bpy.ops.mesh.primitive_plane_add()
    bpy.ops.object.modifier_add(type="COLLISION")
    wall = bpy.context.object
    assert drawn(SUPPLE_PT_force_fields, body).texts == [("NONE", "Acting: Wind")]
    wall.collision.absorption = 0.5
    texts = drawn(SUPPLE_PT_force_fields, body).texts
    assert texts == [("NONE", "Acting: Wind"), ("NONE", f"Absorbing: {wall.name}")]
