# SPDX-License-Identifier: GPL-3.0-or-later
"""Custom normals and sharp edges survive, and turn as the body does."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from supple.addon import actions
from supple.addon.modifiers import find_modifier
from supple.addon.paths import absolute
from supple.addon.playback import pc2

from ..bake.played import rest

Vectors = NDArray[np.float64]

# Of what is kept in 16 bits a number.
TOLERANCE = 1e-3


@pytest.fixture
def body(add_body) -> bpy.types.Object:
    """A smoothly shaded ball with normals that lean to one side, and some sharp edges."""
    obj = add_body()
    bpy.ops.mesh.primitive_ico_sphere_add(radius=0.5)
    ball = bpy.context.object
    obj.data = ball.data
    bpy.data.objects.remove(ball)
    mesh = obj.data
    mesh.shade_smooth()
    sharp = mesh.attributes.new("sharp_edge", "BOOLEAN", "EDGE")
    sharp.data.foreach_set("value", np.arange(len(mesh.edges)) % 5 == 0)
    leaning = normals(mesh) + np.array([0.6, 0.0, 0.2])
    leaning /= np.linalg.norm(leaning, axis=1, keepdims=True)
    mesh.normals_split_custom_set([tuple(normal) for normal in leaning])
    assert mesh.has_custom_normals
    np.testing.assert_allclose(normals(mesh), leaning, atol=TOLERANCE)
    return obj


def normals(mesh: bpy.types.Mesh) -> Vectors:
    """The (C, 3) shaded normals at the corners of all faces."""
    vectors = np.empty(3 * len(mesh.loops), dtype=np.float32)
    mesh.corner_normals.foreach_get("vector", vectors)
    return vectors.reshape(-1, 3).astype(np.float64)


def shaded(obj: bpy.types.Object, frame: int) -> Vectors:
    bpy.context.scene.frame_set(frame)
    return normals(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data)


def normals_of(obj: bpy.types.Object) -> tuple[bool, list[int], list[bool]]:
    """The data of a mesh about its shading."""
    custom, sharp = (obj.data.attributes[name] for name in ("custom_normal", "sharp_edge"))
    numbers = np.empty(2 * len(custom.data), dtype=np.int32)
    custom.data.foreach_get("value", numbers)
    edges = np.empty(len(sharp.data), dtype=bool)
    sharp.data.foreach_get("value", edges)
    assert (custom.domain, sharp.domain) == ("CORNER", "EDGE")
    return obj.data.has_custom_normals, numbers.tolist(), edges.tolist()


def turn(angle: float) -> Vectors:
    """About x."""
    return np.array(
        [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
    )


def test_simulate_bake_and_free_leave_them_as_they_are(body, scene, solver_here):
    before = normals_of(body)
    body.supple.smooth = 3
    actions.simulate(bpy.context)
    assert normals_of(body) == before
    actions.bake(bpy.context)
    assert normals_of(body) == before
    actions.free(bpy.context)
    assert normals_of(body) == before


def test_a_mesh_of_its_own_for_the_bake_has_them(body, play):
    shared = body.data
    before = normals_of(body)
    bpy.context.collection.objects.link(bpy.data.objects.new("Other", shared))
    play(3)
    actions.bake(bpy.context)
    assert body.data != shared
    assert normals_of(body) == before


@pytest.mark.parametrize("passes", [0, 3])
def test_normals_turn_with_the_body_played_and_baked(body, play, passes):
    body.supple.smooth = passes
    before = normals(body.data)
    play(3)
    frames = np.stack([rest(body) @ turn(0.5 * k).T for k in range(4)])
    path = absolute(find_modifier(body).filepath)
    pc2.create(path, len(body.data.vertices))
    pc2.put(path, 0, list(frames))
    for show in (lambda: None, lambda: actions.bake(bpy.context)):
        show()
        for k in (0, 1, 3):
            expected = before @ turn(0.5 * k).T
            np.testing.assert_allclose(shaded(body, 1 + k), expected, atol=TOLERANCE)


def test_bent_bodies_are_shaded_alike_played_and_baked(body, play):
    play(3, wobble=True)
    played = shaded(body, 3)
    actions.bake(bpy.context)
    np.testing.assert_allclose(shaded(body, 3), played, atol=TOLERANCE)
    np.testing.assert_allclose(np.linalg.norm(played, axis=1), 1.0, atol=1e-5)
    assert np.abs(played - normals(body.data)).max() > 0.05
