# SPDX-License-Identifier: GPL-3.0-or-later
"""Follow My Keys, from keyframes to frames that pass through them."""

from __future__ import annotations

import tempfile

import bpy
import numpy as np
import pytest

from supple.addon import actions, ids
from supple.addon.capture import control
from supple.addon.capture.control import keyed_frames
from supple.addon.capture.fingerprint import body_fingerprint
from supple.addon.capture.scene import capture
from supple.addon.fits import fit_run
from supple.addon.fits.fit_run import Fit
from supple.addon.fits.table import TOOLS
from supple.addon.panels.body import SUPPLE_PT_goals
from supple.addon.reports import ignored
from supple.core.errors import SuppleError
from supple.core.job import fits
from supple.core.preparation.prepared import prepare
from supple.core.scene.channel import Channel
from supple.core.scene.rest_shape import TetControl

from .conftest import world_positions
from .layout import drawn
from .test_find import left_folders


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """Other programs on the machine leave folders of their own in the common one."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def cube(scene, add_body):
    """Soft and small, in the air, led by keys at frames 1, 3 and 4."""
    scene.supple.contact, scene.supple.integrator = "never", "implicit_euler"
    body = add_body(location=(0, 0, 1))
    body.supple.young, body.supple.damping, body.supple.resolution = 3e4, 0.0, 2
    for frame, x, angle in ((1, 0.0, 0.0), (3, 0.2, 0.3), (4, 0.3, 0.0)):
        body.location.x, body.rotation_euler.z = x, angle
        body.keyframe_insert("location", frame=frame)
        body.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(1)
    return body


def keyed_place(body: bpy.types.Object, frame: int) -> np.ndarray:
    """The positions of its vertices by its animation."""
    bpy.context.scene.frame_set(frame)
    return np.array([body.matrix_world @ v.co for v in body.data.vertices])


def size(body: bpy.types.Object) -> float:
    return float(np.linalg.norm(body.dimensions))


def control_of(body: bpy.types.Object, by: str = "forces") -> TetControl:
    """Gives it a control of three frames, of every vertex its own, without any search."""
    own = capture(bpy.context)
    mesh = prepare(own.scene)[0].bodies[0].mesh
    samples = np.arange(9.0 * len(mesh.vertices)).reshape(3, -1, 3) / 10.0
    control = TetControl(mesh.vertices, mesh.tets, by, Channel(samples))
    found = fits.FoundControl(control, 2.0, 0.001, 3, 0.001, True)
    message = TOOLS["follow_keys"].apply(body, own, 0, found)
    assert "passes through its keys, within 1 mm" in message
    return control


def test_frames_pass_through_the_keys_and_one_button_lets_go(scene, cube, solver_here):
    marks, before = body_fingerprint(cube), left_folders()
    message = actions.find(bpy.context, cube, "follow_keys")
    assert message.startswith("Cube passes through its keys, within") and "forces of" in message
    assert body_fingerprint(cube) != marks and left_folders() == before
    actions.simulate(bpy.context)
    for frame in (3, 4):
        away = world_positions(cube, frame) - keyed_place(cube, frame)
        assert np.linalg.norm(away, axis=1).max() < 0.011 * size(cube)
    shown = drawn(SUPPLE_PT_goals, cube)
    assert ids.REMOVE_CONTROL in shown.buttons and ("CHECKMARK", "Its forces act") in shown.texts
    bpy.context.view_layer.objects.active = cube
    bpy.ops.supple.remove_control()
    assert (
        body_fingerprint(cube) == marks and capture(bpy.context).scene.bodies[0].tet_control is None
    )
    assert ids.REMOVE_CONTROL not in drawn(SUPPLE_PT_goals, cube).buttons


def test_pins_swing_the_rest_to_its_keys(scene, cube, solver_here):
    cube.animation_data_clear()
    for frame, x in ((1, 0.0), (4, 0.1)):
        cube.location.x = x
        cube.keyframe_insert("location", frame=frame)
    top, corner = [v.index for v in cube.data.vertices if v.co.z > 0], 0
    assert corner not in top
    cube.vertex_groups.new(name="Top").add(top, 1.0, "REPLACE")
    cube.vertex_groups.new(name="Corner").add([corner], 1.0, "REPLACE")
    props = cube.supple
    props.young, props.pin_group, props.fit_by, props.fit_keyed_group = 2e5, "Top", "pins", "Corner"
    assert "moving its pins" in actions.find(bpy.context, cube, "follow_keys")
    actions.simulate(bpy.context)
    away = np.linalg.norm(world_positions(cube, 4) - keyed_place(cube, 4), axis=1)
    assert away[corner] < 0.011 * size(cube) and away[top].max() > 1e-3
    props.pin_group = ""
    assert capture(bpy.context).scene.bodies[0].tet_control is None
    assert any("the pin motion" in line for line in ignored.messages(bpy.context))


def test_what_was_found_goes_with_the_object_its_copy_and_its_file(scene, cube, tmp_path):
    control = control_of(cube)
    turned = cube.copy()
    assert turned.supple.kept_control == cube.supple.kept_control
    for curve in [*cube.animation_data.action.layers[0].strips[0].channelbags[0].fcurves]:
        curve.mute = True
    cube.rotation_euler, cube.scale = (0.0, 0.0, np.pi / 2), (2.0, 2.0, 2.0)
    path = str(tmp_path / "kept.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    again = capture(bpy.context).scene.bodies[0].tet_control
    assert again.by == "forces"
    np.testing.assert_array_equal(again.tets, control.tets)
    x, y, z = 2.0 * np.moveaxis(control.channel.samples, 2, 0)
    np.testing.assert_allclose(again.channel.samples, np.stack([-y, x, z], axis=2), atol=1e-4)


def test_a_scene_in_other_units_is_driven_in_metres(scene, cube):
    scene.unit_settings.system, scene.unit_settings.scale_length = "METRIC", 0.1
    control = control_of(cube)
    again = capture(bpy.context).scene.bodies[0].tet_control
    np.testing.assert_allclose(again.vertices, control.vertices, atol=1e-6)
    np.testing.assert_allclose(again.channel.samples, control.channel.samples, atol=1e-5)


def test_keys_of_shapes_rigs_and_parents_count_once_and_others_do_not(scene, cube):
    cube.shape_key_add(name="Basis")
    key = cube.shape_key_add(name="Squashed")
    key.keyframe_insert("value", frame=2.6)
    cube.hide_render = True
    cube.keyframe_insert("hide_render", frame=9)
    cube.supple.keyframe_insert("pressure", frame=8)
    empty = bpy.data.objects.new("Parent", None)
    scene.collection.objects.link(empty)
    cube.parent = empty
    empty.keyframe_insert("location", frame=5)
    assert keyed_frames(cube) == [1, 3, 4, 5]
    rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    scene.collection.objects.link(rig)
    cube.modifiers.new("Armature", "ARMATURE").object = rig
    rig.keyframe_insert("location", frame=7)
    assert keyed_frames(cube) == [1, 3, 4, 5, 7]
    key.keyframe_insert("value", frame=6)
    assert keyed_frames(cube) == [1, 3, 4, 5, 6, 7]


def test_shape_keys_and_turns_are_what_the_search_is_asked_for(scene, cube):
    cube.shape_key_add(name="Basis")
    key = cube.shape_key_add(name="Raised")
    key.data[0].co.z += 0.5
    for frame, value in ((3, 0.0), (4, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    own = capture(bpy.context)
    from supple.addon.fits.tool import Question

    _, wanted = TOOLS["follow_keys"].ask(Question(bpy.context, cube, own, 0))
    assert wanted.frames.tolist() == [2, 3] and wanted.points is None and wanted.by == "forces"
    there = keyed_place(cube, 4)
    there[0] = cube.matrix_world @ key.data[0].co
    np.testing.assert_allclose(wanted.shapes[1], there, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("clear", "Cube has no keys to follow. Key its location"),
        ("early", "Cube only has keys at frame 1, and the simulation starts at frame 1"),
        ("late", "the frame of a key is 9, and frames 2 to 4 are simulated"),
        ("group", "no vertex group 'None' to follow the keys"),
        ("empty", "no vertex has a weight above 0.5 in the group 'Empty'"),
        ("pins", "Cube has no pins to move. Choose a Pin Group, or Forces"),
    ],
)
def test_what_cannot_be_followed_is_refused_before_anything_starts(scene, cube, change, reason):
    if change in ("clear", "early"):
        cube.animation_data_clear()
    if change == "early":
        cube.keyframe_insert("location", frame=1)
    if change == "late":
        cube.keyframe_insert("location", frame=9)
    if change == "group":
        cube.supple.fit_keyed_group = "None"
    if change == "empty":
        cube.vertex_groups.new(name="Empty")
        cube.supple.fit_keyed_group = "Empty"
    if change == "pins":
        cube.supple.fit_by = "pins"
    before = left_folders()
    with pytest.raises(SuppleError, match=reason):
        Fit(bpy.context, cube, "follow_keys")
    assert left_folders() == before


def test_keys_under_the_ground_are_told_by_how_far_and_what_would_help(scene, cube):
    own = capture(bpy.context)
    control = control_of(cube)
    found = fits.FoundControl(control, 2.0, 0.21, 3, 0.2, False)
    message = TOOLS["follow_keys"].apply(cube, own, 0, found)
    assert "misses its keys by at least 0.21 m, at frame 4" in message
    assert "keep keys away from the ground" in message and "Forces" not in message


def test_one_undo_takes_back_what_was_found(scene, cube, solver_here):
    bpy.context.view_layer.objects.active = cube
    bpy.ops.ed.undo_push(message="Before")
    bpy.ops.supple.find(tool="follow_keys")
    bpy.ops.ed.undo_push(message="Find")
    assert control.kept_by(cube) == "forces" and fit_run.latest.losses[0] > 0.0
    bpy.ops.ed.undo()
    assert control.kept_by(bpy.data.objects["Cube"]) == ""


def test_keys_that_only_force_can_follow_are_no_unused_animation(scene, cube):
    def unused() -> bool:
        return any(
            "only its pins, and it has no Pin Group" in m for m in ignored.messages(bpy.context)
        )

    assert unused()
    assert not any("its pins" in m for m in ignored.messages(bpy.context, followed=cube))
    control_of(cube)
    assert not unused()
