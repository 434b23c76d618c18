# SPDX-License-Identifier: GPL-3.0-or-later
"""What was changed since a simulation, found without simulating: cheap enough to draw.

A mark is a digest of some numbers; an object keeps those of the run that it plays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Set
from typing import Any

import bpy
import numpy as np

from .. import driving
from ..animated import animated_paths, animated_settings, is_animated
from ..bake import shape_keys
from ..modifiers import is_own
from ..start_runs import name_of
from ..units import metres_per_unit
from . import kept_control, kept_shape
from .absorbers import absorbs, has_keyed_absorption, is_absorbed
from .attachments import rows_of
from .force_fields import FLOW_CHOICE, OTHER_NAMES, SETTINGS, acts
from .motion import may_move
from .paint import attribute_values, can_paint, painted
from .surfaces import coordinates, group_weights, polygons, vertex_coordinates

Marks = dict[str, str]

# Where frames are kept, which, how they are shown, what is recorded beside them and what is drawn
# over them changes nothing in them.
_NO_SETTINGS = {
    *("rna_type", "name", "cache_folder", "use_scene_range", "frame_start", "frame_end"),
    *("smooth", "results", "field", "paint_overlay"),
    # What they hold counts; and what is only sought.
    *("kept_shape", "kept_control", "fit_keyed_group", "fit_by"),
    *("fit_target", "fit_frame", "fit_group", "fit_spin"),
    *("fit_shape", "fit_first", "fit_last"),
}

# Of meshes, which take milliseconds, by the session_uid of their objects.
_meshes: dict[int, str] = {}


def forget_meshes(*_: object) -> None:
    """For whenever Blender reports an edit."""
    _meshes.clear()


def body_marks(obj: bpy.types.Object) -> str:
    """The marks of a soft body as it is now, as one text."""
    return json.dumps(_body_marks(obj))


def scene_mark(scene: bpy.types.Scene) -> str:
    """The mark of all that is simulated with any body of a scene."""
    props = scene.supple
    start = scene.frame_start if props.use_scene_range else props.frame_start
    render = scene.render
    numbers = [
        *_settings(props, animated_settings(scene)),
        *_gravity(scene),
        *(render.fps, render.fps_base, metres_per_unit(scene), start),
    ]
    for obj in sorted(scene.objects, key=lambda obj: obj.name):
        props = obj.supple
        if props.enabled and obj.type == "MESH":
            numbers.append(obj.name)
        elif props.collider:
            numbers += [obj.name, *_settings(props), *_place(obj)]
        if acts(scene, obj):
            numbers += [obj.name, *_field(obj), *_place(obj)]
    if any(is_absorbed(scene, obj) for obj in scene.objects):
        numbers += _absorbers(scene)
    return _digest([repr(numbers)])


def _absorbers(scene: bpy.types.Scene) -> Iterator[Any]:
    for obj in sorted(filter(absorbs, scene.objects), key=lambda obj: obj.name):
        yield obj.name
        if not has_keyed_absorption(obj):
            yield obj.collision.absorption
        yield from _place(obj)


def _gravity(scene: bpy.types.Scene) -> Iterator[Any]:
    """What of it is not animated: that is another in every frame."""
    moving = animated_paths(scene)
    if "gravity" not in moving:
        yield from scene.gravity
    if "use_gravity" not in moving:
        yield scene.use_gravity


def _field(obj: bpy.types.Object) -> Iterator[Any]:
    """What of a force field is not animated."""
    moving = animated_paths(obj)
    for name in SETTINGS:
        if moving.isdisjoint((f"field.{name}", f"field.{OTHER_NAMES.get(name)}")):
            yield getattr(obj.field, name)
    if obj.field.type == "FLUID_FLOW":
        domain = obj.field.source_object
        yield from (domain.name, getattr(obj.field, FLOW_CHOICE), *_place(domain))


def changed(obj: bpy.types.Object) -> list[str]:
    """What of a body is not as it was when it was simulated, such as ``settings``."""
    if not obj.supple.simulated_as or obj.mode != "OBJECT":
        return []
    then, now = json.loads(obj.supple.simulated_as), _body_marks(obj)
    return [what for what, mark in now.items() if then.get(what) != mark]


def scene_changed(scene: bpy.types.Scene) -> bool:
    """Whether the scene is not as it was when it was simulated."""
    return bool(scene.supple.simulated_as) and scene.supple.simulated_as != scene_mark(scene)


def _body_marks(obj: bpy.types.Object) -> Marks:
    uid = obj.session_uid
    if uid not in _meshes:
        _meshes[uid] = _digest(_mesh(obj))
    return {
        "settings": _digest([repr(list(_settings(obj.supple, animated_settings(obj))))]),
        "place": _digest([repr(list(_place(obj)))]),
        "mesh": _meshes[uid],
    }


def _settings(props: bpy.types.PropertyGroup, moving: Set[str] = frozenset()) -> Iterator[Any]:
    """The values that an artist sets and a simulation depends on, but for what is another in every
    frame, by their paths in ``moving``."""
    for described in props.bl_rna.properties:
        name = described.identifier
        if described.is_hidden or name in _NO_SETTINGS:
            continue
        if described.is_animatable and name in moving:
            continue
        value = getattr(props, name)
        if described.type == "COLLECTION":
            for index, row in enumerate(value):
                prefix = f"{name}[{index}]."
                own = {path.removeprefix(prefix) for path in moving if path.startswith(prefix)}
                yield prefix, list(_settings(row, own))
            continue
        if name == "start_run":
            value = name_of(value)
        if getattr(described, "is_array", False):
            value = tuple(value)
        yield name, value.name if isinstance(value, bpy.types.ID) else value


def _place(obj: bpy.types.Object) -> Iterator[float]:
    """Of what stands still: where, and how large."""
    if not may_move(obj):
        for row in obj.matrix_world:
            yield from row


def _mesh(obj: bpy.types.Object) -> Iterator[Any]:
    mesh = obj.data
    yield vertex_coordinates(mesh)
    yield polygons(mesh)
    own = obj.supple
    groups = [(obj, name) for name in (own.pin_group, own.attach_group, own.jiggle_group)]
    for path, row in rows_of(obj.supple):
        groups += [(obj, row.attach_group)] if path else []
        groups.append((row.attach_to, row.stitch_group))
    for owner, name in groups:
        if (group := owner.vertex_groups.get(name)) is not None:
            yield group_weights(owner, group)
    for _, name in painted(obj.supple):
        if (group := obj.vertex_groups.get(name)) is not None:
            yield group_weights(obj, group)
        elif (attribute := mesh.attributes.get(name)) is not None and can_paint(attribute):
            yield attribute_values(mesh, attribute)
    yield repr([(m.type, driving.is_shown(obj, m)) for m in _modifiers(obj)])
    if driving_types := [m.type for m in driving.drivers(obj) if driving.is_shown(obj, m)]:
        yield repr(driving_types)
    yield from _own_keys(obj)
    yield from kept_shape.marks(obj)
    yield from kept_control.marks(obj)


def _modifiers(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """Those that may shape the solid."""
    return [m for m in obj.modifiers if m.type != "MESH_CACHE" and not is_own(m)]


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


def _digest(parts: Any) -> str:
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(part.encode() if isinstance(part, str) else np.asarray(part).tobytes())
    return hashed.hexdigest()
