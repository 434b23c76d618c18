# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers of a body are read alike in another process: the same job, and so the same bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bpy

from supple.addon.capture.scene import capture
from supple.core.job import digest
from supple.tests.without_solver import WITHOUT_SOLVER

from .rigs import armature, key

READ = f"""
{WITHOUT_SOLVER}
import bpy, supple
supple.register()
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
from supple.addon.capture.scene import capture
from supple.core.job import digest
found = capture(bpy.context)
print(digest(found.scene, found.settings))
"""


def driven_body(body: bpy.types.Object) -> None:
    """Pins and goals on a rig, painted and keyed material, gas, clay, a throw."""
    hold = body.vertex_groups.new(name="Hold")
    for vertex in body.data.vertices:
        hold.add([vertex.index], 1.0 if vertex.co.z < 0.0 else 0.3, "REPLACE")
    own = body.supple
    own.pin_group = own.paint_young = own.paint_drag = "Hold"
    own.use_plasticity, own.drag, own.start_velocity = True, 0.5, (0.1, 0.2, 0.3)
    for path, values in (("young", (1e5, 3e4)), ("pressure", (0.0, 50.0)), ("pinned", (1, 0))):
        for frame, value in zip((1, 4), values, strict=True):
            setattr(own, path, value)
            body.keyframe_insert(f"supple.{path}", frame=frame)
    armature(body)


def surroundings(scene: bpy.types.Scene) -> None:
    """Fields that a moving wall absorbs, a fluid, gravity and time that change, and pre-roll."""
    for kind in ("WIND", "TURBULENCE", "VORTEX"):
        bpy.ops.object.effector_add(type=kind, location=(-2.0, 0.3, 0.0), rotation=(0.0, 1.2, 0.0))
        field = bpy.context.object.field
        field.strength, field.noise, field.seed, field.use_absorption = 5.0, 0.5, 7, True
    bpy.ops.mesh.primitive_plane_add(location=(-1.0, 0.0, 0.0), rotation=(0.0, 1.5, 0.0))
    bpy.ops.object.modifier_add(type="COLLISION")
    wall = bpy.context.object
    wall.collision.absorption, wall.supple.collider = 0.7, True
    key(wall, "location", ((-1, 0, 0), (-1, 0.5, 0), (-1, 1, 0)))
    own = scene.supple
    own.use_fluid, own.fluid_level, own.pre_roll, own.use_ground = True, 0.2, 2, False
    for frame, pace, pull in ((1, 1.0, -9.81), (4, 0.5, 2.0)):
        own.time_scale, scene.gravity[2] = pace, pull
        scene.keyframe_insert("supple.time_scale", frame=frame)
        scene.keyframe_insert("gravity", frame=frame)


def test_a_file_with_all_that_drives_is_the_same_job_in_a_process_without_the_solver(
    scene, add_body, tmp_path: Path
) -> None:
    scene.frame_end = 4
    driven_body(add_body())
    surroundings(scene)
    path = tmp_path / "driven.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    found = capture(bpy.context)
    body = found.scene.bodies[0]
    assert body.skin is not None and body.skin.goals is not None
    assert body.plasticity is not None and body.release is not None
    assert len(found.scene.forces) == 4 and len(found.scene.absorbers) == 1
    command = [sys.executable, "-c", READ, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split()[-1] == digest(found.scene, found.settings)
