# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the studio for pictures: a backdrop, lights, a camera, and materials that look the part."""

from __future__ import annotations

import math

import bpy
from mathutils import Vector

Colour = tuple[float, float, float]

BACKDROP: Colour = (0.16, 0.36, 0.40)
RASPBERRY: Colour = (0.90, 0.07, 0.13)
LIME: Colour = (0.30, 0.62, 0.03)
ORANGE: Colour = (0.95, 0.30, 0.02)
BLUEBERRY: Colour = (0.10, 0.12, 0.70)
LEMON: Colour = (0.95, 0.70, 0.03)

#: Name, place in metres, power in watts, side in metres, colour.
LIGHTS = (
    ("Key", (-3.2, -3.6, 5.2), 420.0, 3.0, (1.0, 0.94, 0.86)),
    ("Rim", (2.6, 3.4, 3.0), 700.0, 1.6, (1.0, 0.86, 0.72)),
    ("Fill", (4.6, -3.2, 2.4), 90.0, 3.0, (0.8, 0.92, 1.0)),
)


def plain(name: str, colour: Colour) -> bpy.types.Material:
    """Dull and opaque."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = 0.5
    material.diffuse_color = (*colour, 1.0)
    return material


def label(text: str, place: tuple[float, float, float], size: float) -> None:
    """Words that stand at a place, leaning back a little, to be read from the front."""
    curve = bpy.data.curves.new(text, "FONT")
    curve.body, curve.size = text, size
    curve.align_x, curve.align_y = "CENTER", "CENTER"
    curve.materials.append(plain("Label", (0.01, 0.05, 0.06)))
    words = bpy.data.objects.new(text, curve)
    words.location, words.rotation_euler.x = place, math.radians(65.0)
    bpy.context.collection.objects.link(words)


def jelly(name: str, colour: Colour) -> bpy.types.Material:
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


def studio(
    scene: bpy.types.Scene,
    target: tuple[float, float, float],
    distance: float,
    aspect: float = 1.0,
    size: float = 1.0,
    aside: float = 0.22,
    above: float = 0.20,
) -> None:
    """Sets a scene up to be rendered.

    Args:
        target: what the camera looks at, in metres.
        distance: of the camera from it.
        aspect: width of the picture over its height.
        size: of the studio: how much further away the lights are.
        aside, above: how far to the right and above the camera stands, as shares of the distance.
    """
    _backdrop()
    world = bpy.data.worlds.new("Studio")
    world.use_nodes = True
    background = world.node_tree.nodes["Background"]
    background.inputs["Color"].default_value = (*BACKDROP, 1.0)
    background.inputs["Strength"].default_value = 0.75
    scene.world = world
    for name, location, power, side, colour in LIGHTS:
        _softbox(name, size * Vector(location), size * size * power, size * side, colour)
    _camera(scene, Vector(target), distance, aside, above)
    _cycles(scene, aspect)


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
    mesh.materials.append(plain("Backdrop", BACKDROP))
    bpy.context.collection.objects.link(bpy.data.objects.new("Backdrop", mesh))


def _softbox(name: str, location: Vector, power: float, size: float, colour: Colour) -> None:
    light = bpy.data.lights.new(name, "AREA")
    light.energy, light.size, light.color = power, size, colour
    lamp = bpy.data.objects.new(name, light)
    lamp.location = location
    lamp.rotation_euler = _facing(location, Vector((0.0, 0.0, 0.7)))
    bpy.context.collection.objects.link(lamp)


def _camera(
    scene: bpy.types.Scene, target: Vector, distance: float, aside: float, above: float
) -> None:
    data = bpy.data.cameras.new("Camera")
    data.lens = 60.0
    camera = bpy.data.objects.new("Camera", data)
    camera.location = target + distance * Vector((aside, -0.95, above)).normalized()
    camera.rotation_euler = _facing(camera.location, target)
    scene.collection.objects.link(camera)
    scene.camera = camera


def _facing(place: Vector, target: Vector) -> tuple[float, float, float]:
    return tuple((target - place).to_track_quat("-Z", "Y").to_euler())


def _cycles(scene: bpy.types.Scene, aspect: float) -> None:
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = 48
    scene.cycles.seed = 1
    scene.cycles.max_bounces = 6
    scene.cycles.use_denoising = True
    scene.render.resolution_x, scene.render.resolution_y = round(720 * aspect), 720
    scene.view_settings.view_transform = "AgX"
    scene.view_settings.look = "AgX - Medium High Contrast"
