# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations by the real worker, as a script or ``blender -b`` runs them."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest

from supple.addon import actions, runs
from supple.addon.capture.captured import RemovedError
from supple.addon.playback import mesh_cache
from supple.addon.worker import session
from supple.core.errors import SuppleError
from supple.core.job import Job

from .conftest import empty_file, evaluated_positions, working_here, world_positions

pytestmark = pytest.mark.usefixtures("solver")


def _under_way() -> runs.Simulation:
    """A simulation that has its first frames."""
    run = runs.Simulation(bpy.context)
    while run.step() and run.playback.last_frame < 2:
        time.sleep(runs.PAUSE_SECONDS)
    return run


def test_a_pinned_vertex_follows_its_animated_object(scene, add_body, solver_here):
    obj = add_body()
    obj.vertex_groups.new(name="Top").add([1, 3, 5, 7], 1.0, "REPLACE")
    obj.supple.pin_group = "Top"
    for frame, x in ((1, 0.0), (4, 0.03)):
        obj.location.x = x
        obj.keyframe_insert("location", frame=frame)
    rest = world_positions(obj, 1)
    actions.simulate(bpy.context)
    top = rest[:, 2] > 0
    moved = world_positions(obj, 4) - rest
    np.testing.assert_allclose(moved[top], np.tile([0.03, 0, 0], (4, 1)), atol=1e-5)
    assert np.abs(moved[~top]).max() > 1e-4


def test_a_selected_mesh_becomes_the_first_soft_body(scene, solver_here):
    scene.supple.ground_height = 0.0
    bpy.ops.mesh.primitive_cube_add(location=(0, 0, 3))
    cube = bpy.context.object
    cube.supple.resolution = 2
    assert bpy.ops.supple.simulate() == {"FINISHED"}
    assert cube.supple.enabled
    assert cube.modifiers[0].type == "MESH_CACHE"


def test_a_second_mesh_becomes_what_is_chosen(scene, add_body, solver_here):
    add_body()
    bpy.ops.mesh.primitive_plane_add(location=(0, 0, -3))
    plane = bpy.context.object
    for choice, soft, collider in (
        ("leave", False, False),
        ("ask", False, False),  # without a window there is nobody to ask
        ("collider", False, True),
        ("soft", False, True),  # it is a collider by now
    ):
        assert bpy.ops.supple.simulate(newcomers=choice) == {"FINISHED"}
        assert (plane.supple.enabled, plane.supple.collider) == (soft, collider)
    bpy.ops.mesh.primitive_cube_add(location=(0, 0, 3))
    bpy.ops.supple.simulate(newcomers="soft")
    assert bpy.context.object.supple.enabled


def test_nothing_selected_and_nothing_soft_leaves_nothing_to_simulate(scene):
    assert not bpy.ops.supple.simulate.poll()


def test_frames_are_reported_as_the_timeline_counts_them(scene, add_body, solver_loaded):
    obj = add_body()
    scene.frame_start, scene.frame_end = 100, 250
    run = runs.Simulation(bpy.context)
    assert run.describe() in ("Filling with tetrahedra", runs.PREPARING)
    while run.step() and run.playback.last_frame < 2:
        time.sleep(runs.PAUSE_SECONDS)
    shown = 100 + run.playback.last_frame
    assert run.describe() == f"Simulating frame {shown} of 250"
    assert run.cancel() == f"Cancelled after frame {shown} of 250. Simulate resumes from there."
    obj.supple.damping, scene.frame_end = 1.0, 103
    with working_here():
        assert actions.simulate(bpy.context).startswith("Simulated frames 100 to 103.")


def test_what_the_solver_says_of_a_frame_is_reported_of_the_timeline_s(
    scene, add_body, solver_here
):
    add_body()
    scene.supple.integrator, scene.supple.step_tolerance = "adaptive_midpoint", 1e-18
    scene.frame_start, scene.frame_end = 100, 105
    with pytest.raises(SuppleError, match=r"^Cube: frame 101 needs steps below"):
        actions.simulate(bpy.context)


def test_a_log_says_each_thing_once(scene, add_body, monkeypatch, solver_here):
    add_body()
    monkeypatch.setattr(runs, "LOG_SECONDS", 0.0)
    scene.frame_end = 12
    messages: list[str] = []
    actions.simulate(bpy.context, messages.append)
    assert len(messages) == len(set(messages))
    frames = [line for line in messages if line.startswith("Simulating frame")]
    assert all(line.endswith(" of 12") for line in frames)


def test_what_is_said_before_and_after_the_solver_is_prepared_is_said_once(monkeypatch):
    monkeypatch.setattr(runs, "LOG_SECONDS", 0.0)
    states, messages = ["begins", "Preparing", "begins", "step 1", "begins"], list[str]()

    class Passing:
        def step(self) -> bool:
            return bool(states)

        def describe(self) -> str:
            return states.pop(0)

        def finish(self, context: bpy.types.Context) -> str:
            return "Done."

    assert runs.complete(Passing(), bpy.context, messages.append) == "Done."
    assert messages == ["begins", "Preparing", "step 1"]


def test_a_cancelled_simulation_goes_on_where_it_stopped(scene, add_body, solver_loaded):
    obj = add_body()
    scene.frame_end = 30
    run = _under_way()
    assert run.cancel().startswith("Cancelled after frame")
    assert not session.is_running()
    positions = evaluated_positions(obj, 3)
    with working_here():
        actions.simulate(bpy.context)
    folder = mesh_cache.shown_folder(scene)
    assert folder is not None
    assert [record["frame"] for record in Job(folder).records()] == list(range(30))
    np.testing.assert_array_equal(evaluated_positions(obj, 3), positions)


def test_tetrahedra_are_shown_in_their_scene_whatever_is_in_the_window(
    scene, add_body, solver_here
):
    add_body()
    run = runs.Tetrahedralization(bpy.context)
    while run.step():
        time.sleep(runs.PAUSE_SECONDS)
    other: Any = SimpleNamespace(scene=bpy.data.scenes.new("Another"))
    run.finish(other)
    assert [obj.name for obj in scene.objects] == ["Cube", "Cube tetrahedra"]
    assert not other.scene.objects


def test_a_simulation_ends_when_its_only_body_is_none_any_more(scene, add_body, solver_loaded):
    obj = add_body()
    scene.frame_end = 250
    run = _under_way()
    obj.supple.enabled = False
    with pytest.raises(RemovedError, match=r"^Cube is not a soft body anymore\.$"):
        run.step()
    assert "resumes from there" in run.cancel()
    assert not session.is_running()


def test_a_longer_range_goes_on_from_a_shorter_one_and_back(scene, add_body, solver_here):
    obj = add_body()
    scene.frame_end = 5
    actions.simulate(bpy.context)
    folder = mesh_cache.shown_folder(scene)
    assert folder is not None
    written = Job(folder).frame_path(4).stat().st_mtime_ns
    scene.frame_end = 9
    actions.simulate(bpy.context)
    assert mesh_cache.shown_folder(scene) == folder
    assert Job(folder).last_frame() == 8
    assert Job(folder).frame_path(4).stat().st_mtime_ns == written
    scene.frame_end = 3
    assert "Already simulated" in actions.simulate(bpy.context)
    assert len(mesh_cache.read(obj)[0]) == 3


def test_a_run_goes_on_under_other_names_and_bodies_keep_their_frames(scene, add_body, solver_here):
    first, second = add_body("A"), add_body("B", location=(3, 0, 2))
    plate = add_body("C", location=(0, 0, -3))
    plate.supple.enabled, plate.supple.collider = False, True
    bpy.ops.object.effector_add(type="WIND", location=(0, 0, 9))
    actions.simulate(bpy.context)
    folder = mesh_cache.shown_folder(scene)
    assert folder is not None
    shown = [world_positions(body, 4) for body in (first, second)]
    first.name, second.name, plate.name, bpy.context.object.name = "Z", "Y", "X", "Breeze"
    assert "Already simulated" in actions.simulate(bpy.context)
    scene.frame_end = 7
    actions.simulate(bpy.context)
    assert mesh_cache.shown_folder(scene) == folder
    for body, before in zip((first, second), shown, strict=True):
        np.testing.assert_array_equal(world_positions(body, 4), before)


def test_a_body_deleted_meanwhile_leaves_the_others_to_finish(scene, add_body, solver_here):
    renamed, lost = add_body("Kept"), add_body("Lost", location=(3, 0, 0))
    run = runs.Simulation(bpy.context)
    renamed.name = "Renamed"
    bpy.data.objects.remove(lost)
    messages: list[str] = []
    assert "Not a soft body anymore: Lost." in runs.complete(run, bpy.context, messages.append)
    # How many frames are reported depends on how long they take.
    assert messages and all(message.endswith(" of 4") for message in messages)
    assert evaluated_positions(renamed, 4)[:, 2].mean() < -0.05


def test_opening_another_file_stops_the_worker(scene, add_body):
    scene.frame_end = 250
    add_body()
    run = runs.Simulation(bpy.context)
    run.step()
    assert session.is_running()
    empty_file()
    assert not session.is_running()


def test_tetrahedralize_shows_the_tets_and_their_report(scene, add_body, solver_here):
    obj = add_body(location=(1, 2, 3))
    assert bpy.ops.supple.tetrahedralize() == {"FINISHED"}
    shown = scene.objects["Cube tetrahedra"]
    points = np.array([tuple(vertex.co) for vertex in shown.data.vertices])
    assert points.mean(axis=0) == pytest.approx([1, 2, 3], abs=0.1)
    assert obj.supple.mesh_report.startswith(f"{len(shown.data.polygons) // 4} tets, quality 0.")
    assert shown.hide_render
    assert not shown.data.validate()
    assert bpy.context.object == obj
    assert bpy.ops.supple.free() == {"FINISHED"}
    assert list(scene.objects) == [obj]
    assert "Supple Preview" not in bpy.data.collections
    assert obj.supple.mesh_report == ""
