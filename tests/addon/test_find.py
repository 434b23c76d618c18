# SPDX-License-Identifier: GPL-3.0-or-later
"""The solver's results for an artist, from the settings to the changed values."""

from __future__ import annotations

import time
from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon import actions, ids, runs
from supple.addon.capture.fingerprint import body_fingerprint
from supple.addon.capture.scene import capture
from supple.addon.fits import fit_run
from supple.addon.fits.fit_run import Fit
from supple.addon.fits.table import TOOLS
from supple.addon.fits.tool import length
from supple.addon.panels.body import SUPPLE_PT_goals
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.reports import ignored
from supple.core.errors import SuppleError
from supple.core.job import fits
from supple.core.preparation.prepared import prepare
from supple.core.scene.rest_shape import TetRestShape

from .conftest import world_positions
from .layout import drawn


@pytest.fixture
def cube(scene, add_body):
    """Soft and small, in the air, by steps that have gradients."""
    scene.supple.contact, scene.supple.integrator = "never", "implicit_euler"
    body = add_body(location=(0, 0, 1))
    body.supple.young, body.supple.damping = 3e4, 0.0
    return body


@pytest.fixture
def held(cube):
    """Pin the upper half, so that the body hangs."""
    group = cube.vertex_groups.new(name="Top")
    group.add([v.index for v in cube.data.vertices if v.co.z > 0], 1.0, "REPLACE")
    cube.supple.pin_group, cube.supple.young = "Top", 8e3
    return cube


def target(place: tuple[float, ...]) -> bpy.types.Object:
    empty = bpy.data.objects.new("Goal", None)
    bpy.context.scene.collection.objects.link(empty)
    empty.location = place
    return empty


def left_folders() -> set[Path]:
    import tempfile

    return set(Path(tempfile.gettempdir()).glob("supple-fit-*"))


def drop(body: bpy.types.Object) -> float:
    """The largest distance of a vertex from its modelled position, a frame after the start."""
    actions.simulate(bpy.context)
    start = np.array([body.matrix_world @ v.co for v in body.data.vertices])
    return float(np.abs(world_positions(body, 2) - start).max())


def test_a_body_that_keeps_its_shape_does_not_droop(scene, held, solver_here):
    """With the default integrator and contact of a scene."""
    scene.supple.property_unset("contact")
    scene.supple.property_unset("integrator")
    assert drop(held) > 2e-3
    marks, before = body_fingerprint(held), held.data.vertices[0].co.copy()
    message = actions.find(bpy.context, held, "keep_shape")
    assert message.startswith("Cube keeps its shape") and held.data.vertices[0].co == before
    assert held.supple.rest_shape == "kept" and body_fingerprint(held) != marks
    assert drop(held) < 2e-5
    held.supple.rest_shape = "modelled"
    assert capture(bpy.context).scene.bodies[0].tet_rest_shape is None


def test_what_was_found_goes_with_the_object_its_copy_and_its_file(scene, held, tmp_path):
    own = capture(bpy.context)
    mesh = prepare(own.scene)[0].bodies[0].mesh
    rest = mesh.vertices * (1.0, 1.0, 0.9)
    found = fits.KeptShape(TetRestShape(mesh.vertices, mesh.tets, rest), 0.0)
    TOOLS["keep_shape"].apply(held, own, 0, found)
    held.location.x += 2.0
    assert held.copy().supple.kept_shape == bpy.data.meshes["Cube at rest"]
    path = str(tmp_path / "kept.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    again = capture(bpy.context).scene.bodies[0].tet_rest_shape
    np.testing.assert_allclose(again.rest, rest + np.array([2.0, 0, 0]), atol=1e-6)
    np.testing.assert_array_equal(again.tets, mesh.tets)


def test_another_filling_takes_the_rest_shape_over_and_a_turned_one_is_refused(scene, held):
    from supple.addon.fits.table import TOOLS

    own = capture(bpy.context)
    mesh = prepare(own.scene)[0].bodies[0].mesh
    for factor in (0.9, -0.9):
        rest = mesh.vertices * (1.0, 1.0, factor)
        found = fits.KeptShape(TetRestShape(mesh.vertices, mesh.tets, rest), 0.0)
        held.supple.resolution = 2
        TOOLS["keep_shape"].apply(held, own, 0, found)
        held.supple.resolution = 3
        if factor < 0.0:
            with pytest.raises(SuppleError, match=r"inside out.*Keep This Shape again"):
                prepare(capture(bpy.context).scene)
            continue
        body = prepare(capture(bpy.context).scene)[0].bodies[0]
        assert len(body.mesh.vertices) > len(mesh.vertices)
        wanted = body.initial_positions * (1.0, 1.0, 0.9)
        np.testing.assert_allclose(body.mesh.vertices, wanted, atol=1e-6)


def test_kept_without_anything_found_is_as_modelled_and_said(scene, held):
    held.supple.rest_shape = "kept"
    assert capture(bpy.context).scene.bodies[0].tet_rest_shape is None
    assert any("there is no kept shape yet" in line for line in ignored.messages(bpy.context))


def test_a_throw_hits_an_empty(scene, cube, solver_here):
    cube.supple.fit_target, cube.supple.fit_frame = target((1.5, 0.4, 1.2)), 4
    cube.supple.start_from_animation = True
    before = left_folders()
    message = actions.find(bpy.context, cube, "hit_target")
    assert message.startswith("Cube hits the target")
    assert not cube.supple.start_from_animation and left_folders() == before
    actions.simulate(bpy.context)
    middle = world_positions(cube, 4).mean(axis=0)
    np.testing.assert_allclose(middle, (1.5, 0.4, 1.2), atol=0.01)
    texts = [text for _, text in drawn(SUPPLE_PT_goals, cube).texts]
    assert " ".join(texts).endswith(message)


def test_a_throw_hits_after_a_bounce(scene, cube, solver_here):
    scene.supple.integrator, scene.supple.substeps, scene.frame_end = "bdf2", 2, 12
    scene.supple.ground_height = 0.0
    place = (0.28, 0.04, 0.78)
    cube.supple.young, cube.supple.start_velocity = 2e5, (1.5, 0.0, -4.0)
    cube.supple.fit_target, cube.supple.fit_frame = target(place), 12
    run = Fit(bpy.context, cube, "hit_target")
    assert "hits the target" in runs.complete(run, bpy.context)
    assert len(run.losses) <= 30
    actions.simulate(bpy.context)
    lowest = min(world_positions(cube, frame)[:, 2].min() for frame in range(1, 13))
    assert lowest < 0.03
    away = world_positions(cube, 12).mean(axis=0) - place
    # Of the size of the cube, which is farther than it goes.
    assert np.linalg.norm(away) < 0.012 * 3.0**0.5


def test_what_is_not_hit_is_said_with_how_near_it_came_and_what_would_help(scene, cube):
    own, apply = capture(bpy.context), TOOLS["hit_target"].apply
    found = fits.FoundThrow((1.0, 0.0, 2.0), (0.0, 0.0, 0.0), 0.31, hits=False)
    assert apply(cube, own, 0, found).startswith(
        "Cube misses the target by at least 0.31 m. Choose another frame"
    )
    assert tuple(cube.supple.start_velocity) == (1.0, 0.0, 2.0)
    found = fits.FoundThrow((1.0, 0.0, 2.0), (0.0, 0.0, 0.0), 1e-3, True, set_distance=0.5)
    assert "Throws like the one under Start miss by at least 0.5 m" in apply(cube, own, 0, found)


@pytest.mark.parametrize(("metres", "within"), [(1.2e-18, ""), (1.2e-3, " to within 1.2 mm")])
def test_how_near_a_throw_comes_is_told_where_it_is_more_than_rounding(cube, metres, within):
    found = fits.FoundThrow((3.0, 0.0, 0.0), (0.0, 0.0, 0.0), metres, hits=True)
    message = TOOLS["hit_target"].apply(cube, capture(bpy.context), 0, found)
    assert message == f"Cube hits the target{within}, thrown with 3 m/s. Simulate to see it."
    assert length(1.2e-18) == "0 mm"


def test_a_target_is_asked_for_before_its_frame(scene, cube):
    cube.supple.fit_frame = 900
    with pytest.raises(SuppleError, match="has no target in this scene"):
        Fit(bpy.context, cube, "hit_target")


def test_a_throw_of_what_is_pinned_is_refused(scene, held, solver_here):
    held.supple.fit_target, held.supple.fit_frame = target((1.0, 0.0, 1.0)), 3
    held.supple.fit_group, before = "Top", body_fingerprint(held)
    with pytest.raises(SuppleError, match=r"Cube: its position at frame 3 does not .*Release"):
        actions.find(bpy.context, held, "hit_target")
    assert body_fingerprint(held) == before and tuple(held.supple.start_velocity) == (0.0, 0.0, 0.0)


def test_a_group_may_be_what_hits(scene, cube, solver_here):
    cube.vertex_groups.new(name="Corner").add([7], 1.0, "REPLACE")
    corner = cube.matrix_world @ cube.data.vertices[7].co
    props = cube.supple
    props.fit_target, props.fit_frame = target((corner.x + 0.3, corner.y, corner.z)), 3
    props.fit_group, props.fit_spin = "Corner", True
    assert "hits the target" in actions.find(bpy.context, cube, "hit_target")
    actions.simulate(bpy.context)
    reached = world_positions(cube, 3)[7]
    np.testing.assert_allclose(reached, (corner.x + 0.3, corner.y, corner.z), atol=0.01)


def test_the_stiffness_of_a_shape_is_found(scene, held, solver_here):
    held.supple.young = 2e4
    actions.simulate(bpy.context)
    shown = bpy.data.meshes.new_from_object(
        held.evaluated_get(bpy.context.evaluated_depsgraph_get())
    )
    points = world_positions(held, 4)
    for vertex, place in zip(shown.vertices, points, strict=True):
        vertex.co = place
    shape = bpy.data.objects.new("Wanted", shown)
    scene.collection.objects.link(shape)
    props = held.supple
    props.young, props.fit_shape, props.fit_first, props.fit_last = 8e3, shape, 4, 4
    message = actions.find(bpy.context, held, "match_shape")
    assert props.young == pytest.approx(2e4, rel=0.02) and "Stiffness 2e+04 Pa" in message


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "has no target in this scene"),
        ({"fit_frame": 9}, "the frame of the target is 9, and frames 2 to 4 are simulated"),
        ({"fit_group": "None"}, "no vertex group 'None' to reach the target"),
        ({"start_shape": "run"}, "choose another Shape under Start"),
    ],
)
def test_bad_requests_are_refused_before_anything_starts(scene, cube, settings, reason):
    cube.supple.fit_frame = 3
    if settings:
        cube.supple.fit_target = target((1.0, 0.0, 1.0))
    for name, value in settings.items():
        setattr(cube.supple, name, value)
    if "start_shape" in settings:
        cube.supple.start_shape = "rest"
        cube.supple.start_shape = "run"
    before = left_folders()
    with pytest.raises(SuppleError, match=reason if "start_shape" not in settings else "run"):
        Fit(bpy.context, cube, "hit_target")
    assert left_folders() == before


def test_shapes_that_do_not_fit_are_refused(scene, cube):
    bpy.ops.mesh.primitive_plane_add()
    cube.supple.fit_shape, cube.supple.fit_first, cube.supple.fit_last = bpy.context.object, 2, 3
    with pytest.raises(SuppleError, match="Plane has 4 vertices, and Cube has 8"):
        Fit(bpy.context, cube, "match_shape")
    cube.supple.fit_first, cube.supple.fit_last = 3, 2
    with pytest.raises(SuppleError, match="comes before its first"):
        Fit(bpy.context, cube, "match_shape")
    cube.supple.fit_first = 2
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    cube.supple.fit_shape = bpy.context.object
    bpy.context.object.data.vertices[5].co.x = float("nan")
    with pytest.raises(SuppleError, match=r"Cube.001: vertex 5 is not at finite .* frame 2"):
        Fit(bpy.context, cube, "match_shape")
    cube.supple.fit_shape = None
    with pytest.raises(SuppleError, match="no shape to match"):
        Fit(bpy.context, cube, "match_shape")


def test_nothing_is_sought_for_a_hidden_body(scene, cube, add_body):
    add_body("Other", location=(3, 0, 0))
    cube.hide_set(True)
    with pytest.raises(SuppleError, match=r"^Cube is a hidden soft body and is not"):
        Fit(bpy.context, cube, "hit_target")


def test_a_target_that_is_nowhere_is_refused(scene, cube):
    cube.supple.fit_target, cube.supple.fit_frame = target((float("nan"), 0.0, 1.0)), 3
    with pytest.raises(SuppleError, match="Goal is not at finite coordinates at frame 3"):
        Fit(bpy.context, cube, "hit_target")


def test_what_the_solver_refuses_is_said_and_the_scene_stays(scene, cube, solver_here):
    scene.supple.ground_response, before = "projection", left_folders()
    cube.supple.fit_shape = bpy.data.objects.new("Wanted", cube.data.copy())
    scene.collection.objects.link(cube.supple.fit_shape)
    cube.supple.fit_first = cube.supple.fit_last = 3
    with pytest.raises(SuppleError, match="no gradients through a bouncy ground"):
        actions.find(bpy.context, cube, "match_shape")
    assert left_folders() == before and cube.supple.young == 3e4


def test_a_search_that_is_cancelled_half_way_changes_nothing(
    scene, cube, solver_loaded, monkeypatch
):
    scene.frame_end, scene.supple.ground_height = 20, 0.0
    cube.supple.fit_target, cube.supple.fit_frame = target((0.5, 0.0, -9.0)), 20
    cube.supple.start_velocity = (0.5, 0.0, 0.0)
    marks = body_fingerprint(cube)
    run = Fit(bpy.context, cube, "hit_target")
    monkeypatch.setattr(runs, "current", run)
    end = time.monotonic() + 300.0
    while not run.losses and run.step() and time.monotonic() < end:
        time.sleep(0.02)
    assert run.losses and "step 1" in run.describe() and 0.0 < run.progress() < 1.0
    texts = [text for _, text in drawn(SUPPLE_PT_main, cube).texts]
    assert "Press Esc to cancel. Nothing changes then." in texts
    begun = time.monotonic()
    assert "Nothing was changed" in run.cancel()
    # Under a second, but where much else runs.
    assert time.monotonic() - begun < 3.0
    assert body_fingerprint(cube) == marks and tuple(cube.supple.start_velocity) == (0.5, 0.0, 0.0)
    assert not run.job.folder.exists()


def test_the_loss_is_plotted_from_high_to_low():
    picture = fit_run.pixels((1.0, 0.1, 0.001))
    curve = (picture[..., 2] > 0.9) & (picture[..., 0] < 0.5)
    rows = [np.flatnonzero(curve[:, column]) for column in (20, 128, 236)]
    assert rows[0].min() > rows[1].max() > rows[2].max()
    assert picture.shape == (256, 256, 4) and (picture[..., 3] == 1.0).all()
    assert np.isfinite(fit_run.pixels((0.0, 0.0))).all()


def test_each_tool_has_its_button(cube, monkeypatch):
    monkeypatch.setattr(fit_run, "latest", None)
    shown = drawn(SUPPLE_PT_goals, cube)
    assert shown.buttons == [ids.FIND] * 4
    assert shown.settings == [
        *("fit_target", "fit_frame", "fit_group", "fit_spin"),
        *("fit_shape", "fit_first", "fit_last"),
        *("fit_by", "fit_keyed_group"),
    ]


def test_one_undo_takes_back_what_was_found(scene, cube, solver_here):
    cube.supple.fit_target, cube.supple.fit_frame = target((1.0, 0.0, 1.0)), 3
    bpy.context.view_layer.objects.active = cube
    bpy.ops.ed.undo_push(message="Before")
    bpy.ops.supple.find(tool="hit_target")
    bpy.ops.ed.undo_push(message="Find")
    assert cube.supple.start_velocity.x > 5.0
    bpy.ops.ed.undo()
    assert tuple(bpy.data.objects["Cube"].supple.start_velocity) == (0.0, 0.0, 0.0)
