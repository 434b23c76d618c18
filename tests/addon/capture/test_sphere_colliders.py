# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects soft bodies land on in explicit steps, and as what."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.capture.scene import capture
from supple.addon.playback import mesh_cache
from supple.core.job import Job
from supple.core.scene.contact_settings import Sphere

from ..conftest import world_positions
from .refusals import refusal

AddBall = Callable[..., bpy.types.Object]


@pytest.fixture(autouse=True)
def explicit_steps(scene: bpy.types.Scene) -> None:
    scene.supple.integrator, scene.supple.contact = "symplectic_euler", "never"


@pytest.fixture
def add_ball(add_body) -> AddBall:
    """Makes a ball to land on, of 1 m, far below a soft cube."""
    add_body()

    def add(name: str = "Ball", **settings: Any) -> bpy.types.Object:
        settings = {"radius": 1.0, "location": (0.0, 0.0, -3.0), **settings}
        bpy.ops.mesh.primitive_uv_sphere_add(**settings)
        return _made_collider(name)

    return add


def _made_collider(name: str) -> bpy.types.Object:
    obj = bpy.context.object
    obj.name = name
    obj.supple.collider = True
    return obj


def _add_empty(name: str = "Ball", kind: str = "SPHERE", **settings: Any) -> bpy.types.Object:
    bpy.ops.object.empty_add(type=kind, **settings)
    return _made_collider(name)


def captured() -> list[Sphere]:
    return capture(bpy.context).scene.spheres


# As what


def test_a_ball_is_a_sphere_in_the_world_through_scale_rotation_and_parents(add_ball):
    bpy.ops.object.empty_add(location=(0, 0, -9), rotation=(0, 0, math.pi / 2))
    parent = bpy.context.object
    ball = add_ball(location=(2, 0, 0), rotation=(0.3, 0.5, 0.1))
    ball.scale, ball.parent = (1.5, 1.5, 1.5), parent
    (sphere,) = captured()
    assert sphere.name == "Ball"
    assert sphere.center == pytest.approx((0.0, 2.0, -9.0), abs=1e-5)
    assert sphere.radius == pytest.approx(1.5, rel=1e-5)


def test_unit_scale_turns_it_into_metres(scene, add_ball):
    add_ball()
    scene.unit_settings.scale_length = 0.01
    (sphere,) = captured()
    assert sphere.center == pytest.approx((0.0, 0.0, -0.03), abs=1e-8)
    assert sphere.radius == pytest.approx(0.01)


def test_friction_bounce_and_push_reach_the_solver_as_they_were_typed(add_ball):
    props = add_ball().supple
    props.collider_friction, props.collider_restitution, props.collider_penalty = 0.7, 0.3, 12.3
    (sphere,) = captured()
    props.collider_sliding_friction = 0.5
    assert (sphere.friction, sphere.restitution, sphere.penalty) == (0.7, 0.3, 12.3)
    assert (sphere.kinetic_friction, captured()[0].kinetic_friction) == (None, 0.35)


def test_the_push_of_a_bouncy_ground_reaches_the_solver(scene, add_ball):
    scene.supple.ground_response, scene.supple.ground_penalty = "projection", 4.5
    assert capture(bpy.context).scene.ground.penalty == 4.5


def test_an_icosphere_as_blender_first_offers_it_is_a_sphere(add_body):
    add_body()
    bpy.ops.mesh.primitive_ico_sphere_add(radius=0.5, location=(0, 0, -3))
    _made_collider("Ball")
    (sphere,) = captured()
    assert sphere.radius == pytest.approx(0.5, rel=1e-5)


def test_a_cube_that_a_modifier_rounds_is_a_sphere(add_body):
    add_body()
    bpy.ops.mesh.primitive_cube_add(location=(0, 0, -3))
    cube = _made_collider("Rounded")
    cube.modifiers.new("Round", "SUBSURF").levels = 3
    cube.modifiers.new("Cast", "CAST").factor = 1.0
    (sphere,) = captured()
    assert sphere.center == pytest.approx((0, 0, -3), abs=1e-5)
    assert 0.8 < sphere.radius < 1.0


def test_an_empty_that_shows_a_sphere_is_that_sphere(add_body):
    add_body()
    empty = _add_empty(radius=0.5, location=(0, 1, -3), rotation=(0.3, 0.5, 0.1))
    empty.scale = (2.0, -2.0, 2.0)
    (sphere,) = captured()
    assert sphere.center == pytest.approx((0, 1, -3))
    assert sphere.radius == pytest.approx(1.0)


def test_explicit_steps_land_on_the_mesh_where_things_touch(scene, add_ball):
    add_ball()
    scene.supple.contact = "automatic"
    now = capture(bpy.context).scene
    assert now.contact is not None
    assert [collider.name for collider in now.meshes] == ["Ball"]


@pytest.mark.parametrize("name", ["xpbd", "adaptive_symplectic_euler"])
def test_what_knows_no_contact_lands_on_spheres(scene, add_ball, name):
    add_ball()
    scene.supple.integrator, scene.supple.contact = name, "automatic"
    assert [sphere.name for sphere in captured()] == ["Ball"]


def test_automatic_steps_land_on_spheres_where_contact_is_never(scene, add_ball):
    add_ball()
    scene.supple.integrator, scene.supple.contact = "automatic", "never"
    assert [sphere.name for sphere in captured()] == ["Ball"]
    assert capture(bpy.context).scene.contact is None


# Which


def test_every_ticked_object_counts_in_the_order_of_names(add_ball):
    add_ball("B")
    add_ball("A")
    add_ball("C").supple.collider = False
    assert [sphere.name for sphere in captured()] == ["A", "B"]


def test_an_object_hidden_in_the_viewport_does_not_count(add_ball):
    add_ball("Switched off").hide_viewport = True
    add_ball("Eye closed").hide_set(True)
    collection = bpy.data.collections.new("Away")
    bpy.context.scene.collection.children.link(collection)
    ball = add_ball("In a hidden collection")
    for other in ball.users_collection:
        other.objects.unlink(ball)
    collection.objects.link(ball)
    collection.hide_viewport = True
    add_ball("Seen").hide_render = True
    assert [sphere.name for sphere in captured()] == ["Seen"]


def test_a_soft_body_is_no_collider(scene, add_ball):
    add_ball().supple.enabled = True
    scene.supple.contact = "never"
    now = capture(bpy.context).scene
    assert [body.name for body in now.bodies] == ["Ball", "Cube"]
    assert now.colliders == []


def test_an_empty_that_shows_no_sphere_does_not_count(add_body):
    add_body()
    _add_empty(kind="ARROWS")
    assert captured() == []


def test_what_could_move_but_stands_still_counts(add_ball):
    ball = add_ball()
    ball.constraints.new("LIMIT_LOCATION")
    ball.keyframe_insert("location", frame=1)
    assert len(captured()) == 1


# What is refused


@pytest.mark.parametrize("of_parent", [False, True])
def test_a_ball_that_moves(scene, add_ball, of_parent):
    moving = add_ball()
    if of_parent:
        bpy.ops.object.empty_add()
        moving.parent = bpy.context.object
        moving = moving.parent
    for frame, x in ((1, 0.0), (4, 0.1)):
        moving.location.x = x
        moving.keyframe_insert("location", frame=frame)
    scene.frame_set(2)
    message = refusal()
    assert (
        "Ball is animated. Without contact, colliders must be spheres that do not move." in message
    )
    assert "choose the integrator Automatic or Implicit Euler" in message
    assert scene.frame_current == 2


def test_a_motion_outside_of_the_frames_is_none(scene, add_ball):
    ball = add_ball()
    for frame, x in ((10, 0.0), (20, 0.1)):
        ball.location.x = x
        ball.keyframe_insert("location", frame=frame)
    assert len(captured()) == 1


def test_an_egg(add_ball):
    add_ball("Egg").scale = (1.0, 1.0, 1.3)
    assert (
        "Egg is not a sphere: its sides measure 2, 2 and 2.6. Without contact, colliders"
        in refusal()
    )


def test_a_slightly_uneven_ball_is_fine(add_ball):
    add_ball().scale = (1.0, 1.0, 1.03)
    assert captured()[0].radius == pytest.approx(1.03, rel=1e-3)


def test_a_box(add_body):
    add_body()
    bpy.ops.mesh.primitive_cube_add(location=(0, 0, -3))
    cube = _made_collider("Rounded box")
    cube.modifiers.new("Round", "SUBSURF").levels = 3
    cube.modifiers["Round"].subdivision_type = "SIMPLE"
    assert "Rounded box is not a sphere: a vertex lies 42% of the radius inside" in refusal()


def test_a_disc(add_body):
    add_body()
    bpy.ops.mesh.primitive_circle_add(location=(0, 0, -3))
    _made_collider("Disc")
    assert "Disc is not a sphere: its sides measure 2, 2 and 0" in refusal()


def test_an_uneven_empty(add_body):
    add_body()
    _add_empty(radius=0.5, location=(0, 0, -3)).scale = (1.0, 2.0, 1.0)
    assert "Ball is not a sphere: its sides measure" in refusal()


def test_a_mesh_without_vertices(add_ball):
    add_ball().data = bpy.data.meshes.new("Empty")
    assert "Ball has no vertices" in refusal()


@pytest.mark.parametrize("kind", ["mesh", "empty"])
def test_a_scale_of_zero(add_ball, kind):
    (add_ball() if kind == "mesh" else _add_empty()).scale = (0.0, 0.0, 0.0)
    assert "Ball: the radius must be above 0 m" in refusal()


def test_a_vertex_at_nan(add_ball):
    add_ball().data.vertices[5].co.y = float("nan")
    assert "Ball has an infinite or invalid location" in refusal()


@pytest.mark.parametrize(
    ("integrator", "label"), [("implicit_euler", "Implicit Euler"), ("bdf2", "BDF2")]
)
def test_implicit_steps_that_must_not_know_contact(scene, add_ball, integrator, label):
    add_ball()
    scene.supple.integrator, scene.supple.contact = integrator, "never"
    message = f"Ball is a collider, and {label} needs contact for it. Set Contact to Automatic"
    assert message in refusal()


def test_a_body_that_overlaps_a_ball(add_ball):
    add_ball(location=(0.0, 0.0, -1.3))
    assert "Cube starts 0.2 m inside the collider Ball; move them apart." in refusal()


# Simulated


def test_a_soft_body_comes_down_on_a_ball_and_is_never_inside(scene, add_ball, solver_here):
    add_ball(location=(0.0, 0.0, -1.55))
    scene.frame_end = 12
    bpy.data.objects["Cube"].supple.young = 1e5
    message = actions.simulate(bpy.context)
    assert "Symplectic Euler" in message
    folder = mesh_cache.shown_folder(scene)
    assert folder is not None
    job = Job(folder)
    center = np.array([0.0, 0.0, -1.55])
    seen = job.tet_scene.bodies[0].seen_surface
    assert seen is not None and seen.embedding is not None
    places = [seen.embedding.interpolate(job.read_frame(k)) for k in range(12)]
    gaps = [np.linalg.norm(points - center, axis=1).min() - 1.0 for points in places]
    assert gaps[0] > 0.03 and min(gaps) > -1e-9
    assert min(gaps[6:]) < 1e-3
    assert world_positions(bpy.data.objects["Cube"], 12)[:, 2].max() > 0.2
