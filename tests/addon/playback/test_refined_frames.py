# SPDX-License-Identifier: GPL-3.0-or-later
"""The visible mesh after refining modifiers is the mesh that collides."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.capture import refined as capture_refined
from supple.addon.modifiers import find_modifier, find_refined
from supple.addon.paths import absolute
from supple.addon.playback import refined_frames

from ..conftest import world_positions
from ..shown_notices import shown_notices
from .views import rendered, seen

pytestmark = pytest.mark.usefixtures("engine")

FRAMES = (1, 3, 4)
TOLERANCE = 1e-6


def subdivide(obj, levels=1, render_levels=1):
    modifier = obj.modifiers.new("Subdivision", "SUBSURF")
    modifier.levels, modifier.render_levels = levels, render_levels
    return modifier


def thicken(obj):
    obj.modifiers.new("Solidify", "SOLIDIFY").thickness = 0.1
    subdivide(obj)


def wire(obj):
    obj.modifiers.new("Wireframe", "WIREFRAME").thickness = 0.2
    obj.modifiers.new("Triangulate", "TRIANGULATE")
    obj.modifiers.new("Weighted Normal", "WEIGHTED_NORMAL")


def touching(job, frame):
    """(P, 3) rest and moved points that touch, in the world."""
    (body,) = job.tet_scene.bodies
    surface = body.contact_surface
    return surface.points, surface.embedding.interpolate(job.read_frame(frame))


def assert_seen(points, rest_points, job, frame):
    """Every point is where that is which touched in its place at rest."""
    rest, moved = touching(job, frame)
    gaps = np.linalg.norm(rest_points[:, None] - rest, axis=2)
    assert gaps.min(axis=1).max() < TOLERANCE
    np.testing.assert_allclose(points, moved[gaps.argmin(axis=1)], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("refine", [subdivide, thicken, wire])
def test_what_is_seen_is_what_touches(scene, add_body, play, refine):
    obj = add_body(location=(0.3, 0.2, 0.1), scale=(1, 2, 0.5), rotation=(0.3, 0.2, 0.1))
    refine(obj)
    rest = world_positions(obj, 1)
    job, _ = play(3, wobble=True)
    for frame in FRAMES:
        for points in (seen(obj, frame), rendered(obj, frame)):
            assert_seen(points, rest, job, frame - 1)
    moved = touching(job, 3)[1]
    refined_frames.detach(obj)
    assert np.abs(seen(obj, 4) - moved[: len(rest)]).max() > 0.01


def test_renders_with_other_levels_show_points_of_their_own_where_the_body_carries_them(
    scene, add_body, play
):
    obj = add_body(location=(0.3, 0.2, 0.1))
    subdivision = subdivide(obj, 1, 2)
    rest = world_positions(obj, 1)
    subdivision.levels = 2
    finer = world_positions(obj, 1)
    subdivision.levels = 1
    job, _ = play(3, wobble=True)
    (body,) = job.tet_scene.bodies
    viewport, renders = body.skin.refined
    np.testing.assert_allclose(viewport.points, rest, atol=TOLERANCE)
    np.testing.assert_allclose(renders.points, finer, atol=TOLERANCE)
    assert_seen(seen(obj, 4), rest, job, 3)
    expected = renders.embedding.interpolate(job.read_frame(3))
    np.testing.assert_allclose(rendered(obj, 4), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("most", [0, 1])
def test_simplify_lowers_the_levels_of_renders(scene, add_body, play, most):
    obj = add_body()
    subdivide(obj, 0, 3)
    scene.render.use_simplify, scene.render.simplify_subdivision_render = True, most
    job, _ = play(3, wobble=True)
    counts = [len(skin.points) for skin in job.tet_scene.bodies[0].skin.refined]
    assert counts == ([26] if most else [])


def test_other_levels_than_simulated_shape_the_frames_anew(scene, add_body, play):
    obj = add_body()
    subdivision = subdivide(obj)
    play(3)
    subdivision.levels = 2
    shown = world_positions(obj, 4)
    assert len(shown) == 98
    refined_frames.detach(obj)
    np.testing.assert_array_equal(world_positions(obj, 4), shown)
    assert np.abs(shown - world_positions(obj, 1)).max() > 0.1


def names(obj):
    return [(m.name, m.show_viewport, m.show_render) for m in obj.modifiers]


def test_one_file_is_played_where_viewport_and_renders_show_the_same(scene, add_body, play):
    obj = add_body()
    subdivide(obj)
    play(3)
    assert names(obj) == [
        ("Supple", True, True),
        ("Subdivision", True, True),
        ("Supple Refined", True, True),
    ]


def test_the_next_run_plays_what_modifiers_make_then(scene, add_body, play):
    obj = add_body()
    subdivision = subdivide(obj)
    play(3)
    subdivision.render_levels = 2
    play(3)
    shown = [(viewport, render) for _, viewport, render in names(obj)[2:]]
    assert shown == [(True, False), (False, True)]
    obj.modifiers.new("Triangulate", "TRIANGULATE")
    subdivision.show_viewport = False
    play(3)
    assert [m.type for m in obj.modifiers][:3] == ["MESH_CACHE", "SUBSURF", "TRIANGULATE"]
    obj.modifiers.clear()
    play(3)
    assert [name for name, *_ in names(obj)] == ["Supple"]


def bevel(obj):
    """It finds other edges to bevel of a mesh that is bent."""
    obj.modifiers.new("Bevel", "BEVEL").limit_method = "ANGLE"
    subdivide(obj)


def mirror(obj):
    """It merges what is near the plane of the object, which a body that topples is not."""
    obj.modifiers.new("Mirror", "MIRROR").use_axis = (False, True, False)
    subdivide(obj)


def finer_in_renders(obj):
    bevel(obj)
    obj.modifiers["Subdivision"].render_levels = 2


def remesh(obj):
    obj.modifiers.new("Remesh", "REMESH").voxel_size = 0.2


@pytest.mark.parametrize("refine", [bevel, mirror, finer_in_renders, remesh])
def test_what_makes_other_points_of_a_bent_mesh_makes_them_of_the_mesh_at_rest(
    scene, add_body, play, refine
):
    obj = add_body(location=(0.3, 0.2, 0.1), scale=(1, 2, 0.5))
    refine(obj)
    rest = world_positions(obj, 1)
    job, _ = play(3, wobble=True)
    skins = job.tet_scene.bodies[0].skin.refined
    for frame in FRAMES:
        assert_seen(seen(obj, frame), rest, job, frame - 1)
        expected = skins[-1].embedding.interpolate(job.read_frame(frame - 1))
        np.testing.assert_allclose(rendered(obj, frame), expected, rtol=0, atol=TOLERANCE)
    assert names(obj)[0] == ("Supple", False, False)
    obj.supple.smooth = 3
    assert names(obj)[0] == ("Supple", True, True)
    assert not any(m.show_viewport or m.show_render for m in find_refined(obj))
    obj.supple.smooth = 0
    assert names(obj)[0] == ("Supple", False, False)
    assert shown_notices() == []


def test_an_object_that_would_stand_still_says_so(scene, add_body, play):
    obj = add_body()
    bevel(obj)
    play(3)
    obj.modifiers["Bevel"].segments = 2
    bpy.context.view_layer.update()
    (notice,) = shown_notices()
    assert "Cube has 218 vertices after its modifiers and had 98" in str(notice)
    obj.modifiers["Bevel"].segments = 1
    bpy.context.view_layer.update()
    assert shown_notices() == []
    absolute(find_refined(obj)[0].filepath).unlink()
    (notice,) = shown_notices()
    assert "0_both_of_rest.pc2 is missing" in str(notice)


def test_the_frames_are_shown_again_once_nothing_is_made_of_the_rest(scene, add_body, play):
    obj = add_body()
    bevel(obj)
    play(3)
    obj.modifiers.remove(obj.modifiers["Bevel"])
    play(3)
    assert names(obj)[0] == ("Supple", True, True)
    assert [m.filepath[-10:] for m in find_refined(obj)] == ["0_both.pc2"]


def animate_keys(obj):
    """Animate keys that change the number of points of the bevel."""
    bevel(obj)
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Wide")
    key.driver_add("value").driver.expression = "frame / 5"


def animate_the_modifier(obj):
    bevel(obj)
    obj.driver_add('modifiers["Bevel"].width').driver.expression = "frame / 50"


def drive(obj):
    obj.modifiers.new("Cast", "CAST").factor = 0.3
    bevel(obj)


def beveled_in_renders(obj):
    bevel(obj)
    obj.modifiers["Bevel"].show_viewport = obj.modifiers["Subdivision"].show_viewport = False


def smooth_after(obj):
    """It evens out the frames."""
    subdivide(obj)
    obj.modifiers.new("Smooth", "SMOOTH")


def wave(obj):
    """It carries the frames away."""
    subdivide(obj)
    obj.modifiers.new("Wave", "WAVE")


def shade(obj):
    obj.modifiers.new("Weighted Normal", "WEIGHTED_NORMAL")


OTHERS = [animate_keys, animate_the_modifier, drive, beveled_in_renders, smooth_after, wave, shade]


@pytest.mark.parametrize("refine", OTHERS)
def test_what_modifiers_make_of_the_frames_alone_stays(scene, add_body, play, refine):
    obj = add_body()
    refine(obj)
    play(3)
    assert find_modifier(obj).show_viewport
    assert find_refined(obj) == []


def test_a_mesh_of_very_many_points_is_not_kept(scene, add_body, play, monkeypatch):
    obj = add_body()
    subdivide(obj, 1, 2)
    monkeypatch.setattr(capture_refined, "MAX_REFINED_POINTS", 97)
    play(3)
    assert [(m.show_viewport, m.show_render) for m in find_refined(obj)] == [(True, False)]


def test_what_is_smoothed_is_seen_as_modifiers_shape_it(scene, add_body, play):
    obj = add_body()
    subdivide(obj)
    play(3, wobble=True)
    bare = world_positions(obj, 4)
    obj.supple.smooth = 5
    assert [m.show_viewport or m.show_render for m in find_refined(obj)] == [False]
    assert np.abs(world_positions(obj, 4) - bare).max() > 0.01
    obj.supple.smooth = 0
    np.testing.assert_array_equal(world_positions(obj, 4), bare)


@pytest.mark.parametrize("away", ["free", "remove"])
def test_it_goes_with_the_frames(scene, add_body, play, away):
    obj = add_body()
    subdivide(obj)
    play(3)
    if away == "free":
        actions.free(bpy.context)
    else:
        bpy.ops.supple.remove()
    assert [m.name for m in obj.modifiers] == ["Subdivision"]


def test_points_that_goals_hold_are_seen_by_the_cage(scene, add_body, play):
    """It alone is where its animation has it."""
    obj = add_body()
    subdivide(obj)
    group = obj.vertex_groups.new(name="Jiggle")
    group.add(range(8), 1.0, "REPLACE")
    obj.supple.jiggle_group = group.name
    job, _ = play(3)
    assert job.tet_scene.bodies[0].skin.detail is not None
    assert find_refined(obj) == []
