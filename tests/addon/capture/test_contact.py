# SPDX-License-Identifier: GPL-3.0-or-later
"""When soft bodies touch, with which settings, and with what surface."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import bpy
import numpy as np
import pytest

import supple
from supple.addon.capture.scene import capture
from supple.addon.reports import outdated
from supple.core.scene.contact_settings import Contact
from supple.core.scene.scene import Scene

from .refusals import refusal


def captured() -> Scene:
    return capture(bpy.context).scene


def add_ball(detail: float, **settings) -> bpy.types.Object:
    """A soft ball that touches with its mesh, of 1280 faces."""
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=4, radius=0.5, **settings)
    obj = bpy.context.object
    props = obj.supple
    props.enabled, props.contact_surface, props.contact_detail = True, "mesh", detail
    return obj


# When


def test_a_lone_body_touches_itself(scene, add_body):
    add_body()
    assert isinstance(captured().contact, Contact)
    scene.supple.contact = "never"
    assert captured().contact is None


def test_a_lone_body_that_cannot_touch_itself_does_without_unless_it_always_should(scene, add_body):
    add_body()
    settings = scene.supple
    for holder, name, value in (
        (settings, "integrator", "adaptive_midpoint"),
        (settings, "integrator", "xpbd"),
        (settings, "ground_response", "projection"),
        (settings, "self_contact", False),
    ):
        usual = getattr(holder, name)
        setattr(holder, name, value)
        assert captured().contact is None
        setattr(holder, name, usual)
    settings.contact, settings.integrator = "always", "xpbd"
    assert "XPBD does not support contact" in refusal()


def test_a_lone_body_may_cross_itself_at_the_start_unless_it_always_touches(scene, add_body):
    add_body()
    assert captured().contact.spares_crossing
    scene.supple.contact = "always"
    assert not captured().contact.spares_crossing
    scene.supple.contact = "automatic"
    add_body("Other", location=(3, 0, 0))
    assert not captured().contact.spares_crossing


def test_two_bodies_touch_unless_they_never_should(scene, add_body):
    add_body()
    add_body("Other", location=(3, 0, 0))
    assert isinstance(captured().contact, Contact)
    scene.supple.contact = "never"
    now = captured()
    assert now.contact is None
    assert {body.friction for body in now.bodies} == {0.5}


def test_a_collider_is_a_reason_to_touch(scene, add_body):
    add_body()
    scene.supple.self_contact = False
    bpy.ops.mesh.primitive_plane_add(location=(0, 0, -2))
    assert captured().contact is None
    bpy.context.object.supple.collider = True
    assert isinstance(captured().contact, Contact)


# With which settings


def test_settings_reach_the_solver_as_they_were_typed(scene, add_body):
    props = add_body().supple
    settings = scene.supple
    settings.contact = "always"
    now = captured()
    assert now.contact is not None
    assert asdict(now.contact) == asdict(Contact())
    assert (now.bodies[0].friction, now.bodies[0].kinetic_friction) == (0.5, None)
    scene.unit_settings.scale_length = 0.1
    settings.contact_distance, settings.contact_formulation = 0.02, "original"
    settings.self_contact, settings.friction_updates = False, 3
    props.friction, props.sliding_friction = 0.8, 0.5
    now = captured()
    assert now.contact is not None
    assert now.contact.distance == pytest.approx(0.002)
    assert (now.contact.formulation, now.contact.friction_updates) == ("original", 3)
    assert not now.contact.self_contact
    assert (now.bodies[0].friction, now.bodies[0].kinetic_friction) == (0.8, 0.4)


def test_friction_reaches_the_solver_without_contact_too(scene, add_body):
    props, settings = add_body().supple, scene.supple
    settings.contact = "never"
    assert (captured().ground.friction, captured().ground.kinetic_friction) == (0.5, None)
    props.friction, props.sliding_friction = 0.8, 0.5
    settings.ground_friction, settings.ground_sliding_friction = 0.2, 0.25
    now = captured()
    assert now.contact is None
    assert (now.bodies[0].friction, now.bodies[0].kinetic_friction) == (0.8, 0.4)
    assert (now.ground.friction, now.ground.kinetic_friction) == (0.2, 0.05)


def test_a_file_without_these_settings_has_the_default_ones():
    bpy.ops.wm.open_mainfile(
        filepath=str(Path(supple.__file__).parent / "sample_scenes" / "falling_cube.blend")
    )
    props, body = bpy.context.scene.supple, bpy.data.objects["Cube"].supple
    assert not props.is_property_set("contact")
    assert (props.contact, props.contact_distance, props.self_contact) == ("automatic", 0.0, True)
    assert (body.friction, body.contact_surface, body.attach_to) == (0.5, "automatic", None)
    assert captured().contact is not None


# Integrators


@pytest.mark.parametrize("name", ["automatic", "bdf2", "runge_kutta4"])
def test_integrators_that_know_contact(scene, add_body, name):
    add_body()
    add_body("Other", location=(3, 0, 0))
    scene.supple.integrator = name
    assert captured().contact is not None


@pytest.mark.parametrize("name", ["adaptive_midpoint", "xpbd"])
@pytest.mark.parametrize("choice", ["automatic", "always"])
def test_integrators_that_do_not_know_contact(scene, add_body, name, choice):
    add_body()
    if choice == "automatic":
        add_body("Other", location=(3, 0, 0))
    scene.supple.integrator, scene.supple.contact = name, choice
    message = refusal()
    assert "does not support contact between soft bodies" in message
    assert message.endswith("Choose Automatic or Implicit Euler, or set Contact to Never.")
    scene.supple.contact = "never"
    assert captured().contact is None


# With what surface


@pytest.mark.parametrize("contact", ["always", "never"])
def test_what_touches_is_left_to_the_solver_unless_it_is_chosen(scene, add_body, contact):
    """Without contact it matters for the ground."""
    props = add_body().supple
    scene.supple.contact = contact
    for choice in ("automatic", "mesh", "tetrahedra"):
        if choice != "automatic":
            props.contact_surface = choice
        body = captured().bodies[0]
        assert (body.touching, body.contact_surface) == (choice, None)


def test_files_keep_what_they_chose_before_there_was_a_choice_by_itself(add_body):
    props = add_body().supple
    for number, choice in enumerate(("tetrahedra", "mesh")):
        props["contact_surface"] = number
        assert props.contact_surface == choice


def test_modifiers_count_for_the_surface(scene, add_body):
    obj = add_body()
    obj.modifiers.new("Finer", "SUBSURF").levels = 2
    assert len(captured().bodies[0].mesh.vertices) > 8


def test_a_simpler_copy_of_the_mesh_is_about_where_it_is(scene):
    add_ball(0.25, location=(100.0, 0.0, 3.0))
    scene.supple.contact = "always"
    body = captured().bodies[0]
    surface = body.contact_surface
    assert surface is not None
    assert len(body.mesh.triangles) == 1280
    assert len(surface.triangles) == pytest.approx(320, abs=10)
    away = np.linalg.norm(surface.points - (100.0, 0.0, 3.0), axis=1)
    np.testing.assert_allclose(away, 0.5, atol=0.03)
    a, b, c = surface.points[surface.triangles].swapaxes(0, 1)
    outward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a - (100.0, 0.0, 3.0))
    assert (outward > 0).all()


def test_a_simpler_copy_leaves_nothing_behind(scene):
    obj = add_ball(0.25)
    scene.supple.contact = "always"

    def inventory() -> list[str]:
        collections = (getattr(bpy.data, name) for name in dir(bpy.data))
        blocks = (each for each in collections if isinstance(each, bpy.types.bpy_prop_collection))
        return [repr(block) for each in blocks for block in each]

    before = inventory()
    captured()
    assert inventory() == before
    assert bpy.context.scene == scene
    assert bpy.context.object == obj
    assert len(obj.modifiers) == 0
    assert len(obj.data.polygons) == 1280


# Which objects


def group(name: str, *objects: bpy.types.Object) -> bpy.types.Collection:
    collection = bpy.data.collections.new(name)
    for obj in objects:
        collection.objects.link(obj)
    return collection


def passing_names() -> set[frozenset[str]]:
    read = capture(bpy.context)
    names = [body.name for body in read.objects] + [each.name for each in read.scene.meshes]
    return {frozenset(names[number] for number in pair) for pair in read.scene.passing_pairs}


def test_objects_collide_where_the_collections_of_both_allow_it(scene, add_body):
    one, two, three = (add_body(name, location=(3 * i, 0, 0)) for i, name in enumerate("ABC"))
    plate = add_body("Plate", location=(0, 0, -3))
    plate.supple.enabled, plate.supple.collider = False, True
    assert captured().contact.passing is None
    one.supple.touches = group("With Two", two)
    assert passing_names() == {frozenset("AC"), frozenset(("A", "Plate"))}
    two.supple.touches = group("With Three", three)
    assert passing_names() == {
        *map(frozenset, ("AC", "AB")),
        *(frozenset((name, "Plate")) for name in "AB"),
    }
    plate.supple.touches = group("With None")
    assert {frozenset(("C", "Plate"))} <= passing_names()


def test_a_collection_that_allows_all_changes_nothing(scene, add_body):
    one, two = add_body("A"), add_body("B", location=(3, 0, 0))
    one.supple.touches = group("All", one, two)
    assert captured().contact.passing is None


def test_other_members_of_a_collection_are_a_change(scene, add_body, play):
    one, two = add_body("A"), add_body("B", location=(3, 0, 0))
    one.supple.touches = group("Group", two)
    play(3)
    assert outdated.changed(one) == []
    one.supple.touches.objects.unlink(two)
    assert outdated.changed(one) == ["Touches"]
