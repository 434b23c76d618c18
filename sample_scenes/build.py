# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the sample scenes: ``python -m supple.sample_scenes.build``, or in Blender's own Python.

Saved with the oldest Blender that Supple supports, so that all later ones open them.
"""

from __future__ import annotations

import math
from pathlib import Path

import bpy
from mathutils import Vector

FOLDER = Path(__file__).resolve().parent

Colour = tuple[float, float, float]

BACKDROP: Colour = (0.16, 0.36, 0.40)
RASPBERRY: Colour = (0.90, 0.07, 0.13)
LIME: Colour = (0.30, 0.62, 0.03)


def build_all(folder: Path = FOLDER) -> list[Path]:
    """Writes every sample scene into ``folder``."""
    return [
        build_jelly_drop(folder / "jelly_drop.blend"),
        build_suspended_monkey(folder / "suspended_monkey.blend"),
    ]


def build_jelly_drop(path: Path) -> Path:
    """The monkey, made of jelly, falls on the ground."""
    scene = _empty_scene(frames=60)
    monkey = _monkey(scene, "Jelly Monkey", _jelly("Raspberry Jelly", RASPBERRY))
    monkey.location = (0.0, 0.0, 1.55)
    monkey.rotation_euler = [math.radians(angle) for angle in (-22.0, 9.0, 18.0)]
    _make_soft(monkey, young=4e4, damping=0.8, resolution=18)
    _studio(scene, target=(0.0, 0.0, 0.93), distance=4.9)
    return _save(path)


def build_suspended_monkey(path: Path) -> Path:
    """The monkey hangs by its ears and wobbles under its own weight."""
    scene = _empty_scene(frames=96)
    monkey = _monkey(scene, "Suspended Monkey", _jelly("Lime Jelly", LIME))
    monkey.location = (0.0, 0.0, 1.5)
    _pin_ears(monkey)
    _make_soft(monkey, young=2.5e5, damping=0.4, resolution=18)
    monkey.supple.pin_group = "Pins"
    scene.supple.use_ground = False
    _studio(scene, target=(0.0, 0.0, 1.25), distance=5.2)
    return _save(path)


# The body


def _monkey(scene: bpy.types.Scene, name: str, material: bpy.types.Material) -> bpy.types.Object:
    bpy.ops.mesh.primitive_monkey_add(size=1.3)
    monkey = bpy.context.object
    monkey.name = monkey.data.name = name
    # Once into the mesh, for a smooth skin to simulate, and once more for the picture.
    subdivision = monkey.modifiers.new("Subdivision", "SUBSURF")
    subdivision.levels = 1
    bpy.ops.object.modifier_apply(modifier=subdivision.name)
    finer = monkey.modifiers.new("Subdivision", "SUBSURF")
    finer.levels = finer.render_levels = 1
    monkey.data.shade_smooth()
    monkey.data.materials.append(material)
    return monkey


def _make_soft(monkey: bpy.types.Object, *, young: float, damping: float, resolution: int) -> None:
    soft = monkey.supple
    soft.enabled = True
    soft.young = young
    soft.poisson = 0.45
    soft.density = 1000.0
    soft.damping = damping
    soft.resolution = resolution


def _pin_ears(monkey: bpy.types.Object) -> None:
    """A vertex group of the outer two thirds of the ears."""
    group = monkey.vertex_groups.new(name="Pins")
    reach = max(vertex.co.x for vertex in monkey.data.vertices)
    ears = [v.index for v in monkey.data.vertices if abs(v.co.x) > 0.8 * reach]
    group.add(ears, 1.0, "REPLACE")


# The picture


def _jelly(name: str, colour: Colour) -> bpy.types.Material:
    """Light goes into it, scatters, and comes out glowing; a thin gloss lies on top."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = 0.22
    shader.inputs["IOR"].default_value = 1.36
    shader.inputs["Subsurface Weight"].default_value = 1.0
    shader.inputs["Subsurface Radius"].default_value = tuple(0.25 + part for part in colour)
    shader.inputs["Subsurface Scale"].default_value = 0.35
    shader.inputs["Transmission Weight"].default_value = 0.6
    shader.inputs["Coat Weight"].default_value = 0.6
    shader.inputs["Coat Roughness"].default_value = 0.06
    material.diffuse_color = (*colour, 1.0)
    return material


def _studio(scene: bpy.types.Scene, target: tuple[float, float, float], distance: float) -> None:
    _backdrop()
    world = bpy.data.worlds.new("Studio")
    world.use_nodes = True
    background = world.node_tree.nodes["Background"]
    background.inputs["Color"].default_value = (*BACKDROP, 1.0)
    background.inputs["Strength"].default_value = 0.75
    scene.world = world
    _softbox("Key", location=(-3.2, -3.6, 5.2), power=420.0, size=3.0, colour=(1.0, 0.94, 0.86))
    _softbox("Rim", location=(2.6, 3.4, 3.0), power=700.0, size=1.6, colour=(1.0, 0.86, 0.72))
    _softbox("Fill", location=(4.6, -3.2, 2.4), power=90.0, size=3.0, colour=(0.8, 0.92, 1.0))
    _camera(scene, Vector(target), distance)
    _cycles(scene)


def _backdrop() -> None:
    """The ground, which bends up into a wall far behind."""
    profile = [(-12.0, 0.0), (5.0, 0.0)]
    angles = (math.radians(90.0 * step / 24) for step in range(1, 25))
    profile += [(5.0 + 4.0 * math.sin(a), 4.0 - 4.0 * math.cos(a)) for a in angles]
    profile.append((9.0, 14.0))
    vertices = [(x, y, z) for y, z in profile for x in (-20.0, 20.0)]
    quads = [(2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2) for i in range(len(profile) - 1)]
    mesh = bpy.data.meshes.new("Backdrop")
    mesh.from_pydata(vertices, [], quads)
    mesh.shade_smooth()
    material = bpy.data.materials.new("Backdrop")
    material.use_nodes = True
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*BACKDROP, 1.0)
    shader.inputs["Roughness"].default_value = 0.5
    mesh.materials.append(material)
    bpy.context.collection.objects.link(bpy.data.objects.new("Backdrop", mesh))


def _softbox(
    name: str,
    *,
    location: tuple[float, float, float],
    power: float,
    size: float,
    colour: Colour,
) -> None:
    light = bpy.data.lights.new(name, "AREA")
    light.energy, light.size, light.color = power, size, colour
    lamp = bpy.data.objects.new(name, light)
    lamp.location = location
    lamp.rotation_euler = _facing(Vector(location), Vector((0.0, 0.0, 0.7)))
    bpy.context.collection.objects.link(lamp)


def _camera(scene: bpy.types.Scene, target: Vector, distance: float) -> None:
    data = bpy.data.cameras.new("Camera")
    data.lens = 60.0
    camera = bpy.data.objects.new("Camera", data)
    camera.location = target + distance * Vector((0.22, -0.95, 0.20)).normalized()
    camera.rotation_euler = _facing(camera.location, target)
    scene.collection.objects.link(camera)
    scene.camera = camera


def _facing(place: Vector, target: Vector) -> tuple[float, float, float]:
    return tuple((target - place).to_track_quat("-Z", "Y").to_euler())


def _cycles(scene: bpy.types.Scene) -> None:
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = 48
    scene.cycles.seed = 1
    scene.cycles.max_bounces = 6
    scene.cycles.use_denoising = True
    scene.render.resolution_x = scene.render.resolution_y = 720
    scene.view_settings.view_transform = "AgX"
    scene.view_settings.look = "AgX - Medium High Contrast"


# The file


def _empty_scene(frames: int) -> bpy.types.Scene:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    _register()
    scene = bpy.context.scene
    scene.render.fps = 24
    scene.frame_start, scene.frame_end = 1, frames
    scene.frame_set(1)
    return scene


def _register() -> None:
    from .. import register

    if not hasattr(bpy.types.Object, "supple"):
        register()


def _save(path: Path) -> Path:
    bpy.context.preferences.filepaths.save_version = 0
    bpy.ops.object.select_all(action="DESELECT")
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True, relative_remap=False)
    return path


if __name__ == "__main__":
    for path in build_all():
        print(path)
