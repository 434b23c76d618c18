# SPDX-License-Identifier: GPL-3.0-or-later
"""Intersections at the start, shown in Blender and cured there."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from supple.addon import actions, runs
from supple.addon.capture.scene import capture
from supple.addon.operators.base import WorkerOperator
from supple.addon.reports import intersections
from supple.addon.worker import session
from supple.core.errors import SuppleError
from supple.core.job import Job
from supple.core.preparation.intersection_report import IntersectingObject, IntersectionReport
from supple.core.scene.contact_settings import Contact


def report(offsets=None, **points) -> IntersectionReport:
    offenders = [
        IntersectingObject(name, np.arange(len(at)), np.array(at, dtype=float))
        for name, at in points.items()
    ]
    return IntersectionReport(offenders, offsets)


@pytest.fixture
def failed(scene, tmp_path):
    """Lets the scene's latest run have failed of something."""

    def fail(found: IntersectionReport) -> None:
        (tmp_path / "job").mkdir(exist_ok=True)
        job = Job(tmp_path / "job")
        job.write_intersections(found)
        intersections.remember(scene, job, "A intersects B.")

    yield fail
    intersections.forget()


def selected_faces(obj: bpy.types.Object) -> list[list[int]]:
    """The normals of the faces that Edit Mode shows selected."""
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.object.mode_set(mode="OBJECT")
    return [
        [round(part) for part in polygon.normal] for polygon in obj.data.polygons if polygon.select
    ]


def test_objects_and_their_faces_are_selected(scene, add_body, failed):
    lower, upper = add_body("Lower"), add_body("Upper", location=(0, 0, 0.9), scale=(2, 1, 1))
    other = add_body("Other", location=(5, 0, 0))
    scene.frame_set(3)
    failed(report(Lower=[[0.1, 0.2, 0.51]], Upper=[[0.2, 0.1, 0.38], [0.99, 0, 0.7]]))
    assert bpy.ops.supple.select_intersections() == {"FINISHED"}
    assert [obj.select_get() for obj in (lower, upper, other)] == [True, True, False]
    assert bpy.context.view_layer.objects.active == lower
    assert scene.frame_current == 3
    assert selected_faces(lower) == [[0, 0, 1]]
    assert sorted(selected_faces(upper)) == [[0, 0, -1], [1, 0, 0]]


def test_faces_are_found_where_the_object_is_at_the_start(scene, add_body):
    obj = add_body()
    scene.unit_settings.scale_length = 0.1
    for frame, x in ((1, 0.0), (4, 30.0)):
        obj.location.x = x
        obj.keyframe_insert("location", frame=frame)
    scene.frame_set(4)
    message = intersections.select(bpy.context, report(Cube=[[0.0, 0.06, 0.0]]))
    assert message == "Selected Cube and their intersecting faces. Press Tab to see the faces."
    assert selected_faces(obj) == [[0, 1, 0]]
    assert scene.frame_current == 4


def test_a_collider_is_taken_as_its_modifiers_bend_it(scene, add_body):
    obj = add_body("Wall")
    obj.supple.enabled = False
    target = bpy.data.objects.new("Target", None)
    scene.collection.objects.link(target)
    hook = obj.modifiers.new("Hook", "HOOK")
    hook.object = target
    hook.vertex_indices_set(range(8))
    target.location.x = 10.0
    intersections.select(bpy.context, report(Wall=[[10.45, 0, 0]]))
    assert selected_faces(obj) == [[1, 0, 0]]
    intersections.select(bpy.context, report(Wall=[[9.55, 0, 0]]))
    assert selected_faces(obj) == [[-1, 0, 0]]


def test_edit_mode_is_left_first(scene, add_body):
    add_body()
    bpy.ops.object.mode_set(mode="EDIT")
    intersections.select(bpy.context, report(Cube=[[0, 0, -0.5]]))
    assert bpy.context.mode == "OBJECT"
    assert selected_faces(bpy.context.object) == [[0, 0, -1]]


def test_objects_that_are_gone_are_reported(scene, add_body):
    with pytest.raises(SuppleError, match="were removed"):
        intersections.select(bpy.context, report(Gone=[[0, 0, 0]]))


def test_objects_are_pushed_apart_below_turned_and_scaled_parents(scene, add_body, failed):
    scene.unit_settings.scale_length = 0.1
    parent = bpy.data.objects.new("Parent", None)
    scene.collection.objects.link(parent)
    parent.rotation_euler, parent.scale, parent.location = (0.3, 0.2, 0.9), (2, 2, 2), (1, 2, 3)
    child, free = add_body("Child", scale=(1, 2, 3)), add_body("Free", location=(4, 0, 0))
    child.parent = parent
    child.rotation_euler = (0.1, 0.7, 0.2)
    grandchild = add_body("Grandchild")
    grandchild.parent = child
    bpy.context.view_layer.update()
    objects = [child, free, grandchild]
    before = [np.array(obj.matrix_world) for obj in objects]
    ways = {"Grandchild": (0.0, 0.0, 0.05), "Child": (0.01, 0.02, 0.03), "Free": (0.0, 0.0, -0.01)}
    failed(report(ways, Child=[[0, 0, 0]]))
    assert bpy.ops.supple.push_apart() == {"FINISHED"}
    for obj, matrix in zip(objects, before, strict=True):
        matrix[:3, 3] += 10.0 * np.array(ways[obj.name])
        np.testing.assert_allclose(np.array(obj.matrix_world), matrix, atol=1e-5)
    assert intersections.latest(scene) is None
    assert not bpy.ops.supple.push_apart.poll()


@pytest.mark.parametrize("how", ["animated", "pinned", "constrained"])
def test_what_would_not_stay_is_not_moved(scene, add_body, how):
    free, obj = add_body("Free"), add_body("Held")
    if how == "animated":
        obj.keyframe_insert("location", frame=1)
    elif how == "pinned":
        obj.vertex_groups.new(name="Top")
        obj.supple.pin_group = "Top"
    else:
        obj.constraints.new("COPY_LOCATION").target = free
    with pytest.raises(SuppleError, match="Held is"):
        intersections.push_apart(bpy.context, report({"Free": (0, 0, 1), "Held": (0, 0, 1)}))
    assert tuple(free.location) == (0, 0, 0)


def test_without_a_way_out_only_showing_is_offered(scene, add_body, failed):
    add_body()
    assert not bpy.ops.supple.select_intersections.poll()
    failed(report(Cube=[[0, 0, 0]]))
    assert bpy.ops.supple.select_intersections.poll()
    assert not bpy.ops.supple.push_apart.poll()


def test_a_failure_of_another_scene_is_not_shown(scene, add_body, failed):
    add_body()
    failed(report(Cube=[[0, 0, 0]]))
    assert intersections.latest(scene) is not None
    bpy.ops.scene.new(type="EMPTY")
    assert intersections.latest(bpy.context.scene) is None


@pytest.mark.usefixtures("solver_here")
def test_a_run_that_fails_of_it_is_shown_and_cured(scene, add_body, monkeypatch):
    def with_contact(context):
        captured = capture(context)
        return replace(captured, scene=replace(captured.scene, contact=Contact()))

    monkeypatch.setattr(runs, "capture", with_contact)
    lower, upper = add_body("Lower"), add_body("Upper", location=(0, 0, 0.2))
    scene.frame_end = 2
    with pytest.raises(SuppleError, match=r"(Lower|Upper) intersects \w+ at the start"):
        actions.tetrahedralize(bpy.context)
    failure = intersections.latest(scene)
    assert failure is not None and "Push Apart" in failure.message
    operator = SimpleNamespace(_run=SimpleNamespace(job=runs.Tetrahedralization(bpy.context).job))
    message = WorkerOperator.explain(operator, bpy.context, "Why.")
    assert re.fullmatch(
        r"Why\. Selected \w+, \w+ and their intersecting faces\. Press Tab .*\.", message
    )
    assert lower.select_get() and upper.select_get()
    session.stop()
    assert bpy.ops.supple.push_apart() == {"FINISHED"}
    assert upper.location.z > 0.9
    actions.tetrahedralize(bpy.context)
    assert intersections.latest(scene) is None
