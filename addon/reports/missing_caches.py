# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of points that are to move bodies and colliders, and cannot.

Blender leaves the mesh as it is then, and says so at the modifier alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import bpy

from .. import driving
from ..capture.objects import shown_colliders, soft_bodies
from ..modifiers import is_own
from ..paths import absolute

# What Mesh Cache reads: PC2 has its mark, a version and the number of points, MDD those of frames
# and points.
_PC2, _PC2_MARK = struct.Struct("<12sii"), b"POINTCACHE2\0"
_MDD = struct.Struct(">ii")


def messages(context: bpy.types.Context) -> Iterator[str]:
    """One for each modifier or constraint that moves nothing for want of its file."""
    bodies, colliders = soft_bodies(context), shown_colliders(context)
    for obj in bodies:
        acting = [each for each in driving.drivers(obj) if driving.is_shown(obj, each)]
        yield from _of_modifiers(obj, acting, len(obj.data.vertices))
    for obj in colliders:
        acting = [each for each in obj.modifiers if each.show_viewport and not is_own(each)]
        yield from _of_modifiers(obj, acting, None)
    carriers = [carrier for obj in (*bodies, *colliders) for carrier in _ancestry(obj)]
    for carrier in dict.fromkeys(carriers):
        for each in carrier.constraints:
            is_on = each.type == "TRANSFORM_CACHE" and each.enabled
            if is_on and (reason := _why_no_sequence(each)):
                yield f"{carrier.name}: the constraint {each.name} moves nothing, since {reason}"


def _ancestry(obj: bpy.types.Object | None) -> Iterator[bpy.types.Object]:
    """An object and its parents."""
    while obj is not None:
        yield obj
        obj = obj.parent


def _of_modifiers(
    obj: bpy.types.Object, modifiers: list[bpy.types.Modifier], points: int | None
) -> Iterator[str]:
    """
    Args:
        points: that each modifier finds; None where that is not known.
    """
    for each in modifiers:
        reason = ""
        if each.type == "MESH_CACHE":
            reason = _why_no_points(each, _path(obj, each.filepath), points)
        elif each.type == "MESH_SEQUENCE_CACHE":
            reason = _why_no_sequence(each)
        if reason:
            yield f"{obj.name}: the modifier {each.name} moves nothing, since {reason}"


def _why_no_points(modifier: bpy.types.Modifier, path: Path, points: int | None) -> str:
    """Why a Mesh Cache modifier has none, and the cure; empty where it has."""
    if not modifier.filepath:
        return "no file is chosen. Choose one, or remove it."
    layout = _MDD if modifier.cache_format == "MDD" else _PC2
    try:
        with path.open("rb") as file:
            head = file.read(layout.size)
    except OSError:
        return _not_there(path)
    is_whole = len(head) == layout.size
    if not is_whole or (layout is _PC2 and not head.startswith(_PC2_MARK)):
        return f"{path} is no {modifier.cache_format} file. Choose another file or format."
    found = layout.unpack(head)[-1]
    if points is not None and found != points:
        return (
            f"{path} has {found} points and the mesh {points} vertices. Choose the file of this "
            "mesh."
        )
    return ""


def _why_no_sequence(user: bpy.types.Modifier | bpy.types.Constraint) -> str:
    """The same of what follows an object in an Alembic or USD file."""
    cache = user.cache_file
    if cache is None or not cache.filepath:
        return "no file is chosen. Choose one, or remove it."
    path = _path(cache, cache.filepath)
    if not path.is_file():
        return _not_there(path)
    # Blender knows them once it has read the file.
    inside = [each.path for each in cache.object_paths]
    if not user.object_path or (inside and user.object_path not in inside):
        return f"{path} has no object {user.object_path!r}. Choose one under Object Path."
    return ""


def _path(owner: bpy.types.ID, path: str) -> Path:
    return absolute(path, library=owner.library)


def _not_there(path: Path) -> str:
    return f"its file {path} is not there. Bring it back, choose another, or remove it."
