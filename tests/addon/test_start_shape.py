# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that start posed, or as another run left them, from the settings to what is played."""

from __future__ import annotations

import shutil

import bpy
import numpy as np
import pytest

from supple.addon import actions, runs, start_runs
from supple.addon.cache import scene_cache, unused_caches
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.fingerprint import body_fingerprint
from supple.addon.capture.scene import capture
from supple.addon.panels.body import SUPPLE_PT_start
from supple.addon.playback import mesh_cache
from supple.addon.reports import ignored, run_reports
from supple.core.errors import SuppleError
from supple.core.job import Job

from . import rigs
from .conftest import evaluated_positions, world_positions
from .layout import drawn


@pytest.fixture
def falling(scene, add_body):
    """A cube in free fall, by steps that are exact, ten frames a second."""
    scene.render.fps, scene.frame_start, scene.frame_end = 10, 1, 5
    props = scene.supple
    props.use_ground, props.contact, props.integrator = False, "never", "runge_kutta4"
    cube = add_body(location=(0, 0, 3))
    cube.supple.damping = 0.0
    cube.supple.start_velocity = (1.0, 0.0, 0.0)
    return cube


def _rest(obj: bpy.types.Object) -> np.ndarray:
    return np.array([vertex.co for vertex in obj.data.vertices])


# Poses


@pytest.mark.parametrize("rig", [rigs.armature, rigs.armature_parent, rigs.lattice, rigs.hook])
def test_a_posed_body_starts_as_it_is_bent_and_rests_as_it_was_modelled(scene, add_body, rig):
    body = add_body()
    rig(body)
    scene.frame_start, scene.frame_end = 3, 6
    plain = capture(bpy.context).scene.bodies[0]
    assert plain.start is None
    body.supple.start_shape = "pose"
    found = capture(bpy.context).scene.bodies[0]
    scene.frame_set(3)
    matrix = np.array(body.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world)
    modelled = _rest(body) @ matrix[:3, :3].T + matrix[:3, 3]
    np.testing.assert_allclose(found.skin.points, modelled, atol=1e-6)
    np.testing.assert_allclose(found.mesh.vertices, modelled, atol=1e-6)
    np.testing.assert_allclose(found.start.points, plain.skin.points, atol=1e-6)
    np.testing.assert_allclose(found.start.points, world_positions(body, 3), atol=1e-6)
    assert np.abs(found.start.points - modelled).max() > 0.01


def test_shape_keys_pose_it_too_and_stay_as_they_are(scene, add_body):
    body = add_body()
    rigs.shape_keys(body)
    body.active_shape_key_index = 1
    scene.frame_start, scene.frame_end = 3, 6
    body.supple.start_shape = "pose"
    found = capture(bpy.context).scene.bodies[0]
    np.testing.assert_allclose(found.skin.points, _rest(body), atol=1e-6)
    np.testing.assert_allclose(found.start.points, _rest(body) * (2, 1, 1) + (0, 0, 0.3), atol=1e-6)
    assert (body.active_shape_key_index, body.show_only_shape_key) == (1, False)


def test_pins_that_stand_still_hold_a_posed_body_where_it_is(scene, add_body):
    body = add_body()
    rigs.shape_keys(body)
    body.data.shape_keys.animation_data_clear()
    body.data.shape_keys.key_blocks["Wide"].value = 1.0
    body.vertex_groups.new(name="Held").add([0, 1, 2, 3], 1.0, "REPLACE")
    body.supple.pin_group, body.supple.start_shape = "Held", "pose"
    found = capture(bpy.context).scene.bodies[0]
    np.testing.assert_allclose(found.skin.pin_path.at(0), found.start.points[:4], atol=1e-6)


def test_a_posed_body_plays_from_its_pose(scene, add_body, solver_here):
    body = add_body()
    body.supple.young, scene.gravity = 1e3, (0, 0, 0)
    rigs.shape_keys(body)
    body.data.shape_keys.animation_data_clear()
    wide = body.data.shape_keys.key_blocks["Wide"]
    wide.value = 0.5
    body.supple.start_shape = "pose"
    actions.simulate(bpy.context)
    posed = evaluated_positions(body, 1)
    wanted = _rest(body) * (1.5, 1, 1) + (0, 0, 0.15)
    np.testing.assert_allclose(posed, wanted, atol=5e-3)
    later = evaluated_positions(body, 4)
    assert np.ptp(later[:, 0]) < np.ptp(posed[:, 0]) - 0.05
    assert np.abs(evaluated_positions(body, 0) - posed).max() < 1e-6


def test_a_pose_that_turns_the_inside_out_is_told_with_its_cure(add_body, solver_here):
    body = add_body()
    rigs.shape_keys(body)
    body.data.shape_keys.animation_data_clear()
    wide = body.data.shape_keys.key_blocks["Wide"]
    for point, vertex in zip(wide.points, body.data.vertices, strict=True):
        point.co = (-vertex.co.x, vertex.co.y, vertex.co.z)
    wide.value = 1.0
    body.supple.start_shape = "pose"
    message = actions.tetrahedralize(bpy.context)
    assert "its start shape leaves" in message
    simulation = runs.Simulation(bpy.context)
    (told,) = run_reports.start_warnings(simulation.job, simulation._captured)
    simulation.cancel()
    assert told.startswith("Cube: its start shape leaves")
    assert "flat or inside out, the worst at vertex" in told
    assert "bend it less there" in told


def test_a_pose_without_anything_that_bends_is_told(scene, add_body):
    body = add_body()
    assert not ignored.messages(bpy.context)
    body.supple.start_shape = "pose"
    (message,) = ignored.messages(bpy.context)
    assert message.startswith("Cube: Pose under Start has no effect")
    rigs.shape_keys(body)
    assert not any(
        "Pose under Start has no effect" in text for text in ignored.messages(bpy.context)
    )
    body.supple.rest_shape = "shape_keys"
    (message,) = ignored.messages(bpy.context)
    assert message.startswith("Cube: Pose under Start has no effect")
    rigs.hook(body)
    assert not any(
        "Pose under Start has no effect" in each for each in ignored.messages(bpy.context)
    )


# Another run


def _fallen(*seconds: float) -> np.ndarray:
    """The (T, 3) displacements of the cube."""
    t = np.array(seconds)[:, None]
    return t * (1.0, 0.0, 0.0) - 0.5 * 9.81 * t**2 * (0.0, 0.0, 1.0)


def _moved(obj: bpy.types.Object, *frames: int) -> np.ndarray:
    """The (T, 3) displacements from the modelled place of the falling cube."""
    start = _rest(obj) - (0.0, 0.0, -3.0)
    moved = np.array([world_positions(obj, frame) - start for frame in frames])
    assert np.ptp(moved, axis=1).max() < 1e-4
    return moved.mean(axis=1)


@pytest.mark.parametrize("frame", [4, 5])
def test_a_run_goes_on_from_a_frame_of_the_one_before(scene, falling, solver_here, frame):
    actions.simulate(bpy.context)
    scene.frame_set(frame)
    message = actions.take_start(falling, falling, frame)
    assert message == f"Cube starts as Cube is at frame {frame}. Simulate again."
    scene.frame_start, scene.frame_end = 11, 13
    actions.simulate(bpy.context)
    since = 0.1 * (frame - 1)
    expected = _fallen(since, since, since + 0.1, since + 0.2)
    np.testing.assert_allclose(_moved(falling, 5, 11, 12, 13), expected, atol=1e-4)
    assert "Already simulated" in actions.simulate(bpy.context)


def test_another_body_starts_where_the_one_ended(scene, falling, add_body, solver_here):
    actions.simulate(bpy.context)
    other = add_body("Other", location=(7, 7, 7))
    other.supple.damping = 0.0
    falling.supple.enabled = False
    falling.select_set(True)
    with pytest.raises(RuntimeError, match="Other shows no simulated frames"):
        bpy.ops.supple.take_start()
    falling.supple.enabled = True
    scene.frame_set(99)
    assert bpy.ops.supple.take_start() == {"FINISHED"}
    assert (other.supple.start_shape, other.supple.start_run_frame) == ("run", 4)
    falling.supple.enabled = False
    scene.supple.time_scale = 0.5
    actions.simulate(bpy.context)
    np.testing.assert_allclose(_moved(other, 1, 3), _fallen(0.4, 0.5), atol=1e-4)


def test_the_run_is_kept_while_a_body_starts_from_it(scene, falling, solver_here):
    actions.simulate(bpy.context)
    first = mesh_cache.shown_folder(scene)
    actions.take_start(falling, falling, 4)
    for density in (900.0, 800.0, 700.0):
        falling.supple.density = density
        actions.simulate(bpy.context)
    assert first in scene_cache.own_folders(scene)
    assert first not in [each.folder for each in unused_caches.find()]
    actions.free(bpy.context)
    assert scene_cache.own_folders(scene) == [first]
    actions.simulate(bpy.context)
    falling.supple.start_shape = "rest"
    actions.free(bpy.context)
    assert scene_cache.own_folders(scene) == []


def test_it_goes_where_its_file_goes(scene, falling, solver_here, tmp_path):
    actions.simulate(bpy.context)
    actions.take_start(falling, falling, 5)
    actions.simulate(bpy.context)
    marks, captured = body_fingerprint(falling), capture(bpy.context).scene.bodies[0].start
    scene.supple.cache_folder = ""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / folder / f"{folder}.blend"))
        path = start_runs.path_of(bpy.data.objects["Cube"])
        assert path.is_file()
        assert path.is_relative_to(tmp_path / folder)
    shutil.move(tmp_path / "two", tmp_path / "three")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "three" / "two.blend"))
    cube = bpy.data.objects["Cube"]
    assert start_runs.path_of(cube).is_relative_to(tmp_path / "three")
    assert body_fingerprint(cube) == marks
    start = capture(bpy.context).scene.bodies[0].start
    np.testing.assert_array_equal(start.positions, captured.positions)


def test_a_run_of_another_mesh_and_one_that_is_gone_are_told(scene, falling, add_body, solver_here):
    falling.supple.start_shape = "run"
    with pytest.raises(
        CaptureError, match=("Cube should start from another run, and no run is chosen")
    ):
        capture(bpy.context)
    falling.supple.start_shape = "rest"
    with pytest.raises(SuppleError, match="Cube shows no simulated frames"):
        actions.take_start(falling, falling, 3)
    actions.simulate(bpy.context)
    with pytest.raises(SuppleError, match="frame 1, the start of that run"):
        actions.take_start(falling, falling, 0)
    actions.take_start(falling, falling, 3)
    folder = mesh_cache.shown_folder(scene)
    bpy.ops.mesh.primitive_ico_sphere_add(location=(9, 0, 0))
    ball = bpy.context.object
    ball.supple.enabled = True
    with pytest.raises(SuppleError, match="42 vertices, and Cube had 8 when"):
        actions.take_start(ball, falling, 3)
    ball.supple.start_run, ball.supple.start_shape = falling.supple.start_run, "run"
    with pytest.raises(CaptureError, match="42 vertices, and Cube had 8 in the run"):
        capture(bpy.context)
    ball.supple.enabled = False
    falling.modifiers.new("Subdivision", "SUBSURF")
    with pytest.raises(CaptureError, match="26 vertices after its modifiers, and Cube had 8"):
        capture(bpy.context)
    falling.modifiers.clear()
    falling.supple.start_run_frame = 77
    with pytest.raises(CaptureError, match="no frame 77; its last is 4"):
        capture(bpy.context)
    Job(folder).frame_path(4).unlink()
    falling.supple.start_run_frame = 0
    capture(bpy.context)
    shutil.rmtree(folder)
    with pytest.raises(CaptureError, match=r"Cube starts from a run that cannot be read.*restore"):
        capture(bpy.context)


def test_what_a_run_leaves_out_is_told(falling):
    falling.supple.start_shape, falling.supple.use_plasticity = "run", True
    texts = " ".join(ignored.messages(bpy.context))
    assert "the velocity under Start is ignored" in texts
    assert "is lost" in texts
    falling.supple.start_velocity, falling.supple.use_plasticity = (0, 0, 0), False
    assert not ignored.messages(bpy.context)


def test_the_panel_has_what_the_shape_asks_for(falling):
    panel = drawn(SUPPLE_PT_start, falling)
    assert {"start_shape", "start_velocity"} <= set(panel.settings)
    assert "start_run" not in panel.settings
    falling.supple.start_shape = "run"
    panel = drawn(SUPPLE_PT_start, falling)
    assert panel.settings == ["start_shape", "start_run", "start_run_frame"]
    assert panel.buttons == ["supple.take_start"]


LAST = 6


def standing(scene: bpy.types.Scene, heights: tuple[float, ...]) -> list[bpy.types.Object]:
    """Cubes of 1 m, one above the other, made soft at once."""
    scene.supple.ground_height, scene.frame_end = 0.0, LAST
    cubes = []
    for height in heights:
        bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, height))
        cubes.append(bpy.context.object)
    for cube in cubes:
        cube.select_set(True)
    bpy.ops.supple.add()
    for cube in cubes:
        cube.supple.resolution = 3
    return cubes


def jump(obj: bpy.types.Object) -> float:
    """The largest distance that a vertex of a body moves after the first frame."""
    first = world_positions(obj, 1)
    path = [world_positions(obj, frame) for frame in range(2, LAST + 1)]
    return max(float(np.linalg.norm(points - first, axis=1).max()) for points in path)


def test_a_body_that_stands_on_the_ground_does_not_jump_at_the_first_frame(scene, solver_here):
    (cube,) = standing(scene, (0.5,))
    bpy.ops.supple.simulate()
    assert jump(cube) < 2e-3
    # The weight presses it down by about a tenth.
    assert 0.85 < world_positions(cube, 1)[:, 2].max() < 0.97
    cube.supple.start_settled = False
    bpy.ops.supple.simulate()
    assert jump(cube) > 0.02
    assert world_positions(cube, 1)[:, 2].max() == pytest.approx(1.0, abs=0.01)


def test_a_stack_of_three_stands_from_the_first_frame(scene, solver_here):
    cubes = standing(scene, (0.5, 1.5, 2.5))
    bpy.ops.supple.simulate()
    for number, cube in enumerate(cubes):
        assert jump(cube) < 5e-3
        points = world_positions(cube, LAST)
        assert np.abs(points[:, :2].mean(axis=0)).max() < 0.02
        assert points[:, 2].mean() > 0.85 * (number + 0.5)


def test_what_starts_in_another_shape_does_not_start_settled(scene):
    (cube,) = standing(scene, (0.5,))
    assert capture(bpy.context).scene.bodies[0].starts_settled
    assert "start_settled" in drawn(SUPPLE_PT_start, cube).settings
    cube.shape_key_add(name="Basis")
    key = cube.shape_key_add(name="Tall", from_mix=False)
    for point in key.points:
        point.co.z *= 1.5
    key.value, cube.supple.start_shape = 1.0, "pose"
    cube.location.z = 2.0
    assert not capture(bpy.context).scene.bodies[0].starts_settled
    assert "start_settled" not in drawn(SUPPLE_PT_start, cube).settings
