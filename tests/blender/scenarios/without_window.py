# SPDX-License-Identifier: GPL-3.0-or-later
"""With many drivers of a body, the button and a Blender without a window give the same bits."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

ADDON = "bl_ext.user_default.supple.addon"
LAST = 8


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.use_ground = LAST, False
    with ui.context():
        _pin_to_a_bone(cube)
        _key_material(cube)
        _blow()
    scene.supple.cache_folder = str(ui.work / "button")
    file = ui.work / "driven.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    with ui.context("UI"):
        bpy.ops.supple.simulate("INVOKE_DEFAULT")
    running = importlib.import_module(f"{ADDON}.worker.session").is_running
    yield from ui.wait_for(lambda: not running(), "the end of the simulation", 240)
    yield from ui.screenshot("simulated")
    (pressed,) = (ui.work / "button").iterdir()
    headless = _simulated_without_window(file, ui.work / "headless")
    assert headless.name == pressed.name
    frames = sorted(path.name for path in (pressed / "frames").iterdir())
    assert len(frames) >= LAST
    for name in frames:
        assert _bytes(headless, name) == _bytes(pressed, name), name
    assert _bytes(pressed, frames[0]) != _bytes(pressed, frames[-1])


def _pin_to_a_bone(cube: bpy.types.Object) -> None:
    """Its lower side follows a bone that turns, its upper side is drawn after it."""
    cube.supple.enabled, cube.supple.resolution = True, 4
    group = cube.vertex_groups.new(name="Bone")
    group.add(range(8), 1.0, "REPLACE")
    hold = cube.vertex_groups.new(name="Hold")
    for vertex in cube.data.vertices:
        hold.add([vertex.index], 1.0 if vertex.co.z < 0.0 else 0.3, "REPLACE")
    cube.supple.pin_group = "Hold"
    bpy.ops.object.armature_add(location=(0.0, 0.0, -1.0))
    rig = bpy.context.object
    bone = rig.pose.bones["Bone"]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (4, 0.4), (LAST, -0.3)):
        bone.rotation_euler = (angle, 0.5 * angle, 0.0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    cube.modifiers.new("Armature", "ARMATURE").object = rig


def _key_material(cube: bpy.types.Object) -> None:
    for frame, young, pressure in ((1, 1e5, 0.0), (LAST, 3e4, 2e3)):
        cube.supple.young, cube.supple.pressure = young, pressure
        for name in ("young", "pressure"):
            cube.supple.keyframe_insert(name, frame=frame)


def _blow() -> None:
    for kind, strength in (("WIND", 5.0), ("TURBULENCE", 3.0)):
        bpy.ops.object.effector_add(type=kind, location=(-2.0, 0.3, 0.0), rotation=(0.0, 1.2, 0.0))
        field = bpy.context.object.field
        field.strength, field.noise, field.seed = strength, 0.5, 7


def _simulated_without_window(file: Path, cache: Path) -> Path:
    """The job folder, which is the last line that is printed."""
    command = [bpy.app.binary_path, "-b", str(file), "--command", "supple", "simulate"]
    done = subprocess.run(
        [*command, "--cache", str(cache)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1])


def _bytes(job: Path, frame: str) -> bytes:
    return (job / "frames" / frame).read_bytes()
