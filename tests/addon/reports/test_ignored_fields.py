# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields that do not act as in Blender are reported."""

from __future__ import annotations

import bpy
import pytest

from .ignored_lines import messages, only


def field_of(obj: bpy.types.Object, kind: str = "FORCE") -> bpy.types.FieldSettings:
    """A force field that the active object gets."""
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.forcefield_toggle()
    obj.field.type = kind
    return obj.field


@pytest.mark.parametrize("kind", ["WIND", "TURBULENCE", "DRAG", "VORTEX", "LENNARDJ"])
def test_a_force_field_that_acts_is_not_named_until_it_is_hidden(add_body, kind):
    add_body()
    bpy.ops.object.effector_add(type=kind)
    field = bpy.context.object
    assert messages() == []
    field.hide_set(True)
    assert only() == f"{field.name} has a force field and is hidden, so it does not act. Show it."


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("GUIDE", "its force field Curve Guide does not act on soft bodies"),
        ("BOID", "its force field Boid does not act on soft bodies"),
        ("TEXTURE", "its force field Texture has no Texture, and would not act"),
        ("FLUID_FLOW", "its force field Fluid Flow has no Domain Object, and would not act"),
    ],
)
def test_a_force_field_of_a_kind_that_does_not_act_is_named(add_body, kind, message):
    add_body()
    bpy.ops.object.empty_add()
    field = bpy.context.object
    field_of(field, kind)
    assert only().startswith(f"{field.name}: {message}")


def test_a_source_makes_no_field_act(add_body):
    body = add_body()
    bpy.ops.object.empty_add()
    field_of(bpy.context.object, "FLUID_FLOW").source_object = body
    expected = (
        "Fluid Flow does not act on soft bodies: what a domain holds at each frame is not read."
    )
    assert expected in only()


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("shape", "SURFACE", "from its origin, whatever its shape: Surface is ignored"),
        ("shape", "POINTS", "whatever its shape: Every Point is ignored"),
        ("use_absorption", True, "nothing absorbs its force field"),
        ("noise", 1.0, "the Noise of its force field comes in gusts"),
    ],
)
def test_a_setting_of_a_force_field_that_is_not_as_in_blender_is_named(
    add_body, setting, value, message
):
    add_body()
    bpy.ops.mesh.primitive_plane_add()
    field = field_of(bpy.context.object)
    assert messages() == []
    setattr(field, setting, value)
    assert message in only()


def test_keyed_numbers_of_a_force_field_count_and_keyed_choices_are_named(add_body):
    add_body()
    bpy.ops.object.effector_add(type="WIND")
    field = bpy.context.object
    for path in ("field.strength", "field.falloff_power", "field.apply_to_location", "location"):
        field.keyframe_insert(path, frame=1)
    assert messages() == []
    field.keyframe_insert("field.use_max_distance", frame=1)
    assert "the animation of Use Max of its force field is ignored" in only()


def test_the_force_fields_of_bodies_and_particles_are_named(add_body):
    body = add_body()
    field_of(body)
    assert only().startswith("Cube: the force field of a soft body does not act")
    body.field.type = "NONE"
    bpy.ops.mesh.primitive_plane_add()
    plane = bpy.context.object
    plane.modifiers.new("Dust", "PARTICLE_SYSTEM")
    assert messages() == []
    plane.particle_systems[0].settings.force_field_1.type = "FORCE"
    name = plane.particle_systems[0].name
    assert only().startswith(f"Plane: the force fields of its particles {name} do not act")


def absorber(obj: bpy.types.Object, absorption: float = 0.5) -> None:
    with bpy.context.temp_override(object=obj, active_object=obj):
        bpy.ops.object.modifier_add(type="COLLISION")
    obj.collision.absorption = absorption


def test_an_absorbed_field_is_said_to_meet_nothing_until_there_is_something_to_absorb(add_body):
    body = add_body()
    bpy.ops.object.empty_add()
    fan = bpy.context.object
    field_of(fan).use_absorption = True
    nothing = f"{fan.name}: nothing absorbs its force field. Give what shall stand in the way"
    assert only().startswith(nothing)
    bpy.ops.mesh.primitive_plane_add()
    wall = bpy.context.object
    absorber(wall)
    assert messages() == []
    wall.collision.absorption = 0.0
    assert {line.partition(": ")[0] for line in messages()} == {fan.name, wall.name}
    wall.collision.absorption = 0.1
    wall.hide_set(True)
    assert only().startswith(nothing)
    wall.hide_set(False)
    absorber(body)
    assert only().startswith(f"{body.name}: a soft body absorbs no force field.")
    fan.field.use_absorption = False
    assert [line.partition(": ")[0] for line in messages()] == [wall.name]
