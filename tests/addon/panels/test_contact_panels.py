# SPDX-License-Identifier: GPL-3.0-or-later
"""Which settings of contact, colliders and attachments the sidebar shows, and when."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.panels.collisions import (
    SUPPLE_PT_collisions,
    SUPPLE_PT_collisions_advanced,
    SUPPLE_PT_ground,
)
from supple.addon.panels.main import SUPPLE_PT_statistics
from supple.addon.panels.pins import SUPPLE_PT_attach

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
