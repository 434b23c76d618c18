# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake moves the vertices so that modifiers make of them what was shown, as nearly as can be."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest

from supple.addon import actions, bake_run, runs
from supple.addon.bake_run import Bake
from supple.addon.playback import mesh_cache
from supple.addon.playback.fitted_cage import linear_refinement
from supple.addon.steps import Result, Steps

from ..conftest import evaluated_positions

FRAMES = range(1, 5)


def completed(steps: Steps[Result]) -> Result:
    """The result of work that nobody waits for between its steps."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def subdivide(obj, levels=2):
    modifier = obj.modifiers.new("Subdivision", "SUBSURF")
    modifier.levels = modifier.render_levels = levels
    return modifier


@pytest.fixture
def monkey(scene, add_body):
    return soft(add_body, bpy.ops.mesh.primitive_monkey_add, size=1.0)


@pytest.fixture
def ball(scene, add_body):
    """A ball of few vertices: to measure what a modifier makes of each takes a while."""
    return soft(
        add_body, bpy.ops.mesh.primitive_uv_sphere_add, segments=8, ring_count=6, radius=0.5
    )


def soft(add_body, add_mesh, **size):
    """A soft body of another mesh than a cube."""
    obj = add_body()
    bpy.ops.object.select_all(action="DESELECT")
    add_mesh(**size)
    other = bpy.context.object
    obj.data = other.data
    bpy.data.objects.remove(other)
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    obj.supple.resolution = 4
    return obj


def creased_and_loose(obj):
    """Edges that stay sharp, and a vertex and an edge in no face."""
    obj.data.attributes.new("crease_edge", "FLOAT", "EDGE").data.foreach_set(
        "value", np.linspace(0.0, 1.0, len(obj.data.edges))
    )
    bpy.context.view_layer.objects.active = obj
    count = len(obj.data.vertices)
    obj.data.vertices.add(3)
    for index, x in enumerate((2.0, 3.0, 4.0)):
        obj.data.vertices[count + index].co = (x, 0.1 * x, 0.0)
    obj.data.edges.add(1)
    obj.data.edges[-1].vertices = (count, count + 1)
    obj.data.update()


@pytest.mark.parametrize(("levels", "change"), [(1, lambda obj: None), (2, creased_and_loose)])
def test_a_subdivision_is_known_by_weights_of_the_vertices(monkey, levels, change):
    change(monkey)
    subdivide(monkey, levels)
    found = completed(linear_refinement(monkey))
    assert found is not None
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0, atol=1e-5)
    moved = np.random.default_rng(1).normal(size=(len(monkey.data.vertices), 3))
    monkey.data.vertices.foreach_set("co", moved.ravel())
    monkey.data.update()
    shown = evaluated_positions(monkey, 1)
    np.testing.assert_allclose(found.interpolate(moved), shown, atol=1e-5)


def thicken(obj):
    obj.modifiers.new("Solidify", "SOLIDIFY")


def mirror(obj):
    subdivide(obj)
    obj.modifiers.new("Mirror", "MIRROR").use_mirror_merge = False


@pytest.mark.parametrize("change", [lambda obj: None, thicken, mirror])
def test_what_is_not_made_of_the_vertices_by_weights_is_told(ball, change):
    change(ball)
    assert completed(linear_refinement(ball)) is None


def gaps(points, others):
    return np.linalg.norm(points - others, axis=1)


def test_a_bake_is_nearer_to_what_was_shown_than_the_frames_and_less_outside(monkey, play):
    subdivide(monkey)
    play(3, wobble=True)
    shown = [evaluated_positions(monkey, frame) for frame in FRAMES]
    frames, _ = mesh_cache.read(monkey)
    said = actions.bake(bpy.context)
    baked = [evaluated_positions(monkey, frame) for frame in FRAMES]
    actions.free(bpy.context)
    monkey.data.vertices.foreach_set("co", frames[3].ravel())
    monkey.data.update()
    plain = evaluated_positions(monkey, 1)
    assert np.median(gaps(baked[3], shown[3])) < 0.7 * np.median(gaps(plain, shown[3]))
    farthest = max(gaps(*pair).max() for pair in zip(baked, shown, strict=True))
    size = np.linalg.norm(np.ptp(shown[0], axis=0))
    told = re.search(
        r"Subdivision of Cube acts on the baked keys too, .* up to ([0-9.]+)% of its size", said
    )
    assert told is not None
    assert float(told[1]) == pytest.approx(100.0 * farthest / size, abs=0.06)


def test_a_bake_that_looks_like_what_was_shown_says_nothing_of_it(ball, play):
    subdivide(ball)
    play(3)
    assert actions.bake(bpy.context) == (
        "Baked 4 frames to shape keys: Cube. They play on any machine, with or without "
        "Supple. glTF, FBX (without Apply Modifiers), Alembic and USD files hold their motion."
    )


def test_a_bake_that_is_broken_off_leaves_all_as_it_was(ball, play, monkeypatch):
    monkeypatch.setattr(runs, "STEP_SECONDS", 0.0)
    subdivide(ball)
    play(3, wobble=True)
    scenes, objects, meshes = map(len, (bpy.data.scenes, bpy.data.objects, bpy.data.meshes))
    shares = []
    work = Bake(bpy.context)
    while work.step() and work.progress() < 0.5:
        shares.append(work.progress())
    assert shares == sorted(shares) and 0.0 <= shares[0] < 0.1
    assert work.cancel() == "Cancelled. Nothing was baked."
    assert not work.step()
    assert ball.data.shape_keys is None and mesh_cache.playing([ball])
    assert (scenes, objects, meshes) == tuple(
        map(len, (bpy.data.scenes, bpy.data.objects, bpy.data.meshes))
    )


def test_bodies_that_are_seen_by_their_own_vertices_are_baked_at_once(ball, play):
    play(3)
    assert bake_run.is_quick(bpy.context)
    subdivide(ball)
    play(3)
    assert not bake_run.is_quick(bpy.context)


def test_a_bake_says_where_vertices_cannot_show_it(ball, play):
    thicken(ball)
    play(3)
    frames, _ = mesh_cache.read(ball)
    said = actions.bake(bpy.context)
    assert (
        "Solidify of Cube acts on the baked keys too, and the result is away from the "
        "played mesh. If that is visible, apply it"
    ) in said
    for modifier in ball.modifiers:
        modifier.show_viewport = False
    np.testing.assert_allclose(evaluated_positions(ball, 4), frames[3], atol=1e-6)


def test_what_is_smoothed_is_baked_as_it_is(ball, play):
    subdivide(ball)
    ball.supple.smooth = 3
    play(3)
    assert "anew" not in actions.bake(bpy.context)
