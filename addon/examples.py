# SPDX-License-Identifier: GPL-3.0-or-later
"""Example scenes, made in the open file beside its objects."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import bmesh
import bpy
from mathutils import Matrix, Vector

from ..core.materials.presets import PRESETS
from .properties import jiggling, presets
from .units import metres_per_unit

Colour = tuple[float, float, float]

_RED, _ORANGE, _GREEN, _BLUE = (
    (0.8, 0.1, 0.15),
    (0.9, 0.4, 0.05),
    (0.2, 0.6, 0.15),
    (0.1, 0.25, 0.8),
)
_GREY = (0.5, 0.5, 0.5)
# The distance to objects already in the file, in metres.
_GAP = 3.0
_COLLECTION = "Supple Example"


@dataclass(frozen=True)
class Builder:
    """Makes the objects of an example, with lengths in metres.

    Args:
        context: the context of the scene that gets them.
        collection: the collection to link them to.
        place: the point of the example's middle on the ground.
    """

    context: bpy.types.Context
    collection: bpy.types.Collection
    place: Vector

    def add(
        self, name: str, mesh: bmesh.types.BMesh, at: tuple[float, float, float], colour: Colour
    ) -> bpy.types.Object:
        """Make an object of a mesh, with a plain material."""
        unit = metres_per_unit(self.context.scene)
        data = bpy.data.meshes.new(name)
        mesh.transform(Matrix.Scale(1.0 / unit, 4))
        mesh.to_mesh(data)
        mesh.free()
        material = bpy.data.materials.new(name)
        material.diffuse_color = (*colour, 1.0)
        data.materials.append(material)
        obj = bpy.data.objects.new(name, data)
        obj.location = (self.place + Vector(at)) / unit
        self.collection.objects.link(obj)
        return obj

    def key(self, obj: bpy.types.Object, path: str, values: dict[int, float], index: int) -> None:
        """Key one number of an object's location or rotation, frames counted from the first one."""
        for frame, value in values.items():
            getattr(obj, path)[index] = value
            first = self.context.scene.frame_start
            obj.keyframe_insert(path, index=index, frame=first + frame)

    def height(self, metres: float) -> float:
        """A height above the ground of the example, in Blender units."""
        return (self.place.z + metres) / metres_per_unit(self.context.scene)

    def preset(self, obj: bpy.types.Object, name: str) -> None:
        """Give a body the look of a real material."""
        presets.apply_to_size(self.context.scene, obj, PRESETS[name])


@dataclass(frozen=True)
class Example:
    """A scene to learn from.

    Args:
        label: for the menu.
        tip: the tooltip.
        build: makes its objects, and returns those that become soft.
        finish: sets up the soft bodies.
    """

    label: str
    tip: str
    build: Callable[[Builder], list[bpy.types.Object]]
    finish: Callable[[Builder, list[bpy.types.Object]], None]


def _ball(radius: float, detail: int = 4) -> bmesh.types.BMesh:
    mesh = bmesh.new()
    bmesh.ops.create_icosphere(mesh, subdivisions=detail, radius=radius)
    _smooth(mesh)
    return mesh


def _smooth(mesh: bmesh.types.BMesh) -> None:
    for face in mesh.faces:
        face.smooth = True


def _box(x: float, y: float, z: float, cuts: int = 0) -> bmesh.types.BMesh:
    mesh = bmesh.new()
    bmesh.ops.create_cube(mesh, size=1.0)
    if cuts:
        bmesh.ops.subdivide_edges(mesh, edges=mesh.edges[:], cuts=cuts, use_grid_fill=True)
    mesh.transform(Matrix.Diagonal((x, y, z, 1.0)))
    return mesh


def _pudding() -> bmesh.types.BMesh:
    """A box with a round section that is narrower at the top."""
    mesh = _box(1.0, 1.0, 0.7, cuts=9)
    for vertex in mesh.verts:
        side = max(abs(vertex.co.x), abs(vertex.co.y))
        length = math.hypot(vertex.co.x, vertex.co.y)
        scale = (1.0 - 0.4 * (vertex.co.z + 0.35)) * (side / length if length else 1.0)
        vertex.co.x, vertex.co.y = scale * vertex.co.x, scale * vertex.co.y
    _smooth(mesh)
    return mesh


def _jelly(builder: Builder) -> list[bpy.types.Object]:
    plate = builder.add("Plate", _box(1.8, 1.8, 0.1, cuts=3), (0.0, 0.0, 0.05), _GREY)
    plate.supple.collider = True
    return [builder.add("Jelly", _pudding(), (0.0, 0.0, 1.2), _RED)]


def _wobble(builder: Builder, bodies: list[bpy.types.Object]) -> None:
    for body in bodies:
        builder.preset(body, "gelatine_dessert")


def _head(builder: Builder) -> list[bpy.types.Object]:
    mesh = bmesh.new()
    bmesh.ops.create_monkey(mesh)
    _smooth(mesh)
    head = builder.add("Head", mesh, (0.0, 0.0, 1.2), _ORANGE)
    turns = {0: 0.0, 10: 1.2, 20: -1.2, 30: 1.2, 40: 0.0}
    builder.key(head, "rotation_euler", turns, index=2)
    return []


def _jiggle(builder: Builder, bodies: list[bpy.types.Object]) -> None:
    heads = [obj for obj in builder.collection.objects if obj.type == "MESH"]
    jiggling.let_jiggle(builder.context, heads, jiggling.Jiggle(3.0, 1.0, 1.0))


def _balloon(builder: Builder) -> list[bpy.types.Object]:
    balloon = builder.add("Balloon", _ball(0.5), (0.0, 0.0, 0.8), _BLUE)
    walls = balloon.modifiers.new("Wall", "SOLIDIFY")
    walls.thickness = 0.08 / metres_per_unit(builder.context.scene)
    return [balloon]


def _inflate(builder: Builder, bodies: list[bpy.types.Object]) -> None:
    first = builder.context.scene.frame_start
    for body in bodies:
        body.supple.use_target_volume = True
        for frame, volume in ((0, 1.0), (40, 3.0)):
            body.supple.target_volume = volume
            body.supple.keyframe_insert("target_volume", frame=first + frame)


def _boxes(builder: Builder) -> list[bpy.types.Object]:
    boxes = []
    for level, colour in enumerate((_RED, _ORANGE, _GREEN, _BLUE)):
        at = (0.03 * math.sin(2.0 * level), 0.03 * math.cos(2.0 * level), 0.35 + 0.7 * level)
        boxes.append(builder.add("Box", _box(0.6, 0.6, 0.6, cuts=5), at, colour))
        boxes[-1].rotation_euler.z = 0.1 * level
    return boxes


def _soften(builder: Builder, bodies: list[bpy.types.Object]) -> None:
    for body in bodies:
        builder.preset(body, "marshmallow")
        body.supple.resolution = 6


def _clay(builder: Builder) -> list[bpy.types.Object]:
    press = builder.add("Press", _box(1.6, 1.6, 0.1, cuts=3), (0.0, 0.0, 1.6), _GREY)
    press.supple.collider = True
    heights = {0: 1.6, 20: 0.5, 32: 0.5, 48: 1.6}
    values = {frame: builder.height(height) for frame, height in heights.items()}
    builder.key(press, "location", values, index=2)
    return [builder.add("Clay", _ball(0.5), (0.0, 0.0, 0.52), _ORANGE)]


def _harden(builder: Builder, bodies: list[bpy.types.Object]) -> None:
    for body in bodies:
        builder.preset(body, "clay")


def _bouncing(builder: Builder) -> list[bpy.types.Object]:
    colours = (_RED, _GREEN, _BLUE)
    return [
        builder.add("Ball", _ball(0.35), (0.9 * (index - 1), 0.0, 2.0), colour)
        for index, colour in enumerate(colours)
    ]


def _bounce(builder: Builder, bodies: list[bpy.types.Object]) -> None:
    for body, name in zip(bodies, ("rubber", "silicone", "foam"), strict=True):
        builder.preset(body, name)
        body.supple.resolution = 7


EXAMPLES = {
    "jelly": Example("Jelly on a Plate", "A pudding falls on a plate and wobbles", _jelly, _wobble),
    "jiggle": Example(
        "Jiggling Head", "An animated head with secondary motion on top", _head, _jiggle
    ),
    "balloon": Example(
        "Balloon", "A ball with thin walls is blown up by a keyed target volume", _balloon, _inflate
    ),
    "boxes": Example("Stack of Boxes", "Soft boxes fall on each other", _boxes, _soften),
    "clay": Example(
        "Clay", "A press squashes a ball of clay, which stays squashed", _clay, _harden
    ),
    "balls": Example(
        "Bouncing Balls",
        "Rubber, silicone and foam bounce to different heights",
        _bouncing,
        _bounce,
    ),
}


def builder(context: bpy.types.Context) -> Builder:
    """Make a collection for an example, beside all visible meshes of the scene."""
    collection = bpy.data.collections.new(_COLLECTION)
    context.scene.collection.children.link(collection)
    scene, unit = context.scene, metres_per_unit(context.scene)
    shown = [obj for obj in scene.objects if obj.type == "MESH" and obj.visible_get()]
    corners = [obj.matrix_world @ Vector(corner) for obj in shown for corner in obj.bound_box]
    x = max((unit * corner.x + _GAP for corner in corners), default=0.0)
    z = unit * scene.supple.ground_height if scene.supple.use_ground else 0.0
    return Builder(context, collection, Vector((x, 0.0, z)))
