# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyed releases, tearing, stitches, and several attachments of one body."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon.capture import fingerprint
from supple.addon.capture.scene import capture
from supple.addon.properties.object import can_hold
from supple.addon.reports import ignored, run_reports
from supple.core import Release
from supple.core.job import Job
from supple.core.scene.scene import Scene

from .refusals import refusal


def _group(obj: bpy.types.Object, name: str, *vertices: int) -> None:
    obj.vertex_groups.new(name=name).add(vertices, 1.0, "REPLACE")


@pytest.fixture
def cube(scene, add_body) -> bpy.types.Object:
    """A soft cube with the vertices 1 and 4 in the group Hold, above a plate."""
    scene.frame_end = 8
    obj = add_body()
    _group(obj, "Hold", 1, 4)
    return obj


def _plate(name: str = "Plate") -> bpy.types.Object:
    bpy.ops.mesh.primitive_plane_add(location=(0, 0, -2))
    obj = bpy.context.object
    obj.name, obj.supple.collider = name, True
    return obj


def _key(obj: bpy.types.Object, path: str, values: dict[int, float]) -> None:
    owner, _, name = f"supple.{path}".rpartition(".")
    for frame, value in values.items():
        setattr(obj.path_resolve(owner), name, value)
        obj.keyframe_insert(f"supple.{path}", frame=frame)


def _captured() -> Scene:
    return capture(bpy.context).scene


# Letting go


def test_pins_let_go_at_the_frame_where_their_switch_is_keyed_off(cube):
    cube.supple.pin_group = "Hold"
    assert _captured().bodies[0].release is None
    _key(cube, "pinned", {1: True, 5: False})
    cube.supple.pinned = True
    assert _captured().bodies[0].release == Release(frame=4)
    cube.supple.pin_force = 2.5
    assert _captured().bodies[0].release == Release(4, 2.5)


def test_pins_and_attachments_take_hold_where_they_are_keyed_on_again(cube):
    cube.supple.pin_group = "Hold"
    _key(cube, "pinned", {1: False, 3: True, 6: False, 8: True})
    cube.supple.attach_to, cube.supple.attach_group = _plate(), "Hold"
    _key(cube, "attached", {1: True, 3: False, 4: True})
    scene = _captured()
    assert scene.bodies[0].release == Release(0, again=(2, 5, 7))
    assert scene.attachments[0].release == Release(2, again=(3,))


def test_a_switch_that_is_off_throughout_holds_nothing(cube):
    cube.supple.pin_group, cube.supple.pinned = "Hold", False
    assert _captured().bodies[0].release == Release(frame=0)


def test_without_pins_there_is_nothing_to_let_go(cube):
    cube.supple.pinned, cube.supple.pin_force = False, 3.0
    assert _captured().bodies[0].release is None


def test_an_attachment_lets_go_by_its_own_switch_and_force(cube):
    cube.supple.attach_to, cube.supple.attach_group = _plate(), "Hold"
    _key(cube, "attached", {1: True, 3: False})
    cube.supple.attach_force = 7.0
    (attachment,) = _captured().attachments
    assert attachment.release == Release(2, 7.0)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({1: True, 4: False}, ""),
        ({1: False, 4: True, 6: False}, ""),
        ({1: True, 40: False}, "Pinned is keyed off at frame 40, outside the simulated"),
        ({-9: True, -5: False}, "Pinned is already keyed off at the start frame 1 and never"),
    ],
)
def test_keys_that_change_nothing_are_told(cube, keys, told):
    cube.supple.pin_group = "Hold"
    _key(cube, "pinned", keys)
    lines = [line for line in ignored.messages(bpy.context) if "Pinned" in line]
    assert len(lines) == bool(told) and all(told in line for line in lines)


def test_keys_without_pins_that_could_let_go_are_told(cube):
    _key(cube, "pinned", {1: True, 4: False})
    (line,) = ignored.messages(bpy.context)
    assert line.startswith("Cube: the keys of Pinned are ignored, since it has no Pin Group.")


# Several


def test_a_body_is_attached_to_several_others(cube, add_body):
    _group(cube, "Other", 0, 2, 3)
    cube.supple.attach_to, cube.supple.attach_group = _plate(), "Hold"
    row, empty = cube.supple.attachments.add(), cube.supple.attachments.add()
    row.attach_to, row.attach_group = add_body("A", location=(3, 0, 0)), "Other"
    empty.attach_group = "Nowhere"
    _key(cube, "attachments[0].attached", {1: True, 6: False})
    first, second = _captured().attachments
    assert (first.body, first.to, first.release) == (1, "collider", None)
    assert (second.to, second.other, second.release) == ("body", 0, Release(frame=5))
    np.testing.assert_array_equal(second.points, [0, 2, 3])
    before = fingerprint.body_fingerprint(cube)
    _key(cube, "attachments[0].attached", {7: False})
    assert fingerprint.body_fingerprint(cube) == before
    row.attach_force = 3.0
    assert fingerprint.body_fingerprint(cube) != before


def test_copies_keep_their_rows(cube):
    row = cube.supple.attachments.add()
    row.attach_to, row.attach_group = _plate(), "Hold"
    copy = cube.copy()
    assert [each.attach_group for each in copy.supple.attachments] == ["Hold"]


# Stitches


def test_vertices_are_stitched_to_another_body_as_keyed(cube, add_body):
    other = add_body("A", location=(3, 0, 0))
    props = cube.supple
    props.attach_as, props.attach_to, props.attach_group = "stitch", other, "Hold"
    _key(cube, "closed", {1: 0.0, 5: 1.0})
    scene = _captured()
    (seam,) = scene.stitches
    assert [scene.bodies[each].name for each in (seam.body, seam.other)] == ["Cube", "A"]
    assert (seam.other_points, scene.attachments) == (None, [])
    assert seam.closed.at(0) == 0.0 and 0.3 < seam.closed.at(2) < 0.7 and seam.closed.at(4) == 1.0
    _group(other, "Rim", 0, 6)
    props.stitch_group = "Rim"
    np.testing.assert_array_equal(_captured().stitches[0].other_points, [0, 6])


def test_a_seam_within_a_body(cube):
    props = cube.supple
    props.attach_as, props.attach_to, props.attach_group = "stitch", cube, "Hold"
    assert "is stitched to itself and has no Other Group" in refusal()
    _group(cube, "Edge", 4, 6)
    props.stitch_group = "Edge"
    assert "Cube: 1 vertex is on both sides of a seam, in 'Hold' and 'Edge'" in refusal()
    cube.vertex_groups["Edge"].remove([4])
    _key(cube, "attached", {1: True, 3: False, 5: True})
    (line,) = [line for line in ignored.messages(bpy.context) if "keyed on again" in line]
    assert "stitches let go for good, here at frame 3" in line
    (seam,) = _captured().stitches
    assert (seam.body, seam.other, seam.release) == (0, 0, Release(2))
    assert can_hold(props, cube) and not can_hold(props, _plate())


def test_stitches_take_soft_bodies(cube):
    props = cube.supple
    props.attach_as, props.attach_to, props.attach_group = "stitch", _plate(), "Hold"
    assert "stitched to Plate, which is not a soft body of the scene" in refusal()


# All the way


def test_a_body_that_lets_go_falls_in_blender_too(scene, cube, solver_here):
    cube.supple.pin_group, cube.supple.damping = "Hold", 0.0
    _key(cube, "pinned", {1: True, 3: False})
    bpy.ops.supple.simulate()
    (folder,) = [path.parent for path in Path(scene.supple.cache_folder).rglob("scene.json")]
    job = Job(folder)
    mass = job.tet_scene.bodies[0].mesh.lumped_mass(1.0)
    heights = [mass @ job.read_frame(frame)[:, 2] / mass.sum() for frame in range(8)]
    assert np.diff(heights[3:], 2) == pytest.approx(-9.81 / 24.0**2, rel=1e-3)
    assert [record["frame"] for record in job.records() if record.get("let_go")] == [3]
    told = run_reports.read(job, scene.frame_start).events
    assert "After frame 3, the pins of Cube let go" in told


def test_a_body_is_gripped_and_let_go_in_blender_too(scene, cube, solver_here):
    """A cube that falls past a hand is carried by it from frame 4 to frame 7."""
    hand = _plate("Hand")
    hand.location.z = -4
    cube.supple.attach_to, cube.supple.attach_group = hand, "Hold"
    cube.supple.start_settled = False
    _key(cube, "attached", {1: False, 4: True, 7: False})
    for frame, x in ((1, 0.0), (4, 0.0), (7, 0.6)):
        hand.location.x = x
        hand.keyframe_insert("location", frame=frame)
    assert ignored.messages(bpy.context) == []
    bpy.ops.supple.simulate()
    shown, hand_x = [], np.zeros(8)
    for frame in range(1, 9):
        scene.frame_set(frame)
        hand_x[frame - 1] = hand.matrix_world.translation.x
        evaluated = cube.evaluated_get(bpy.context.evaluated_depsgraph_get())
        shown.append([tuple(evaluated.data.vertices[index].co) for index in (1, 4)])
    places = np.array(shown)
    assert (np.diff(places[:4, :, 2], axis=0) < 0.0).all()
    carried = places[3:7] - places[3]
    expected = np.zeros_like(carried)
    expected[..., 0] = (hand_x[3:7] - hand_x[3])[:, None]
    np.testing.assert_allclose(carried, expected, atol=2e-5)
    assert places[7, :, 2].mean() < places[6, :, 2].mean()
    (folder,) = [path.parent for path in Path(scene.supple.cache_folder).rglob("scene.json")]
    told = run_reports.read(Job(folder), scene.frame_start).events
    assert "After frame 4, Cube, attached to Hand took hold" in told
    assert "After frame 7, Cube, attached to Hand let go" in told
