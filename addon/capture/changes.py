# SPDX-License-Identifier: GPL-3.0-or-later
"""What was changed since a simulation, found without simulating: cheap enough to draw.

A mark is a digest of some numbers; an object keeps those of the run that it plays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Set
from typing import Any

import bpy
import numpy as np

from .. import driving
from ..animated import animated_paths, animated_settings
from ..start_runs import name_of
from ..time_stretching import animation_frames
from ..units import metres_per_unit
from . import curve_marks, kept_control, kept_shape, node_marks
from .absorbers import absorbs, has_keyed_absorption, is_absorbed
from .attachments import rows_of
from .force_fields import FLOW_CHOICE, OTHER_NAMES, SETTINGS, acts
from .model_marks import forget_places, led_by, place, shape
from .objects import is_soft_body
from .paint import attribute_values, can_paint, painted
from .surfaces import group_weights

Marks = dict[str, Any]

# Of a body's and of a scene's marks, one for each setting.
_SETTINGS = "settings"
# Of a scene's, what is neither a setting nor an object.
SCENE_SETTINGS = ("gravity", "frame rate", "unit scale", "start frame")
_SCENE = (*SCENE_SETTINGS, "number of soft bodies")

# Where frames are kept, which, how they are shown, what is recorded beside them and what is drawn
# over them changes nothing in them.
_NO_SETTINGS = {
    *("rna_type", "name", "cache_folder", "use_scene_range", "frame_start", "frame_end"),
    *("smooth", "results", "field", "paint_overlay", "stop_renders"),
    # What they hold counts; and what is only sought.
    *("kept_shape", "kept_control", "effector_collection", "fit_keyed_group", "fit_by"),
    *("fit_target", "fit_frame", "fit_group", "fit_spin"),
    *("fit_shape", "fit_first", "fit_last"),
}

# Of meshes, which take milliseconds, by the session_uid of their objects and by what is read.
_meshes: dict[tuple[int, str], str] = {}


def forget_meshes(*_: object) -> None:
    """For whenever Blender reports an edit."""
    _meshes.clear()


def forget() -> None:
    """For whenever anything may have changed without a report."""
    forget_meshes()
    forget_places()
    curve_marks.forget()
    node_marks.forget()


def body_marks(obj: bpy.types.Object) -> str:
    """The marks of a soft body as it is now, as one text."""
    return json.dumps(_body_marks(obj))


def scene_mark(scene: bpy.types.Scene) -> str:
    """The marks of all that is simulated with any body of a scene, as one text."""
    return json.dumps(_scene_marks(scene))


def mark(kind: str, obj: bpy.types.Object) -> str:
    """Of a ``collider``, ``force field`` or ``absorber`` as it is now, whatever it is called."""
    return _digest(_KINDS[kind](obj))


def changed(obj: bpy.types.Object) -> list[str]:
    """What of a body is not as it was when it was simulated, such as ``mesh`` or the names of
    settings."""
    if not obj.supple.simulated_as or obj.mode != "OBJECT":
        return []
    then, now = _read(obj.supple.simulated_as), _body_marks(obj)
    rest = [what for what in now if what != _SETTINGS and then.get(what) != now[what]]
    return [*_changed_settings(obj.supple, then, now), *rest]


def changed_settings(obj: bpy.types.Object) -> list[str]:
    """The names of those of a body that are not as they were when it was simulated."""
    if not obj.supple.simulated_as:
        return []
    then, now = _read(obj.supple.simulated_as), {_SETTINGS: _body_settings(obj)}
    return _changed_settings(obj.supple, then, now)


def changed_of_scene(scene: bpy.types.Scene) -> list[str]:
    """What of a scene is not as it was when it was simulated: the names of settings and objects."""
    if not scene.supple.simulated_as:
        return []
    then, now = _read(scene.supple.simulated_as), _scene_marks(scene)
    found = _changed_settings(scene.supple, then, now)
    found += [what for what in _SCENE if then.get(what) != now[what]]
    for kind, objects in _others(scene).items():
        left = list(then.get(kind, ()))
        for obj, its_mark in zip(objects, now[kind], strict=True):
            if its_mark in left:
                left.remove(its_mark)
            else:
                found.append(obj.name)
        if len(then.get(kind, ())) > len(objects):
            found.append(f"a {kind} less")
    return list(dict.fromkeys(found))


def _read(marks: str) -> Marks:
    """Those of a file; none of a build that kept them otherwise."""
    return json.loads(marks) if marks.startswith("{") else {}


def _changed_settings(props: bpy.types.PropertyGroup, then: Marks, now: Marks) -> list[str]:
    """By the names that panels show."""
    before, after = then.get(_SETTINGS, {}), now[_SETTINGS]
    if not isinstance(before, dict):
        return ["settings"]
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    shown = [props.bl_rna.properties.get(name.partition("[")[0]) for name in names]
    return list(dict.fromkeys(each.name for each in shown if each is not None))


def _scene_marks(scene: bpy.types.Scene) -> Marks:
    props, render = scene.supple, scene.render
    start = scene.frame_start if props.use_scene_range else props.frame_start
    start = animation_frames(scene, range(start, start + 1)).start
    bodies = [obj for obj in scene.objects if obj.supple.enabled and obj.type == "MESH"]
    marks: Marks = {
        _SETTINGS: _marked(_settings(props, animated_settings(scene))),
        "gravity": _digest([repr(list(_gravity(scene)))]),
        "frame rate": [render.fps, render.fps_base],
        "unit scale": metres_per_unit(scene),
        "start frame": start,
        "number of soft bodies": len(bodies),
    }
    for kind, objects in _others(scene).items():
        marks[kind] = [mark(kind, obj) for obj in objects]
    return marks


def _others(scene: bpy.types.Scene) -> dict[str, list[bpy.types.Object]]:
    """The objects that act on bodies, by what they are."""
    objects = list(scene.objects)
    is_field_absorbed = any(is_absorbed(scene, obj) for obj in objects)
    return {
        "collider": [obj for obj in objects if obj.supple.collider and not is_soft_body(obj)],
        "force field": [obj for obj in objects if acts(scene, obj)],
        "absorber": [obj for obj in objects if is_field_absorbed and absorbs(obj)],
    }


def _collider(obj: bpy.types.Object) -> Iterator[Any]:
    yield repr([*_settings(obj.supple), *place(obj)])
    yield from curve_marks.curve_marks(obj)
    yield _kept_mesh(obj, shape)


def _force_field(obj: bpy.types.Object) -> Iterator[Any]:
    yield repr([*_field(obj), *place(obj)])
    yield from curve_marks.curve_marks(obj)


def _absorber(obj: bpy.types.Object) -> Iterator[Any]:
    if not has_keyed_absorption(obj):
        yield repr(obj.collision.absorption)
    yield repr(list(place(obj)))
    yield from curve_marks.curve_marks(obj)
    yield _kept_mesh(obj, shape)


_KINDS = {"collider": _collider, "force field": _force_field, "absorber": _absorber}


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
        yield from (getattr(obj.field, FLOW_CHOICE), *place(domain))


def _body_marks(obj: bpy.types.Object) -> Marks:
    return {
        _SETTINGS: _body_settings(obj),
        "place": _digest([repr(list(place(obj)))]),
        "mesh": _kept_mesh(obj, _mesh),
        "animation": _digest(curve_marks.curve_marks(obj)),
    }


def _body_settings(obj: bpy.types.Object) -> dict[str, str]:
    return _marked(_settings(obj.supple, animated_settings(obj)))


def _kept_mesh(obj: bpy.types.Object, read: Callable[[bpy.types.Object], Iterator[Any]]) -> str:
    key = (obj.session_uid, read.__name__)
    if key not in _meshes:
        _meshes[key] = _digest(read(obj))
    return _meshes[key]


def _marked(settings: Iterator[Any]) -> dict[str, str]:
    return {name: _digest([repr(value)]) for name, value in settings}


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
        yield name, _kept_mesh(value, led_by) if isinstance(value, bpy.types.Object) else value


def _mesh(obj: bpy.types.Object) -> Iterator[Any]:
    mesh, own = obj.data, obj.supple
    yield from shape(obj)
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
    if driving_types := [m.type for m in driving.drivers(obj) if driving.is_shown(obj, m)]:
        yield repr(driving_types)
    yield from kept_shape.marks(obj)
    yield from kept_control.marks(obj)


def _digest(parts: Any) -> str:
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(part.encode() if isinstance(part, str) else np.asarray(part).tobytes())
    return hashed.hexdigest()
