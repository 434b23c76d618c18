# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Example makes a scene beside what the file has."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon import examples
from supple.addon.capture.scene import capture
from supple.addon.properties import selection
from supple.addon.reports import ignored, notices


def add(name: str) -> list[bpy.types.Object]:
    """Build an example without simulating it."""
    example, builder = examples.EXAMPLES[name], examples.builder(bpy.context)
    bodies = example.build(builder)
    if bodies:
        selection.make_soft(bpy.context, bodies)
    example.finish(builder, bodies)
    return list(builder.collection.objects)


@pytest.fixture
def ground(scene: bpy.types.Scene) -> bpy.types.Scene:
    scene.supple.ground_height = 0.0
    return scene


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_an_example_can_be_simulated_and_has_nothing_to_complain_about(ground, name):
    objects = add(name)
    captured = capture(bpy.context).scene
    assert len(captured.bodies) == sum(obj.supple.enabled for obj in objects) > 0
    assert len(captured.colliders) == sum(obj.supple.collider for obj in objects)
    texts = [each.text for each in notices.notices(bpy.context)]
    assert [*texts, *ignored.messages(bpy.context)] == []


def test_it_stands_beside_the_meshes_of_the_scene_and_leaves_them_alone(ground):
    bpy.ops.mesh.primitive_cube_add(size=2.0, location=(5.0, 0.0, 0.0))
    cube = bpy.context.object
    objects = add("jelly")
    left = min((obj.matrix_world @ vertex.co).x for obj in objects for vertex in obj.data.vertices)
    assert left > 6.0
    assert not cube.supple.enabled and not cube.supple.collider


def test_it_has_its_size_in_metres_in_any_unit(ground):
    ground.unit_settings.scale_length = 0.01
    (ball,) = [obj for obj in add("clay") if obj.supple.enabled]
    assert np.ptp([vertex.co.x for vertex in ball.data.vertices]) == pytest.approx(100.0, rel=0.02)
    (body,) = capture(bpy.context).scene.bodies
    assert np.ptp(body.mesh.vertices, axis=0) == pytest.approx(1.0, rel=0.02)


def test_an_example_moves(ground, solver_here):
    bpy.ops.supple.add_example(example="jelly")
    jelly = bpy.data.objects["Jelly"]
    assert any(modifier.type == "MESH_CACHE" for modifier in jelly.modifiers)
    assert bpy.context.object == jelly
