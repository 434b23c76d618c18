# SPDX-License-Identifier: GPL-3.0-or-later
"""The start and the time scale of a simulation, from the settings to the playback."""

from __future__ import annotations

import argparse

import bpy
import numpy as np
import pytest

from supple.addon import actions, command_line, modifiers
from supple.addon.panels.solver import SUPPLE_PT_solver
from supple.addon.playback import fields, mesh_cache
from supple.addon.playback.fields import title
from supple.addon.reports import notices, outdated
from supple.core.job import Job

from .conftest import evaluated_positions
from .layout import drawn

pytestmark = pytest.mark.usefixtures("solver_here")

START, END = 37, 41


@pytest.fixture
def falling(scene, add_body):
    """A cube in free fall, by steps that are exact, from frame 37 to 41."""
    cube = add_body()
    scene.render.fps = 10
    props = scene.supple
    props.use_ground, props.contact, props.integrator = False, "never", "runge_kutta4"
    props.use_scene_range = False
    props.frame_start, props.frame_end = START, END
    cube.supple.damping = 0.0
    return cube


def _heights(obj: bpy.types.Object) -> np.ndarray:
    """The height above the modelled position, at the frames 30, 37, 38 … 41, 50."""
    rest = np.array([vertex.co.z for vertex in obj.data.vertices])
    shown = (30, *range(START, END + 1), 50)
    found = [evaluated_positions(obj, frame)[:, 2] - rest for frame in shown]
    assert np.ptp(found, axis=1).max() < 1e-4
    return np.mean(found, axis=1)


def _fallen(*times: float) -> np.ndarray:
    return -0.5 * 9.81 * np.array(times) ** 2


def _bake(cube: bpy.types.Object) -> np.ndarray:
    actions.bake(bpy.context)
    assert modifiers.find_modifier(cube) is None
    return _heights(cube)


def test_any_frame_can_be_the_first(falling):
    actions.simulate(bpy.context)
    expected = _fallen(0, 0, 0.1, 0.2, 0.3, 0.4, 0.4)
    np.testing.assert_allclose(_heights(falling), expected, atol=1e-4)
    np.testing.assert_allclose(_bake(falling), expected, atol=1e-4)


def test_the_pre_roll_has_passed_at_the_first_frame_and_before_it_the_body_stands_still(
    scene, falling
):
    scene.supple.pre_roll = 2
    message = actions.simulate(bpy.context)
    assert "Simulated frames 37 to 41, after 2 frames of pre-roll." in message
    expected = _fallen(0.2, 0.2, 0.3, 0.4, 0.5, 0.6, 0.6)
    np.testing.assert_allclose(_heights(falling), expected, atol=1e-4)
    assert modifiers.shown_start(scene) == START - 2
    again = actions.simulate(bpy.context)
    assert "Already simulated" in again
    np.testing.assert_allclose(_bake(falling), expected, atol=1e-4)


def test_slow_motion_shows_half_the_time_and_keys_slow_it_on_the_way(scene, falling):
    scene.supple.time_scale = 0.5
    actions.simulate(bpy.context)
    expected = _fallen(0, 0, 0.05, 0.1, 0.15, 0.2, 0.2)
    np.testing.assert_allclose(_heights(falling), expected, atol=1e-4)
    for frame, scale in ((START + 1, 1.0), (START + 2, 0.1)):
        scene.supple.time_scale = scale
        scene.keyframe_insert("supple.time_scale", frame=frame)
    for curve in scene.animation_data.action.layers[0].strips[0].channelbags[0].fcurves:
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    actions.simulate(bpy.context)
    expected = _fallen(0, 0, 0.1, 0.155, 0.165, 0.175, 0.175)
    np.testing.assert_allclose(_heights(falling), expected, atol=1e-4)


@pytest.mark.parametrize(("old", "new", "first"), [(100, 50, 74), (100, 200, 18), (70, 30, 86)])
@pytest.mark.parametrize("pre_roll", [0, 3])
def test_stretched_time_plays_simulated_frames_over_the_whole_range(
    scene, falling, old, new, first, pre_roll
):
    scene.render.frame_map_old, scene.render.frame_map_new = old, new
    scene.supple.pre_roll = pre_roll
    (line,) = (each for each in notices.before_a_run(bpy.context) if "Time Stretching" in each)
    assert f"plays the frames {first} to " in line
    assert "as the frames 37 to 41 of the timeline" in line
    actions.simulate(bpy.context)
    assert outdated.message(bpy.context) == ""
    assert outdated.changed_of_scene(scene) == []

    def fallen() -> list[float]:
        times = [0.1 * (frame * old / new - first + pre_roll) for frame in range(START, END + 1)]
        whole = np.floor(np.array(times) / 0.1 + 1e-6)
        before, after = _fallen(*(0.1 * whole)), _fallen(*(0.1 * whole + 0.1))
        return before + (np.array(times) / 0.1 - whole) * (after - before)

    np.testing.assert_allclose(_heights(falling)[1:-1], fallen(), atol=1e-4)
    np.testing.assert_allclose(_bake(falling)[1:-1], fallen(), atol=1e-4)


def test_a_range_that_is_stretched_afterwards_is_reported_as_missing_or_changed(scene, falling):
    scene.supple.frame_start, scene.supple.frame_end = 0, 4
    actions.simulate(bpy.context)
    scene.render.frame_map_new = 50
    assert outdated.message(bpy.context) == "Frames 3 to 4 are not simulated yet."
    scene.supple.frame_start = 1
    assert outdated.changed_of_scene(scene) == ["start frame"]


def test_the_command_line_simulates_what_is_played(scene, falling, tmp_path):
    scene.render.frame_map_new = 50
    described = command_line.parser("supple", with_file=False)
    command_line.simulate(described.parse_args(["simulate", "--frames", "37-39"]))
    assert Job(mesh_cache.shown_folder(scene)).last_frame() == 2 * 39 - 2 * 37
    np.testing.assert_allclose(_heights(falling)[1:4], _fallen(0, 0.2, 0.4), atol=1e-4)


def test_the_shown_frame_of_stretched_time_is_the_one_to_start_from(scene, falling):
    scene.render.frame_map_new = 50
    actions.simulate(bpy.context)
    scene.frame_set(START + 2)
    bpy.context.view_layer.objects.active = falling
    bpy.ops.supple.take_start()
    assert falling.supple.start_run_frame == 4


def test_what_was_recorded_is_shown_of_the_frame_that_is_seen(scene, falling):
    scene.supple.pre_roll, scene.supple.results = 2, {"speed"}
    actions.simulate(bpy.context)
    text = actions.show_field(bpy.context, "speed")
    assert text.startswith("Speed: 1.96 … 5.89 m/s")
    for baked in (False, True):
        if baked:
            actions.bake(bpy.context)
        for frame, seconds in ((30, 0.2), (START, 0.2), (START + 1, 0.3), (50, 0.6)):
            scene.frame_set(frame)
            fields.update(scene)
            mesh = falling.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
            speeds = [each.value for each in mesh.attributes[title("speed")].data]
            np.testing.assert_allclose(speeds, 9.81 * seconds, rtol=1e-4)


def test_nothing_is_shown_before_the_pre_roll_is_over(scene, falling, play):
    scene.supple.pre_roll = 2
    _, shown = play(1)
    assert (shown.last_frame, shown.last_shown) == (1, START)
    assert modifiers.find_modifier(falling) is None
    _, shown = play(3)
    assert (shown.last_frame, shown.last_shown) == (3, START + 1)
    assert mesh_cache.read(falling)[0].shape == (2, 8, 3)


def test_the_command_line_takes_a_range_and_a_pre_roll(scene, falling, tmp_path):
    described = command_line.parser("supple", with_file=False)
    options = described.parse_args(["simulate", "--frames", "38-40", "--pre-roll", "3"])
    command_line.simulate(options)
    assert (scene.supple.frame_start, scene.supple.pre_roll) == (38, 3)
    assert Job(mesh_cache.shown_folder(scene)).last_frame() == 5
    _, first = mesh_cache.read(falling)
    assert first == 38
    for text in ("-1", "2.5", "few"):
        for option in ("--pre-roll", "--substeps"):
            with pytest.raises((SystemExit, argparse.ArgumentTypeError)):
                described.parse_args(["simulate", f"{option}={text}"])


def test_the_panel_has_them(scene, falling):
    panel = drawn(SUPPLE_PT_solver, falling)
    assert {"pre_roll", "time_scale"} <= set(panel.settings)
