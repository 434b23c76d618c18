# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingerprint of the data that capture reads, to find changes since a simulation.

A fingerprint lists digests of the settings, and of each object that a body, collider or force field
follows: its place, its shape and its keyframes. Values that are animated are left out, since they
differ from frame to frame. Everything but the settings is read again only when Blender's dependency
graph reports an edit of one of these objects, so drawing panels and playing frames cost nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import bpy
import numpy as np

from .. import driving
from ..animated import acts_on_input, animated_paths, animated_settings, curves_of, is_animated
from ..bake import shape_keys
from ..modifiers import is_own
from ..settings.object import ATTACHMENT, OBJECT
from ..settings.scene import SCENE
from ..start_runs import name_of
from ..units import animation_frames, metres_per_unit
from . import control, rest_shape
from .attachments import rows_of
from .force_fields import (
    FLOW_CHOICE,
    OTHER_NAMES,
    SETTINGS,
    absorbs,
    acts,
    has_keyed_absorption,
    is_absorbed,
)
from .motion import may_move
from .objects import is_soft_body
from .paint import attribute_values, can_paint, painted
from .surfaces import coordinates, group_weights, polygons, vertex_coordinates

Parts = dict[str, Any]

#: Parts of a fingerprint that hold a digest for each setting, and for each object that is followed.
SETTINGS_PART, FOLLOWED_PART = "settings", "followed"

_TABLES = {"SuppleObject": OBJECT, "SuppleAttachment": ATTACHMENT, "SuppleScene": SCENE}
_PLACE = (
    *("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale"),
    *("delta_location", "delta_rotation_euler", "delta_rotation_quaternion", "delta_scale"),
    *("rotation_mode", "matrix_parent_inverse", "parent_bone"),
)
_BONE = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale")
_STRIP = (
    *("mute", "frame_start", "frame_end", "action_frame_start", "action_frame_end", "scale"),
    *("repeat", "blend_type", "blend_in", "blend_out", "extrapolation", "use_reverse"),
)
# Properties that say how things are drawn or called.
_PLAIN = {"BOOLEAN", "INT", "FLOAT", "ENUM", "STRING"}
_DRAWN = {
    *("name", "is_active", "active", "set_inverse_pending", "active_index", "inspection_index"),
    *("ui_shortcut", "use_fake_user", "tag", "use_extra_user", "is_runtime_data"),
}
_DRAWN_BEGIN = ("show_", "open_", "bl_")
_DRAWN_NODES = {"NodeFrame", "GeometryNodeViewer"}


@dataclass
class _Followed:
    """Digests of an object and of everything it follows, with labels for messages."""

    labels: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    uids: set[int] = field(default_factory=set)


# Animated paths of data blocks, while one object is read.
_animated: dict[int, set[str]] = {}
# Keys are the session_uid of an object, and whether its shape counts.
_followed: dict[tuple[int, bool], _Followed] = {}
# Digests of meshes, node trees and curves of actions, which take milliseconds to read, by the
# session_uid of the data block and the handle of a slot.
_contents: dict[tuple[int, int], Any] = {}


def forget(depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Read the objects again that a dependency graph reports as edited, or all of them without
    one."""
    if depsgraph is None:
        _followed.clear()
        _contents.clear()
        return
    edited = {update.id.original.session_uid for update in depsgraph.updates}
    for key in [key for key in _contents if key[0] in edited]:
        del _contents[key]
    for key in [key for key, each in _followed.items() if not each.uids.isdisjoint(edited)]:
        del _followed[key]


def body_fingerprint(obj: bpy.types.Object) -> Parts:
    """Fingerprint of a soft body as it is now."""
    return {SETTINGS_PART: settings(obj), FOLLOWED_PART: _follow(obj, shaped=True).digests}


def followed_labels(obj: bpy.types.Object) -> list[str]:
    """Labels of a body's followed parts, such as ``place``, ``mesh`` or another object's name."""
    return _follow(obj, shaped=True).labels


def scene_fingerprint(scene: bpy.types.Scene) -> Parts:
    """Fingerprint of everything that is simulated with any body of a scene, as it is now."""
    props, render = scene.supple, scene.render
    start = scene.frame_start if props.use_scene_range else props.frame_start
    moving = animated_paths(scene)
    gravity = [getattr(scene, name) for name in ("gravity", "use_gravity") if name not in moving]
    bodies = [obj for obj in scene.objects if obj.supple.enabled and obj.type == "MESH"]
    parts: Parts = {
        SETTINGS_PART: settings(scene),
        "gravity": _digest(_plain(value) for value in gravity),
        "frame rate": [render.fps, render.fps_base],
        "unit scale": metres_per_unit(scene),
        "start frame": animation_frames(scene, range(start, start + 1)).start,
        "number of soft bodies": len(bodies),
    }
    for kind, objects in acting_objects(scene).items():
        parts[kind] = [object_fingerprint(kind, obj) for obj in objects]
    return parts


def acting_objects(scene: bpy.types.Scene) -> dict[str, list[bpy.types.Object]]:
    """Return the objects that act on bodies, by their role."""
    objects = list(scene.objects)
    is_field_absorbed = any(is_absorbed(scene, obj) for obj in objects)
    return {
        "collider": [obj for obj in objects if obj.supple.collider and not is_soft_body(obj)],
        "force field": [obj for obj in objects if acts(scene, obj)],
        "absorber": [obj for obj in objects if is_field_absorbed and absorbs(obj)],
    }


def object_fingerprint(kind: str, obj: bpy.types.Object) -> str:
    """Fingerprint of a ``collider``, ``force field`` or ``absorber`` without its name."""
    if kind == "collider":
        content: Any = list(_settings(obj.supple))
    elif kind == "force field":
        content = list(_force_field(obj))
    else:
        content = None if has_keyed_absorption(obj) else obj.collision.absorption
    return _digest([content, *_follow(obj, shaped=kind != "force field").digests])


def as_text(parts: Parts) -> str:
    """A fingerprint as one text, without names of objects."""
    return json.dumps(parts)


def settings(owner: bpy.types.Object | bpy.types.Scene) -> dict[str, str]:
    """Digest of each setting of a body or a scene, by its name."""
    read = _settings(owner.supple, animated_settings(owner))
    return {name: _digest([value]) for name, value in read}


def _settings(props: bpy.types.PropertyGroup, moving: Set[str] = frozenset()) -> Iterator[Any]:
    """The values that an artist sets and a simulation depends on.

    Args:
        moving: paths of settings that are animated.
    """
    for row in _TABLES[type(props).__name__]:
        if not (row.label and row.changes_frames) or (row.is_keyed and row.name in moving):
            continue
        name, value = row.name, getattr(props, row.name)
        if name == "attachments":
            for index, each in enumerate(value):
                prefix = f"{name}[{index}]."
                animated = {path.removeprefix(prefix) for path in moving if path.startswith(prefix)}
                yield prefix, list(_settings(each, animated))
        elif isinstance(value, bpy.types.Collection):
            yield name, sorted(obj.name for obj in value.all_objects)
        elif isinstance(value, bpy.types.Object):
            yield name, _follow(value, shaped=True).digests
        else:
            yield name, name_of(value) if name == "start_run" else _plain(value)


def _force_field(obj: bpy.types.Object) -> Iterator[Any]:
    moving = animated_paths(obj)
    for name in SETTINGS:
        if moving.isdisjoint((f"field.{name}", f"field.{OTHER_NAMES.get(name)}")):
            yield getattr(obj.field, name)
    if obj.field.type == "FLUID_FLOW":
        yield getattr(obj.field, FLOW_CHOICE)
        yield _follow(obj.field.source_object, shaped=False).digests


def _follow(obj: bpy.types.Object, shaped: bool) -> _Followed:
    key = (obj.session_uid, shaped)
    if key not in _followed:
        _animated.clear()
        _followed[key] = _Walk(obj, shaped).followed
    return _followed[key]


class _Walk:
    """Reads an object, and the objects that its place, shape and drivers depend on.

    Args:
        obj: the object.
        shaped: whether its shape counts, and not its place alone.
    """

    def __init__(self, obj: bpy.types.Object, shaped: bool) -> None:
        self.followed = _Followed()
        self._start = obj
        self._seen: set[tuple[bpy.types.ID, bool]] = set()
        self._visit(obj, shaped)

    def _visit(self, obj: bpy.types.Object, shaped: bool) -> None:
        if (obj, shaped) in self._seen:
            return
        if (obj, False) not in self._seen:
            self._seen.add((obj, False))
            self._add(obj, "place", self._place(obj))
            self._animation(obj)
        if shaped:
            self._seen.add((obj, True))
            self._add(obj, "mesh", self._shape(obj))

    def _add(self, owner: bpy.types.ID, label: str, values: Iterator[Any]) -> None:
        """Append the digest of some values. Reading them appends those of the objects that they
        refer to."""
        self.followed.uids.add(owner.session_uid)
        self.followed.digests.append("")
        index = len(self.followed.labels)
        is_start = owner == self._start or label == "animation"
        self.followed.labels.append(label if is_start else owner.name)
        self.followed.digests[index] = _digest(values)

    def _place(self, obj: bpy.types.Object) -> Iterator[Any]:
        bones = [] if obj.pose is None else list(obj.pose.bones)
        constraints = [each for bone in bones for each in bone.constraints]
        for bone in bones:
            yield from _values(bone, _still(bone, _BONE))
        if not may_move(obj):
            yield _plain(obj.matrix_world)
        else:
            constraints += obj.constraints
            if obj.rigid_body is None:
                yield from _values(obj, _still(obj, _PLACE))
            if obj.parent is not None:
                # Its shape counts only where a part of it, or a curve, carries the children.
                carries = obj.parent_type != "OBJECT" or obj.parent.type == "CURVE"
                self._visit(obj.parent, shaped=carries)
        for constraint in constraints:
            yield constraint.type
            yield from _numbers(constraint)
            self._visit_pointed(constraint)

    def _shape(self, obj: bpy.types.Object) -> Iterator[Any]:
        if obj.data is None:
            yield _plain(obj.empty_display_size)
            return
        yield self._data(obj.data)
        if obj.type != "MESH":
            return
        for modifier in obj.modifiers:
            if not is_own(modifier):
                yield modifier.type, driving.is_shown(obj, modifier)
                yield from _numbers(modifier)
                self._visit_pointed(modifier)
        if (parent := driving.deforming_parent(obj)) is not None:
            self._visit(parent, shaped=True)
        yield from _users_keys(obj)
        if obj == self._start and is_soft_body(obj):
            yield from _body_values(obj)

    def _data(self, data: bpy.types.ID) -> str:
        """Digest of the data block of an object."""
        self.followed.uids.add(data.session_uid)
        self._animation(data)
        if keys := getattr(data, "shape_keys", None):
            self.followed.uids.add(keys.session_uid)
            self._animation(keys)
        return _content(data)

    def _visit_pointed(self, user: bpy.types.Modifier | bpy.types.Constraint) -> None:
        """Visit the objects that a modifier or a constraint points to."""
        pointed = [getattr(user, name) for name in _pointers(user.bl_rna.identifier)]
        pointed += [each.target for each in getattr(user, "targets", ())]
        pointed += [value for _, value in _inputs(user)]
        for tree in _trees(_tree(user)):
            if (tree, True) not in self._seen:
                self._seen.add((tree, True))
                self._add(tree, "mesh", iter([_content(tree)]))
                self._animation(tree)
            pointed += _named_by_nodes(tree)
        for each in pointed:
            objects = each.all_objects if isinstance(each, bpy.types.Collection) else [each]
            for obj in objects:
                if isinstance(obj, bpy.types.Object):
                    self._visit(obj, shaped=True)

    def _animation(self, owner: bpy.types.ID) -> None:
        """Append the keyframes and drivers of a data block, except those of a bake."""
        data = owner.animation_data
        lines: list[Any] = []
        if data is not None:
            lines += self._curves(owner, data.action, data.action_slot)
            for track in data.nla_tracks:
                for strip in track.strips:
                    if curves := self._curves(owner, strip.action, strip.action_slot):
                        lines.append([track.mute, *(getattr(strip, name) for name in _STRIP)])
                        lines += curves
            for driver in data.drivers:
                if acts_on_input(owner, driver.data_path):
                    described = driver.driver
                    lines.append([driver.data_path, driver.array_index, described.type])
                    lines.append(described.expression)
                    targets = (each for one in described.variables for each in one.targets)
                    for target in targets:
                        if isinstance(target.id, bpy.types.Object):
                            self._visit(target.id, shaped=False)
        if lines or isinstance(owner, bpy.types.Object):
            self._add(owner, "animation", iter(lines))

    def _curves(
        self,
        owner: bpy.types.ID,
        action: bpy.types.Action | None,
        slot: bpy.types.ActionSlot | None,
    ) -> list[str]:
        if action is None or slot is None:
            return []
        self.followed.uids.add(action.session_uid)
        key = (action.session_uid, slot.handle)
        if key not in _contents:
            curves = curves_of(action, slot)
            _contents[key] = [(each.data_path, _digest(_curve(each))) for each in curves]
        return [
            f"{path} {digest}"
            for path, digest in _contents[key]
            if acts_on_input(owner, path) and not _is_baked(owner, path)
        ]


def _content(data: bpy.types.ID) -> str:
    """Digest of the data block of an object, or of a node tree without the groups in it."""
    key = (data.session_uid, 0)
    if key not in _contents:
        _contents[key] = _digest(_geometry(data))
    return str(_contents[key])


def _geometry(data: bpy.types.ID) -> Iterator[Any]:
    if isinstance(data, bpy.types.Mesh):
        yield vertex_coordinates(data)
        yield polygons(data)
    elif isinstance(data, bpy.types.Lattice):
        yield [_plain(point.co_deform) for point in data.points]
    elif isinstance(data, bpy.types.Curve):
        for spline in data.splines:
            yield [_plain(point.co) for point in (*spline.points, *spline.bezier_points)]
    elif isinstance(data, bpy.types.Armature):
        yield [(_plain(bone.head_local), _plain(bone.tail_local)) for bone in data.bones]
    elif isinstance(data, bpy.types.NodeTree):
        # Blender orders nodes by their selection.
        yield sorted(map(repr, _nodes(data)))


def _nodes(tree: bpy.types.NodeTree) -> Iterator[Any]:
    moving = _moving(tree)
    for node in tree.nodes:
        if node.bl_idname not in _DRAWN_NODES:
            sockets = [
                (socket.identifier, _plain(value))
                for socket in (*node.inputs, *node.outputs)
                for value in [getattr(socket, "default_value", None)]
                if not isinstance(value, bpy.types.ID)
                and f"{socket.path_from_id()}.default_value" not in moving
            ]
            yield node.name, node.bl_idname, node.mute, list(_numbers(node)), sockets
    for link in tree.links:
        ends = (link.from_node, link.from_socket), (link.to_node, link.to_socket)
        yield link.is_muted, [(node.name, socket.identifier) for node, socket in ends]


def _trees(tree: bpy.types.NodeTree | None) -> Iterator[bpy.types.NodeTree]:
    """A node tree and all groups in it."""
    waiting, seen = [tree], set()
    while waiting:
        each = waiting.pop()
        if each is not None and each not in seen:
            seen.add(each)
            yield each
            waiting += [node.node_tree for node in each.nodes if node.type == "GROUP"]


def _named_by_nodes(tree: bpy.types.NodeTree) -> Iterator[bpy.types.ID | None]:
    for node in tree.nodes:
        for socket in node.inputs:
            if socket.type in ("OBJECT", "COLLECTION"):
                yield socket.default_value


def _body_values(obj: bpy.types.Object) -> Iterator[Any]:
    """Yield the weights, paint and kept shapes that a soft body uses, and the types of the
    modifiers that drive it."""
    mesh, props = obj.data, obj.supple
    groups = [(obj, name) for name in (props.pin_group, props.attach_group, props.jiggle_group)]
    for path, row in rows_of(props):
        groups += [(obj, row.attach_group)] if path else []
        groups.append((row.attach_to, row.stitch_group))
    groups += [(obj, name) for _, name in painted(props)]
    for owner, name in groups:
        if owner is not None and (group := owner.vertex_groups.get(name)) is not None:
            yield group_weights(owner, group)
    for _, name in painted(props):
        attribute = None if name in obj.vertex_groups else mesh.attributes.get(name)
        if attribute is not None and can_paint(attribute):
            yield attribute_values(mesh, attribute)
    yield [each.type for each in driving.drivers(obj) if driving.is_shown(obj, each)]
    yield from rest_shape.values(obj)
    yield from control.values(obj)


def _users_keys(obj: bpy.types.Object) -> Iterator[Any]:
    """The user's shape keys, as they are without a bake."""
    keys, record = obj.data.shape_keys, shape_keys.record(obj)
    if keys is None or (record and not keys.use_relative):
        return
    blocks = [block for block in keys.key_blocks if not shape_keys.is_supple_key(block)]
    if len(blocks) == 1:
        return
    moving = is_animated(keys)
    yield record.get("relative", keys.use_relative)
    if record.get("show_only", obj.show_only_shape_key):
        yield record.get("active", obj.active_shape_key_index)
    for block in blocks:
        mute = block.mute and block.name not in record.get("muted", ())
        yield coordinates(block.points, len(block.points))
        yield mute if moving else (mute, block.value)


def _numbers(struct: bpy.types.bpy_struct) -> Iterator[Any]:
    """Yield the names and values of the settings of a modifier, constraint or node that are not
    animated."""
    yield from _values(struct, _still(struct, _names(struct.bl_rna.identifier)))
    for name, value in _inputs(struct):
        begin = struct.path_from_id()
        paths = {f'{begin}["{name}"]', f"{begin}.properties.inputs.{name}"}
        if not isinstance(value, bpy.types.ID) and paths.isdisjoint(_moving(struct.id_data)):
            yield name, _plain(value)


@cache
def _names(name: str) -> tuple[str, ...]:
    """The names of the properties of a modifier, constraint or node that shape anything."""
    kind = getattr(bpy.types, name)
    base = next(
        (each for each in (bpy.types.Modifier, bpy.types.Node) if issubclass(kind, each)), None
    )
    common = set() if base is None else set(base.bl_rna.properties.keys())
    return tuple(
        each.identifier
        for each in kind.bl_rna.properties
        if each.identifier not in common | _DRAWN
        and not each.identifier.startswith(_DRAWN_BEGIN)
        and (each.type == "POINTER" or (each.type in _PLAIN and not each.is_readonly))
    )


@cache
def _pointers(name: str) -> tuple[str, ...]:
    described = getattr(bpy.types, name).bl_rna.properties
    return tuple(each.identifier for each in described if each.type == "POINTER")


def _values(struct: bpy.types.bpy_struct, names: Iterable[str]) -> Iterator[Any]:
    for name in names:
        value = getattr(struct, name)
        if isinstance(value, bpy.types.ColorRamp):
            steps = [(step.position, *step.color) for step in value.elements]
            yield name, value.color_mode, value.interpolation, value.hue_interpolation, steps
        elif isinstance(value, bpy.types.CurveMapping):
            curves = [[(*p.location, p.handle_type) for p in each.points] for each in value.curves]
            yield name, value.extend, curves
        elif not isinstance(value, bpy.types.bpy_struct):
            yield name, _plain(value)


def _still(struct: bpy.types.bpy_struct, names: Iterable[str]) -> list[str]:
    """The names of the properties that are not animated."""
    moving = _moving(struct.id_data)
    if not moving:
        return list(names)
    begin = "" if isinstance(struct, bpy.types.ID) else f"{struct.path_from_id()}."
    return [name for name in names if begin + name not in moving]


def _moving(owner: bpy.types.ID) -> set[str]:
    """The animated paths, and the paths that they begin with."""
    key = owner.session_uid
    if key not in _animated:
        _animated[key] = {
            path[: match.start()] if match else path
            for path in animated_paths(owner)
            for match in (None, *re.finditer(r"[.\[]", path))
        }
    return _animated[key]


def _inputs(user: bpy.types.bpy_struct) -> Iterator[tuple[str, Any]]:
    """Values of the inputs of geometry nodes, by the identifiers of their sockets."""
    tree = _tree(user)
    for item in () if tree is None else tree.interface.items_tree:
        if item.item_type != "SOCKET" or item.in_out != "INPUT":
            continue
        name = item.identifier
        # Blender 5.2 has them elsewhere.
        if (properties := getattr(user, "properties", None)) is not None:
            socket = getattr(properties.inputs, name, None)
            for part in ("value", "type", "attribute_name"):
                yield name, getattr(socket, part, None)
            continue
        for end in ("", "_use_attribute", "_attribute_name"):
            yield name + end, user.get(name + end)


def _tree(user: bpy.types.bpy_struct) -> bpy.types.NodeTree | None:
    is_nodes = isinstance(user, bpy.types.Modifier) and user.type == "NODES"
    return user.node_group if is_nodes else None


def _is_baked(owner: bpy.types.ID, path: str) -> bool:
    """Whether a bake animates this path."""
    if not isinstance(owner, bpy.types.Key) or shape_keys.RECORD not in owner:
        return False
    if path == "eval_time":
        return not owner.use_relative
    return path.startswith(f'key_blocks["{owner[shape_keys.RECORD]["prefix"]}')


def _curve(curve: bpy.types.FCurve) -> Iterator[Any]:
    points = curve.keyframe_points
    for name in ("co", "handle_left", "handle_right"):
        values = np.empty(2 * len(points), dtype=np.float32)
        points.foreach_get(name, values)
        yield values
    interpolation = np.empty(len(points), dtype=np.int32)
    points.foreach_get("interpolation", interpolation)
    yield interpolation
    stack = [(each.type, each.mute) for each in curve.modifiers]
    yield curve.array_index, curve.mute, curve.extrapolation, stack


def _plain(value: Any) -> Any:
    """Convert a value of Blender's to lists and numbers with a complete ``repr``."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return [_plain(each) for each in value]


def _digest(parts: Any) -> str:
    """Digest of arrays, and of other values as they are written in Python."""
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return hashed.hexdigest()
