# SPDX-License-Identifier: GPL-3.0-or-later
"""What an object is modelled as and where it stands, as parts of a mark (``changes``)."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

import bpy

from .. import driving
from ..animated import animated_paths, is_animated
from ..bake import shape_keys
from ..modifiers import is_own
from . import node_marks
from .motion import may_move
from .surfaces import coordinates, polygons, vertex_coordinates

# What of a modifier can shape a mesh.
_PLAIN = {"BOOLEAN", "INT", "FLOAT", "ENUM", "STRING"}
_NOT_MODELLED = {"name", "is_active", "active", "use_pin_to_last", "set_inverse_pending"}
# How a modifier is shown.
_SHOWN = ("show_", "open_")

# What stands still of the place of those that may move, by their session_uid: it takes some 0.1 ms
# a constraint.
_carried: dict[int, list[Any]] = {}


def place(obj: bpy.types.Object) -> Iterator[Any]:
    """Where an object stands, and how large. Of one that may move, what stands still of that: its
    own part and its pose, how constraints are set, and the place of all that it follows."""
    if not may_move(obj):
        yield from _place(obj, set())
        return
    if obj.session_uid not in _carried:
        _carried[obj.session_uid] = list(_place(obj, set()))
    yield from _carried[obj.session_uid]


def forget_places() -> None:
    """For whenever Blender reports an edit."""
    _carried.clear()


def _place(obj: bpy.types.Object, seen: set[bpy.types.Object]) -> Iterator[Any]:
    if obj in seen:
        return
    seen.add(obj)
    bones = () if obj.pose is None else obj.pose.bones
    if not may_move(obj):
        for row in obj.matrix_world:
            yield from row
    elif not is_animated(obj) and obj.rigid_body is None:
        for row in obj.matrix_basis:
            yield from row
    if not is_animated(obj):
        yield from ([*map(tuple, bone.matrix_basis)] for bone in bones)
    moving = animated_paths(obj)
    for each in (*obj.constraints, *(each for bone in bones for each in bone.constraints)):
        yield each.type
        yield from _numbers(each, moving)
        for leader in _leaders(each):
            yield from _place(leader, seen)
    if obj.parent is not None:
        yield from _place(obj.parent, seen)


def led_by(obj: bpy.types.Object) -> Iterator[Any]:
    """Of what another object points to, whatever it is called: what it is, and where."""
    yield repr([obj.type, *place(obj)])
    data = obj.data
    if isinstance(data, bpy.types.Mesh):
        yield vertex_coordinates(data)
    elif isinstance(data, bpy.types.Lattice):
        yield repr([tuple(point.co_deform) for point in data.points])
    elif isinstance(data, bpy.types.Curve):
        points = (each for one in data.splines for each in (*one.points, *one.bezier_points))
        yield repr([tuple(point.co) for point in points])
    elif isinstance(data, bpy.types.Armature):
        yield repr([(tuple(bone.head_local), tuple(bone.tail_local)) for bone in data.bones])


def shape(obj: bpy.types.Object) -> Iterator[Any]:
    """What an object is modelled as, of what stands still."""
    if obj.type != "MESH":
        yield repr(obj.empty_display_size)
        return
    yield vertex_coordinates(obj.data)
    yield polygons(obj.data)
    moving = animated_paths(obj)
    for modifier in obj.modifiers:
        if modifier.type != "MESH_CACHE" and not is_own(modifier):
            shown = driving.is_shown(obj, modifier)
            yield repr([modifier.type, shown, *_numbers(modifier, moving)])
            yield from node_marks.tree_marks(_tree(modifier))
            for leader in _leaders(modifier):
                yield from led_by(leader)
    if (parent := driving.deforming_parent(obj)) is not None:
        yield from led_by(parent)
    yield from _own_keys(obj)


def _numbers(
    modifier: bpy.types.Modifier | bpy.types.Constraint, moving: Set[str]
) -> Iterator[Any]:
    """What is set of a modifier or a constraint and not animated, but for how it is shown."""
    begin = modifier.path_from_id()
    for described in modifier.bl_rna.properties:
        name = described.identifier
        if described.is_readonly or described.type not in _PLAIN or name in _NOT_MODELLED:
            continue
        if not name.startswith(_SHOWN) and f"{begin}.{name}" not in moving:
            value = getattr(modifier, name)
            yield name, list(value) if getattr(described, "is_array", False) else value
    for name, value in _inputs(modifier):
        paths = f'{begin}["{name}"]', f"{begin}.properties.inputs.{name}."
        if not isinstance(value, bpy.types.ID) and not any(p.startswith(paths) for p in moving):
            yield name, list(value) if hasattr(value, "__len__") else value


def _leaders(
    modifier: bpy.types.Modifier | bpy.types.Constraint,
) -> Iterator[bpy.types.Object]:
    """The objects that a modifier or a constraint points to."""
    pointers = (each for each in modifier.bl_rna.properties if each.type == "POINTER")
    named = [getattr(modifier, each.identifier) for each in pointers]
    named += [each.target for each in getattr(modifier, "targets", ())]
    named += node_marks.pointed_to(_tree(modifier))
    for value in (*named, *(value for _, value in _inputs(modifier))):
        if isinstance(value, bpy.types.Object):
            yield value
        elif isinstance(value, bpy.types.Collection):
            yield from value.all_objects


def _inputs(modifier: bpy.types.Modifier | bpy.types.Constraint) -> Iterator[tuple[str, Any]]:
    """Of geometry nodes, by the identifiers of their sockets."""
    tree = _tree(modifier)
    for item in () if tree is None else tree.interface.items_tree:
        if item.item_type != "SOCKET" or item.in_out != "INPUT":
            continue
        name = item.identifier
        # Blender 5.2 has them elsewhere.
        if (properties := getattr(modifier, "properties", None)) is not None:
            socket = getattr(properties.inputs, name, None)
            for part in ("value", "type", "attribute_name"):
                yield name, getattr(socket, part, None)
            continue
        for end in ("", "_use_attribute", "_attribute_name"):
            yield name + end, modifier.get(name + end)


def _tree(modifier: bpy.types.Modifier | bpy.types.Constraint) -> bpy.types.NodeTree | None:
    return modifier.node_group if modifier.type == "NODES" else None


def _own_keys(obj: bpy.types.Object) -> Iterator[Any]:
    """The user's shape keys, as they are without a bake."""
    keys, record = obj.data.shape_keys, shape_keys.record(obj)
    if keys is None or (record and not keys.use_relative):
        return
    blocks = [block for block in keys.key_blocks if not shape_keys.is_supple_key(block)]
    if len(blocks) == 1:
        return
    moving = is_animated(keys)
    yield repr(record.get("relative", keys.use_relative))
    if record.get("show_only", obj.show_only_shape_key):
        yield repr(record.get("active", obj.active_shape_key_index))
    for block in blocks:
        mute = block.mute and block.name not in record.get("muted", ())
        yield coordinates(block.points, len(block.points))
        yield repr(mute if moving else (mute, block.value))
