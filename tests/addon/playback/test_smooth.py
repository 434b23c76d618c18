# SPDX-License-Identifier: GPL-3.0-or-later
"""Smoothing of what is played, baked and rendered."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.capture.scene import capture
from supple.addon.modifiers import find_smooth
from supple.addon.panels.solver import SUPPLE_PT_solver
from supple.addon.playback import mesh_cache
from supple.core.job import digest

from ..conftest import evaluated_positions
from ..layout import drawn
from ..shown_notices import shown_notices

PLAYBACK, SMOOTH = "MESH_CACHE", "CORRECTIVE_SMOOTH"


@pytest.fixture
def ball(scene, add_body):
    """A fine soft body."""
    obj = add_body()
    bpy.ops.object.select_all(action="DESELECT")
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.5)
    fine = bpy.context.object
    obj.data = fine.data
    bpy.data.objects.remove(fine)
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    return obj


def stack(obj):
    return [modifier.type for modifier in obj.modifiers]


def roughness(obj, points):
    """Mean distance of a vertex from the mean of its neighbours."""
    ends = np.array([tuple(edge.vertices) for edge in obj.data.edges])
    total, count = np.zeros_like(points), np.zeros((len(points), 1))
    for one, other in (ends.T, ends.T[::-1]):
        np.add.at(total, one, points[other])
        np.add.at(count, one, 1.0)
    return float(np.linalg.norm(total / count - points, axis=1).mean())


def volume(obj, points):
    corners = np.array([tuple(t.vertices) for t in obj.data.loop_triangles])
    a, b, c = points[corners].swapaxes(0, 1)
    return float(np.einsum("ij,ij->", np.cross(a, b), c)) / 6.0


def test_nothing_is_smoothed_unless_it_is_asked_for(ball, play):
    play(3)
    assert stack(ball) == [PLAYBACK]


def test_it_comes_right_after_the_frames_and_goes_with_the_setting(ball, play):
    ball.modifiers.new("Round", "BOOLEAN")
    ball.supple.smooth = 3
    assert stack(ball) == ["BOOLEAN"]
    play(3)
    assert stack(ball) == [PLAYBACK, SMOOTH, "BOOLEAN"]
    assert find_smooth(ball).iterations == 3
    ball.supple.smooth = 8
    assert find_smooth(ball).iterations == 8
    ball.supple.smooth = 0
    assert stack(ball) == [PLAYBACK, "BOOLEAN"]
    ball.supple.smooth = 2
    assert stack(ball) == [PLAYBACK, SMOOTH, "BOOLEAN"]
    assert shown_notices() == []


def test_ripples_are_evened_out_and_volume_and_rest_shape_stay(ball, play):
    play(3, wobble=True)
    rest = evaluated_positions(ball, -5)
    rough = [evaluated_positions(ball, frame) for frame in (2, 3, 4)]
    ball.supple.smooth = 5
    smooth = [evaluated_positions(ball, frame) for frame in (2, 3, 4)]
    for before, after in zip(rough, smooth, strict=True):
        assert roughness(ball, after) < 0.7 * roughness(ball, before)
        assert volume(ball, after) == pytest.approx(volume(ball, before), rel=0.05)
    assert rest.shape == before.shape


def test_a_body_at_rest_stays_as_it_is(ball, play):
    play(3)
    before = [evaluated_positions(ball, frame) for frame in (1, 3)]
    ball.supple.smooth = 10
    for frame, expected in zip((1, 3), before, strict=True):
        np.testing.assert_allclose(evaluated_positions(ball, frame), expected, atol=2e-6)


def test_it_changes_nothing_that_is_simulated(ball, play):
    play(3, wobble=True)
    before = digest_now()
    ball.supple.smooth = 5
    assert shown_notices() == []
    assert digest_now() == before
    actions.bake(bpy.context)
    assert digest_now() == before


def digest_now() -> str:
    captured = capture(bpy.context)
    return digest(captured.scene, captured.settings)


def test_it_stays_with_a_bake_and_goes_with_free(ball, play):
    ball.supple.smooth = 5
    play(3, wobble=True)
    played = evaluated_positions(ball, 3)
    actions.bake(bpy.context)
    assert stack(ball) == [SMOOTH]
    np.testing.assert_allclose(evaluated_positions(ball, 3), played, atol=1e-6)
    play(3)
    assert stack(ball) == [PLAYBACK, SMOOTH]
    actions.free(bpy.context)
    assert stack(ball) == []
    assert ball.supple.smooth == 5


def test_a_bake_can_be_smoothed_afterwards(ball, play):
    play(3, wobble=True)
    frames, _ = mesh_cache.read(ball)
    actions.bake(bpy.context)
    ball.supple.smooth = 5
    assert stack(ball) == [SMOOTH]
    assert roughness(ball, evaluated_positions(ball, 3)) < 0.7 * roughness(ball, frames[2])


def test_remove_takes_it_from_what_is_played_and_leaves_it_to_a_bake(ball, play):
    ball.supple.smooth = 5
    play(3)
    bpy.ops.supple.remove()
    assert stack(ball) == []
    ball.supple.enabled = True
    play(3)
    actions.bake(bpy.context)
    bpy.ops.supple.remove()
    assert stack(ball) == [SMOOTH]
    actions.free(bpy.context)
    assert stack(ball) == []


def test_a_corrective_smooth_of_the_users_own_is_left_alone(ball, play):
    ball.modifiers.new("CorrectiveSmooth", SMOOTH).iterations = 7
    ball.supple.smooth = 5
    play(3)
    assert stack(ball) == [PLAYBACK, SMOOTH, SMOOTH]
    ball.supple.smooth = 0
    assert stack(ball) == [PLAYBACK, SMOOTH]
    assert ball.modifiers[1].iterations == 7
    actions.free(bpy.context)
    assert stack(ball) == [SMOOTH]


def test_the_panel_has_it(ball):
    assert "Smooth" in drawn(SUPPLE_PT_solver, ball).labels
