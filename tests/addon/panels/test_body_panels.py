# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of the panels of contact, force fields, pins and plasticity."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.panels.body import (
    SUPPLE_PT_attach,
    SUPPLE_PT_collisions,
    SUPPLE_PT_collisions_advanced,
    SUPPLE_PT_force_fields,
    SUPPLE_PT_forces,
    SUPPLE_PT_ground,
    SUPPLE_PT_pins,
    SUPPLE_PT_plasticity,
)
from supple.addon.panels.main import SUPPLE_PT_statistics
from supple.addon.reports import ignored

from ..layout import drawn


def add(kind: str) -> bpy.types.Object:
    """``MESH`` or the shape of an empty."""
    if kind == "MESH":
        bpy.ops.mesh.primitive_plane_add()
    else:
        bpy.ops.object.empty_add(type=kind)
    return bpy.context.object


def test_meshes_and_spherical_empties_that_are_not_soft_can_be_colliders(add_body):
    offered = [add("MESH"), add("SPHERE"), add("ARROWS"), add_body(), None]
    bpy.ops.object.light_add()
    panels = [drawn(SUPPLE_PT_collisions, obj) for obj in (*offered, bpy.context.object)]
    shown = ["collider" in panel.settings for panel in panels]
    assert shown == [True, True, False, False, False, False]


def test_a_collider_shows_what_its_integrator_takes(scene, add_body):
    add_body()
    plate = add("MESH")
    of_all = ["collider", "collider_friction", "percent_collider_sliding_friction"]
    of_meshes = [*of_all, "collider_thickness", "touches"]
    of_spheres = [*of_all, "collider_restitution", "collider_penalty"]
    assert drawn(SUPPLE_PT_collisions, plate).settings == of_meshes
    scene.supple.integrator = "symplectic_euler"
    assert drawn(SUPPLE_PT_collisions, plate).settings == of_meshes
    scene.supple.integrator = "xpbd"
    assert drawn(SUPPLE_PT_collisions, plate).settings == of_spheres
    scene.supple.integrator, scene.supple.contact = "automatic", "never"
    assert drawn(SUPPLE_PT_collisions, plate).settings == of_spheres


def test_the_ground_has_both_frictions(add_body):
    settings = drawn(SUPPLE_PT_ground, add_body()).settings
    assert {"ground_friction", "percent_ground_sliding_friction"} <= set(settings)


def test_the_push_of_the_ground_is_there_where_it_counts(scene, add_body):
    assert "ground_penalty" not in drawn(SUPPLE_PT_ground, add_body()).settings
    scene.supple.ground_response = "projection"
    assert "ground_penalty" in drawn(SUPPLE_PT_ground, None).settings


@pytest.mark.parametrize("setting", [("integrator", "xpbd"), ("contact", "never")])
def test_settings_of_contact_are_there_where_it_is_possible(scene, add_body, setting):
    body = add_body()
    of_scene = ["contact", "auto_contact_distance", "contact_formulation", "self_contact"]
    of_scene += ["auto_friction_updates"]
    of_body = ["percent_sliding_friction", "contact_surface"]
    assert drawn(SUPPLE_PT_collisions_advanced, add("MESH")).settings == of_scene
    of_both = [*of_body, "touches", *of_scene]
    assert drawn(SUPPLE_PT_collisions_advanced, body).settings == of_both
    setattr(scene.supple, *setting)
    # The ground meets it all the same.
    assert drawn(SUPPLE_PT_collisions_advanced, body).settings == [*of_body, "contact"]
    assert drawn(SUPPLE_PT_collisions, body).settings == ["friction"]


def test_what_shapes_the_frames_anew_is_told_once_something_has_touched(add_body):
    body = add_body()
    first = body.modifiers.new("Round", "SUBSURF")
    body.modifiers.new("Shade", "WEIGHTED_NORMAL")
    assert said_of_surface(body) == ""
    body.supple.touching_report = "Collides as the visible mesh."
    said = said_of_surface(body)
    assert "Round shapes the simulated frames again" in said and "Apply it" in said
    second = body.modifiers.new("Solid", "SOLIDIFY")
    said = said_of_surface(body)
    assert "Round and Solid shape the simulated frames again" in said and "Apply them" in said
    first.show_viewport = second.show_viewport = False
    assert said_of_surface(body) == "Collides as the visible mesh."


def test_nothing_is_told_where_what_touches_is_seen(add_body, play):
    body = add_body()
    subdivision = body.modifiers.new("Round", "SUBSURF")
    play(3)
    body.supple.touching_report = "Collides as the visible mesh."
    assert said_of_surface(body) == "Collides as the visible mesh."
    subdivision.levels = 2
    bpy.context.view_layer.update()
    said = said_of_surface(body)
    assert (
        "Round shapes the simulated frames again" in said
        and "Simulate again to see that surface" in said
    )
    body.supple.smooth = 2
    assert "Round shapes the simulated frames again" in said_of_surface(body)


def said_of_surface(body: bpy.types.Object) -> str:
    return " ".join(text for _, text in drawn(SUPPLE_PT_statistics, body).texts)


def test_the_detail_is_there_where_the_mesh_touches(add_body):
    body = add_body()
    assert "contact_detail" not in drawn(SUPPLE_PT_collisions_advanced, body).settings
    body.supple.contact_surface = "mesh"
    assert "contact_detail" in drawn(SUPPLE_PT_collisions_advanced, body).settings


def test_the_panel_says_what_touched(scene, add_body, solver_here):
    body = add_body()
    assert drawn(SUPPLE_PT_statistics, body).texts == []
    bpy.ops.supple.tetrahedralize()
    message = drawn(SUPPLE_PT_statistics, body).texts[-1]
    assert message[1] == "Collides as the visible mesh."
    bpy.ops.supple.free()
    assert drawn(SUPPLE_PT_statistics, body).texts == []


def test_an_object_and_a_group_can_be_attached(add_body):
    body, other = add_body(), add_body("Other")
    assert drawn(SUPPLE_PT_attach, body).settings == ["attach_to"]
    body.supple.attach_to = other
    of_place = ["attach_to", "attach_as", "attach_group", "attached", "attach_force"]
    layout = drawn(SUPPLE_PT_attach, body)
    assert (layout.settings, layout.buttons) == (of_place, ["supple.add_attachment"])
    body.supple.attach_as = "stitch"
    of_stitches = [*of_place[:3], "stitch_group", "closed", *of_place[3:]]
    assert drawn(SUPPLE_PT_attach, body).settings == of_stitches


def test_there_is_a_row_for_each_further_attachment(add_body):
    body, other = add_body(), add_body("Other")
    body.supple.attach_to = other
    bpy.ops.supple.add_attachment(object_name="Cube")
    bpy.ops.supple.add_attachment(object_name="Cube")
    body.supple.attachments[1].attach_to = other
    assert drawn(SUPPLE_PT_attach, body).settings.count("attach_to") == 3
    bpy.ops.supple.remove_attachment(object_name="Cube", index=0)
    (attachment,) = body.supple.attachments
    assert attachment.attach_to == other
    with pytest.raises(RuntimeError, match="Cube has no further attachment 4"):
        bpy.ops.supple.remove_attachment(object_name="Cube", index=4)


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


def test_goals_have_settings_where_weights_are_partial(add_body):
    obj = add_body()
    group = obj.vertex_groups.new(name="Pin")
    group.add([1, 2], 1.0, "REPLACE")
    assert drawn(SUPPLE_PT_pins, obj).settings == ["pin_group"]
    # As messages call it.
    assert drawn(SUPPLE_PT_pins, obj).labels == ["Pin Group"]
    obj.supple.pin_group = "Pin"
    assert drawn(SUPPLE_PT_pins, obj).settings == ["pin_group", "pinned", "pin_force"]
    group.add([2], 0.5, "REPLACE")
    ignored._counts.clear()
    layout = drawn(SUPPLE_PT_pins, obj)
    assert layout.labels[1:3] == ["Goal Frequency", "Goal Damping Ratio"]


def test_the_order_of_the_stack_is_told(add_body):
    obj = add_body()
    assert drawn(SUPPLE_PT_pins, obj).texts[-1][1].startswith("To pin")
    obj.vertex_groups.new(name="Pin")
    assert drawn(SUPPLE_PT_pins, obj).texts == []
    obj.modifiers.new("Armature", "ARMATURE").object = bpy.data.objects.new("Rig", None)
    obj.modifiers.new("Subdivision", "SUBSURF")
    text = ("MODIFIER", "Follows: Armature. Applied after: Subdivision.")
    assert drawn(SUPPLE_PT_pins, obj).texts == [text]


def test_the_panel_has_the_switch_and_its_settings(add_body):
    shown = drawn(SUPPLE_PT_plasticity, add_body())
    assert shown.settings == [
        *("use_plasticity", "yield_stress", "creep_time", "hardening", "plastic_limit")
    ]
    assert shown.texts == []


def test_a_body_that_cannot_carry_itself_is_told_what_it_needs(add_body):
    body = add_body()
    body.supple.use_plasticity = True
    body.supple.density, body.supple.yield_stress = 1000.0, 9000.0
    ((icon, text),) = drawn(SUPPLE_PT_plasticity, body).texts
    # 1000 kg/m³ · 9.81 m/s² · 1 m
    assert icon == "INFO" and "a Yield Stress of 9810 Pa" in text
    body.supple.yield_stress = 9900.0
    assert drawn(SUPPLE_PT_plasticity, body).texts == []


def test_a_real_material_switches_it_off(add_body):
    body = add_body()
    body.supple.use_plasticity = True
    bpy.ops.supple.apply_preset(preset="rubber", size="real")
    assert not body.supple.use_plasticity
