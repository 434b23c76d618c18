# SPDX-License-Identifier: GPL-3.0-or-later
"""Named material sets, which several soft bodies share as meshes share Blender's materials.

Each body has the values among its own settings, so that all else reads them there. A change on one
body is made on all others of its set.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..animated import animated_settings
from ..capture.objects import is_soft_body
from .presets import PRESET_SETTINGS

_VALUES = (*PRESET_SETTINGS, "preset_scale")
# Whether values are being copied, each of which is an update.
_is_sharing = False


def bodies_of(name: str) -> list[bpy.types.Object]:
    """Return the soft bodies of the file that share a set."""
    bodies = (obj for obj in bpy.data.objects if is_soft_body(obj))
    return [obj for obj in bodies if name and obj.supple.material_set == name]


def names() -> list[str]:
    """Return the names of all sets in the file."""
    return sorted({o.supple.material_set for o in bpy.data.objects if is_soft_body(o)} - {""})


def new_name(base_name: str) -> str:
    """Return a name that no set has, such as ``Jelly.001`` where there is a ``Jelly``."""
    taken, number, name = set(names()), 0, base_name
    stem, _, end = base_name.rpartition(".")
    if not (stem and len(end) == 3 and end.isdigit()):
        stem = base_name
    while name in taken:
        number += 1
        name = f"{stem}.{number:03d}"
    return name


def rename(props: bpy.types.PropertyGroup, name: str) -> None:
    """Rename the set of a body for all that share it."""
    if not name or name == props.material_set:
        return
    bodies, name = bodies_of(props.material_set), new_name(name)
    for obj in bodies:
        obj.supple.material_set = name


def join(objects: Iterable[bpy.types.Object], source: bpy.types.Object) -> str:
    """Have soft bodies share the material of another one; return the name of its set, which is made
    where it has none."""
    props = source.supple
    if not props.material_set:
        props.material_set = new_name(source.name)
    for obj in objects:
        obj.supple.material_set = props.material_set
        _copy(props, obj.supple)
    return str(props.material_set)


def share(props: bpy.types.PropertyGroup, _context: object = None) -> None:
    """Give all others of a body's set its values, after a change of one."""
    if _is_sharing or not props.material_set or not props.enabled:
        return
    for obj in bodies_of(props.material_set):
        if obj.is_editable and obj != props.id_data:
            _copy(props, obj.supple)


def differing(obj: bpy.types.Object) -> str:
    """Return the name of a body of the same set that has other values, such as one from another
    file; empty where there is none."""
    values = _values(obj.supple)
    others = bodies_of(obj.supple.material_set)
    return next((str(each.name) for each in others if _values(each.supple) != values), "")


def _values(props: bpy.types.PropertyGroup) -> list[object]:
    return [getattr(props, name) for name in PRESET_SETTINGS]


def _copy(source: bpy.types.PropertyGroup, target: bpy.types.PropertyGroup) -> None:
    """Copy the values. A keyed one is of the present frame alone, and stays the body's own."""
    global _is_sharing
    keyed = animated_settings(source.id_data)
    _is_sharing = True
    try:
        for name in _VALUES:
            if name not in keyed and getattr(target, name) != getattr(source, name):
                setattr(target, name, getattr(source, name))
    finally:
        _is_sharing = False
