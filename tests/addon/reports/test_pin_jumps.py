# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins that teleport are reported before the run, and are what frames that fail are blamed on."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.capture.scene import capture
from supple.addon.reports import pin_jumps, step_report

from ..conftest import set_linear


@pytest.fixture
def pinned(scene, add_body):
    scene.frame_start, scene.frame_end = 11, 20
    cube = add_body()
    cube.vertex_groups.new(name="Pins").add([0, 1, 2, 3], 1.0, "REPLACE")
    cube.supple.pin_group = "Pins"
    return cube


def _key(obj: bpy.types.Object, name: str, *values: tuple[int, object]) -> None:
    for frame, value in values:
        setattr(obj, name, value)
        obj.keyframe_insert(name, frame=frame)
    set_linear(obj)


def test_a_teleport_is_reported_with_its_frame_and_the_cure(pinned):
    _key(pinned, "location", (11, (0, 0, 0)), (14, (0, 0, 0)), (15, (5, 0, 0)))
    (line,) = pin_jumps.messages(capture(bpy.context))
    assert line.startswith("Cube: its pins jump by 5 m from frame 14 to 15. The solver follows")
    assert "begin another simulation at frame 15." in line


def test_a_turn_and_a_wall_are_named(pinned):
    _key(pinned, "rotation_euler", (14, (0, 0, 0)), (15, (0, 0, 3.14159)))
    (line,) = pin_jumps.messages(capture(bpy.context))
    assert line.startswith("Cube: its pins turn by 180° from frame 14 to 15")
    pinned.animation_data_clear()
    pinned.rotation_euler = (0, 0, 0)
    bpy.ops.mesh.primitive_plane_add(size=20, location=(2, 0, 0), rotation=(0, 1.5708, 0))
    wall = bpy.context.object
    wall.name, wall.supple.collider = "Wall", True
    _key(pinned, "location", (14, (0, 0, 0)), (15, (5, 0, 0)))
    (line,) = pin_jumps.messages(capture(bpy.context))
    assert "jump by 5 m, through Wall, from frame 14 to 15" in line


def test_frames_of_a_teleport_are_not_blamed_on_substeps(pinned, play):
    _key(pinned, "location", (14, (0, 0, 0)), (15, (5, 0, 0)))
    job, _ = play(2)
    for frame in range(10):
        job.append_record(
            {"frame": frame, "integrator": "Implicit Euler", "converged": frame not in (4, 8)}
        )
    warning = step_report.read(job, 11).warning
    assert "1 frame did not reach the tolerance, since pins teleport" in warning
    assert "1 frame did not reach the tolerance: more substeps help" in warning
