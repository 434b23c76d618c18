# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs that move a mesh in Blender, each in curves rather than straight on."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

Rig = Callable[[bpy.types.Object], object]


def key(data: bpy.types.ID, name: str, values: tuple[object, ...]) -> None:
    """Keys of a property at frames 1, 3 and 5."""
    for frame, value in zip((1, 3, 5), values, strict=True):
        setattr(data, name, value)
        data.keyframe_insert(name, frame=frame)


def bone() -> bpy.types.Object:
    """An armature whose bone turns and moves."""
    bpy.ops.object.armature_add(location=(0.1, 0.2, -0.5))
    armature = bpy.context.object
    pose = armature.pose.bones[0]
    pose.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.2), (3, 0.9), (5, -0.3)):
        pose.rotation_euler = (angle, 0.5 * angle, 0.0)
        pose.keyframe_insert("rotation_euler", frame=frame)
        pose.location.x = 0.1 * angle
        pose.keyframe_insert("location", frame=frame)
    return armature


def armature(obj: bpy.types.Object) -> None:
    rig = bone()
    obj.vertex_groups.new(name=rig.pose.bones[0].name).add([0, 2, 4, 5], 0.8, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = rig


def armature_parent(obj: bpy.types.Object) -> None:
    obj.parent = bone()
    obj.vertex_groups.new(name=obj.parent.pose.bones[0].name).add([1, 3, 5], 1.0, "REPLACE")
    obj.parent_type = "ARMATURE"


def shape_keys(obj: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")
    block = obj.shape_key_add(name="Wide", from_mix=False)
    for point in block.points:
        point.co = (2.0 * point.co.x, point.co.y, point.co.z + 0.3)
    key(block, "value", (0.0, 1.0, 0.2))


def lattice(obj: bpy.types.Object) -> None:
    bpy.ops.object.add(type="LATTICE")
    cage = bpy.context.object
    cage.scale = (1.5, 1.5, 1.5)
    key(cage, "rotation_euler", ((0, 0, 0), (0.4, 0.2, 0.1), (0.1, 0.6, 0.0)))
    for point in cage.data.points:
        point.co_deform.x += 0.2 * point.co_deform.z
    obj.modifiers.new("Lattice", "LATTICE").object = cage


def hook(obj: bpy.types.Object) -> None:
    bpy.ops.object.empty_add(location=(0.0, 0.0, 0.5))
    hand = bpy.context.object
    bpy.context.view_layer.update()
    modifier = obj.modifiers.new("Hook", "HOOK")
    modifier.object = hand
    modifier.vertex_indices_set([1, 3, 5])
    key(hand, "location", ((0, 0, 0.5), (0.5, 0.2, 0.9), (0.1, 0.8, 0.4)))


def geometry_nodes(obj: bpy.types.Object) -> None:
    """Moves vertices by the sine of their height and of time."""
    tree = bpy.data.node_groups.new("Sway", "GeometryNodeTree")
    for in_out in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=in_out, socket_type="NodeSocketGeometry")
    kinds = {
        "start": "NodeGroupInput",
        "end": "NodeGroupOutput",
        "move": "GeometryNodeSetPosition",
        "time": "GeometryNodeInputSceneTime",
        "sine": "ShaderNodeMath",
        "offset": "ShaderNodeCombineXYZ",
    }
    nodes = {name: tree.nodes.new(kind) for name, kind in kinds.items()}
    nodes["sine"].operation = "SINE"
    for source, target in (
        (nodes["start"].outputs[0], nodes["move"].inputs["Geometry"]),
        (nodes["move"].outputs[0], nodes["end"].inputs[0]),
        (nodes["time"].outputs["Seconds"], nodes["sine"].inputs[0]),
        (nodes["sine"].outputs[0], nodes["offset"].inputs[0]),
        (nodes["offset"].outputs[0], nodes["move"].inputs["Offset"]),
    ):
        tree.links.new(source, target)
    obj.modifiers.new("Sway", "NODES").node_group = tree


def uneven_parent(obj: bpy.types.Object) -> None:
    """A parent that turns and grows, unevenly, and so shears a child that is turned."""
    bpy.ops.object.empty_add(location=(1, 2, 3))
    parent = bpy.context.object
    obj.parent = parent
    obj.rotation_euler = (0.5, 0.3, 0.1)
    key(parent, "rotation_euler", ((0, 0, 0), (0.5, 0.4, 0.3), (0.9, 0.1, 0.3)))
    key(parent, "scale", ((1.5, 0.7, 1.0), (1.0, 0.6, 2.0), (0.7, 1.0, 1.0)))


def driver(obj: bpy.types.Object) -> None:
    """The object turns by what another's place makes of it, and a shape key opens by the same."""
    bpy.ops.object.empty_add()
    hand = bpy.context.object
    key(hand, "location", ((0, 0, 0), (1, 0, 0), (0.2, 0, 0)))
    obj.shape_key_add(name="Basis")
    block = obj.shape_key_add(name="Tall", from_mix=False)
    for point in block.points:
        point.co.z *= 1.5
    for driven, expression in (
        (obj.driver_add("rotation_euler", 0), "sin(x)"),
        (block.driver_add("value"), "x * x"),
    ):
        driven.driver.expression = expression
        variable = driven.driver.variables.new()
        variable.name = "x"
        variable.targets[0].id = hand
        variable.targets[0].data_path = "location[0]"


def constraint(obj: bpy.types.Object) -> None:
    """Turned towards what moves, and carried by a curve's parameter."""
    bpy.ops.curve.primitive_bezier_circle_add(radius=2.0)
    way = bpy.context.object
    bpy.ops.object.empty_add()
    target = bpy.context.object
    key(target, "location", ((1, 0, 3), (1, 2, 0), (-2, 2, 1)))
    follow = obj.constraints.new("FOLLOW_PATH")
    follow.target, follow.use_fixed_location = way, True
    for frame, offset in ((1, 0.0), (3, 0.3), (5, 0.4)):
        follow.offset_factor = offset
        follow.keyframe_insert("offset_factor", frame=frame)
    obj.constraints.new("TRACK_TO").target = target


def path_parent(obj: bpy.types.Object) -> None:
    """A curve that carries its children along."""
    bpy.ops.curve.primitive_nurbs_path_add(radius=2.0)
    way = bpy.context.object.data
    way.use_path = True
    key(way, "eval_time", (0.0, 30.0, 40.0))
    obj.parent = bpy.context.object


def mdd_cache(obj: bpy.types.Object) -> None:
    modifier = obj.modifiers.new("Point Cache", "MESH_CACHE")
    modifier.filepath = str(_file("points.mdd"))
    modifier.cache_format, modifier.frame_start = "MDD", 1.0
    frames = _waves(obj)
    # Numbers of frames and points, the times, the points; big endian.
    data = struct.pack(">2i", *frames.shape[:2])
    data += np.arange(len(frames), dtype=">f4").tobytes() + frames.astype(">f4").tobytes()
    _file("points.mdd").write_bytes(data)


def pc2_cache(obj: bpy.types.Object) -> None:
    """Two samples a frame."""
    modifier = obj.modifiers.new("Point Cache", "MESH_CACHE")
    modifier.filepath = str(_file("points.pc2"))
    modifier.cache_format, modifier.time_mode = "PC2", "FACTOR"
    frames = _waves(obj)
    head = struct.pack("<12siiffi", b"POINTCACHE2\0", 1, frames.shape[1], 0.0, 0.5, len(frames))
    _file("points.pc2").write_bytes(head + frames.astype("<f4").tobytes())
    for frame, factor in ((1, 0.0), (3, 0.6), (5, 1.0)):
        modifier.eval_factor = factor
        modifier.keyframe_insert("eval_factor", frame=frame)


def alembic_cache(obj: bpy.types.Object) -> None:
    """The deformation by an armature, from a file."""
    path = str(_file("points.abc"))
    armature(obj)
    for other in bpy.context.selected_objects:
        other.select_set(False)
    obj.select_set(True)
    bpy.ops.wm.alembic_export(filepath=path, start=1, end=5, gsamples=2, selected=True)
    obj.modifiers.clear()
    bpy.ops.cachefile.open(filepath=path)
    modifier = obj.modifiers.new("Alembic", "MESH_SEQUENCE_CACHE")
    modifier.cache_file = bpy.data.cache_files[-1]
    modifier.object_path = f"/{obj.name}/{obj.data.name}"


def _file(name: str) -> Path:
    return Path(bpy.app.tempdir) / name


def _waves(obj: bpy.types.Object) -> NDArray[np.float64]:
    """(9, V, 3) an object's vertices, each going its own way."""
    points = np.array([tuple(vertex.co) for vertex in obj.data.vertices])
    return np.stack([points + 0.3 * np.sin(0.7 * time + 2.0 * points) for time in range(9)])


RIGS: dict[str, Rig] = {
    "armature": armature,
    "armature as a parent": armature_parent,
    "shape keys": shape_keys,
    "lattice": lattice,
    "hook": hook,
    "geometry nodes": geometry_nodes,
    "uneven parent": uneven_parent,
    "driver": driver,
    "constraint": constraint,
    "path as a parent": path_parent,
    "MDD cache": mdd_cache,
    "PC2 cache": pc2_cache,
    "Alembic cache": alembic_cache,
}
