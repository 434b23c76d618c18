# SPDX-License-Identifier: GPL-3.0-or-later
"""Set up the scenes in the open Blender file: bodies are dropped, or squeezed between two plates.

All settings are those that a new soft body gets, but for the stiffness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import bpy
import numpy as np
from mathutils import Vector

from supple.sample_scenes.colliders import as_collider, move
from supple.sample_scenes.studio import plain

from .shapes import SHAPES, Points, Shape, shape

Action = Literal["drop", "squeeze"]

ACTIONS: tuple[Action, ...] = ("drop", "squeeze")
#: Percent that a column as high as the body is long sinks by under its own weight.
SAGS = (5, 15, 40)
GRAVITY = 9.81
FRAMES = 40
#: That of Blender where nobody changed it, in kg/m³.
DENSITY = 1000.0
FALL_M = 0.6
#: Shares of the body's width, or of its height where it is above the ground.
PLATE_GAP, SQUEEZE, PLATE_THICKNESS, HEIGHT = 0.03, 0.4, 0.4, 0.01
#: Frames at which the plates begin to close, are closed, begin to open and are open.
PLATE_FRAMES = (3, 19, 25, 35)
FINER = 3
COLOUR = (0.75, 0.25, 0.12)
PLATE_COLOUR = (0.55, 0.53, 0.5)


@dataclass(frozen=True)
class Scenario:
    """A scene: a body, and what happens to it.

    Args:
        body: a name among ``SHAPES``.
        sag: in percent.
        is_reference: at three times the resolution.
    """

    body: str
    action: Action
    sag: int
    is_reference: bool = False

    @property
    def name(self) -> str:
        return f"{self.body}, {self.action}, {self.sag} %"

    @property
    def young(self) -> float:
        """In Pa, of a column whose weight shortens it by half its length times ρ g over it."""
        length = float(shape(self.body).size.max())
        return float(f"{DENSITY * GRAVITY * length / (0.02 * self.sag):.2g}")


SCENARIOS = tuple(
    Scenario(body, action, sag) for body in SHAPES for action in ACTIONS for sag in SAGS
)


@dataclass(frozen=True)
class Stage:
    """The objects of a scene that was built."""

    body: bpy.types.Object
    plates: tuple[bpy.types.Object, ...]


def build(scenario: Scenario, frames: int = FRAMES) -> Stage:
    """Empties Blender and builds a scene in it; the add-on has to be registered."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene, made = bpy.context.scene, shape(scenario.body)
    scene.render.fps = 24
    scene.frame_start, scene.frame_end = 1, 1 + frames
    body = _soft_body(scenario, made)
    plates: tuple[bpy.types.Object, ...] = ()
    if scenario.action == "drop":
        body.location.z = FALL_M
    else:
        body.location.z = HEIGHT * made.size[2]
        plates = (_plate("Left Plate", -1.0, made), _plate("Right Plate", 1.0, made))
    if scenario.is_reference:
        body.supple.resolution *= FINER
    return Stage(body, plates)


def _soft_body(scenario: Scenario, made: Shape) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(scenario.body)
    vertices, faces = made.cage or (made.vertices, made.quads.tolist())
    mesh.from_pydata(vertices.tolist(), [], faces)
    mesh.shade_smooth()
    mesh.materials.append(plain("Skin", COLOUR))
    body = bpy.data.objects.new(scenario.body, mesh)
    bpy.context.collection.objects.link(body)
    if made.levels:
        modifier = body.modifiers.new("Subdivision", "SUBSURF")
        modifier.levels = modifier.render_levels = made.levels
    bpy.context.view_layer.objects.active = body
    body.select_set(True)
    bpy.ops.supple.add()
    body.supple.young = scenario.young
    return body


def _plate(name: str, side: float, made: Shape) -> bpy.types.Object:
    """A slab beside the body, larger than it, that comes and goes along x."""
    width, depth, height = (float(part) for part in made.size)
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    plate = bpy.context.object
    plate.name = plate.data.name = name
    size = Vector((PLATE_THICKNESS * width, 1.7 * depth, 1.4 * height))
    for vertex in plate.data.vertices:
        vertex.co = vertex.co * size
    as_collider(plate, PLATE_COLOUR)
    plate.data.shade_flat()
    open_at = (0.5 + PLATE_GAP + 0.5 * PLATE_THICKNESS) * width
    closed_at = (0.5 - 0.5 * SQUEEZE + 0.5 * PLATE_THICKNESS) * width
    places = zip(PLATE_FRAMES, (open_at, closed_at, closed_at, open_at), strict=True)
    # Above the ground, which it would else meet.
    middle = 0.5 * float(size.z) + 0.02 * height
    move(plate, [(frame, (side * x, 0.0, middle)) for frame, x in places])
    return plate


def plate_bounds(plate: bpy.types.Object) -> tuple[Points, Points]:
    """Lowest and highest corner in the world at the current frame."""
    corners = np.array([plate.matrix_world @ vertex.co for vertex in plate.data.vertices])
    return corners.min(axis=0), corners.max(axis=0)
