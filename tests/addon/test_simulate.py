# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations by a real worker, as a script or ``blender -b`` runs them."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon import actions, playback, runs, session
from supple.core.job import Job

from .conftest import evaluated_positions, world_positions

pytestmark = pytest.mark.usefixtures("solver")


def test_a_pinned_vertex_follows_its_animated_object(scene, add_body):
    obj = add_body()
    obj.vertex_groups.new(name="Top").add([1, 3, 5, 7], 1.0, "REPLACE")
    obj.supple.pin_group = "Top"
    for frame, x in ((1, 0.0), (4, 0.03)):
        obj.location.x = x
        obj.keyframe_insert("location", frame=frame)
    rest = world_positions(obj, 1)
    said: list[str] = []
    actions.simulate(bpy.context, said.append)
    top = rest[:, 2] > 0
    moved = world_positions(obj, 4) - rest
    np.testing.assert_allclose(moved[top], np.tile([0.03, 0, 0], (4, 1)), atol=1e-5)
    assert np.abs(moved[~top]).max() > 1e-4
    assert said[0] == "Filling with tetrahedra"


def test_a_cancelled_simulation_goes_on_where_it_stopped(scene, add_body):
    obj = add_body()
    scene.frame_end = 30
    run = runs.Simulation(bpy.context)
    while run.step() and run.playback.last_frame < 2:
        pass
    assert run.cancel().startswith("Cancelled after frame")
    assert not session.is_running()
    kept = evaluated_positions(obj, 3)
    actions.simulate(bpy.context)
    folder = playback.shown_folder(scene)
    assert folder is not None
    assert [record["frame"] for record in Job(folder).records()] == list(range(30))
    np.testing.assert_array_equal(evaluated_positions(obj, 3), kept)


def test_a_longer_range_goes_on_from_a_shorter_one_and_back(scene, add_body):
    obj = add_body()
    scene.frame_end = 5
    actions.simulate(bpy.context)
    folder = playback.shown_folder(scene)
    assert folder is not None
    written = Job(folder).frame_path(4).stat().st_mtime_ns
    scene.frame_end = 9
    actions.simulate(bpy.context)
    assert playback.shown_folder(scene) == folder
    assert Job(folder).last_frame() == 8
    assert Job(folder).frame_path(4).stat().st_mtime_ns == written
    scene.frame_end = 3
    assert "Nothing has changed" in actions.simulate(bpy.context)
    assert len(playback.read(obj)[0]) == 3


def test_a_body_deleted_meanwhile_leaves_the_others_to_finish(scene, add_body):
    kept, lost = add_body("Kept"), add_body("Lost", location=(3, 0, 0))
    run = runs.Simulation(bpy.context)
    kept.name = "Renamed"
    bpy.data.objects.remove(lost)
    assert "No soft body any more: Lost." in runs.complete(run, bpy.context)
    assert evaluated_positions(kept, 4)[:, 2].mean() < -0.05


def test_opening_another_file_stops_the_worker(scene, add_body):
    scene.frame_end = 250
    add_body()
    run = runs.Simulation(bpy.context)
    run.step()
    assert session.is_running()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert not session.is_running()


def test_tetrahedralize_shows_the_tets_and_their_report(scene, add_body):
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
