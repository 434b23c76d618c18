# SPDX-License-Identifier: GPL-3.0-or-later
"""All settings of an object or a scene as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import bpy

from ..settings import Setting
from ..settings.object import ATTACHMENT, OBJECT
from ..settings.scene import SCENE

# Settings that follow from others, lists, and settings without an effect on frames.
_OTHERS = ("bounciness", "attachments")
# Values that the add-on keeps so that automatic ones stay automatic.
_AUTOMATIC = ("preset_scale", "suited_young", "suited_viscosity", "suited_bend", "suited_to")


def object_settings(obj: bpy.types.Object) -> str:
    """Return the settings of a soft body or a collider."""
    values = _values(obj.supple, OBJECT)
    values["attachments"] = [_values(row, ATTACHMENT) for row in obj.supple.attachments]
    return json.dumps(values)


def scene_settings(scene: bpy.types.Scene) -> str:
    """Return the settings that all soft bodies of a scene share, and its frame range."""
    frames = {"frame_start": scene.frame_start, "frame_end": scene.frame_end}
    return json.dumps({"settings": _values(scene.supple, SCENE), "frames": frames})


def restore_object(obj: bpy.types.Object, text: str) -> None:
    """Give an object settings of ``object_settings``."""
    values = json.loads(text)
    attachments = values.pop("attachments")
    _set(obj.supple, values)
    obj.supple.attachments.clear()
    for row in attachments:
        _set(obj.supple.attachments.add(), row)


def restore_scene(scene: bpy.types.Scene, text: str) -> None:
    """Give a scene settings of ``scene_settings``."""
    values = json.loads(text)
    _set(scene.supple, values["settings"])
    for name, frame in values["frames"].items():
        setattr(scene, name, frame)


def _values(props: bpy.types.PropertyGroup, table: Sequence[Setting]) -> dict[str, Any]:
    rows = [row.name for row in table if row.label and row.changes_frames]
    names = [*rows, *(name for name in _AUTOMATIC if name in props.bl_rna.properties)]
    names += [name for name in ("use_scene_range", "frame_start", "frame_end") if table is SCENE]
    return {name: _plain(getattr(props, name)) for name in names if name not in _OTHERS}


def _plain(value: Any) -> Any:
    if isinstance(value, bpy.types.ID):
        return value.name
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    is_list = hasattr(value, "__len__") and not isinstance(value, str)
    return list(value) if is_list else value


def _set(props: bpy.types.PropertyGroup, values: dict[str, Any]) -> None:
    """Set those values whose settings there still are."""
    for name, value in values.items():
        described = props.bl_rna.properties.get(name)
        if described is None:
            continue
        if described.type == "POINTER":
            blocks = getattr(bpy.data, _BLOCKS[described.fixed_type.identifier])
            value = blocks.get(value) if value else None
        elif described.type == "ENUM" and described.is_enum_flag:
            value = set(value)
        setattr(props, name, value)


_BLOCKS = {"Object": "objects", "Collection": "collections", "Mesh": "meshes"}
