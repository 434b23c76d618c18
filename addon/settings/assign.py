# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings by their names: ``Cube.young`` of an object, ``ground_height`` of the scene."""

from __future__ import annotations

from typing import Any

import bpy

from ...core.errors import SuppleError
from ...core.list_file import suggestion
from . import Setting
from .object import OBJECT
from .scene import SCENE

_WORDS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_NUMBERS = ("INT", "FLOAT")


def check_name(name: str) -> None:
    """Refuse the name of a setting that does not exist.

    Raises:
        SuppleError: no setting has this name.
    """
    owner, _, setting = name.rpartition(".")
    table: list[Setting] = OBJECT if owner else SCENE
    known = [row.name for row in table if row.label]
    if setting not in known:
        kind = f"An object such as {owner}" if owner else "The scene"
        raise SuppleError(
            f"{kind} has no setting {setting!r}. {suggestion(setting, known)}".rstrip()
        )


def assign(scene: bpy.types.Scene, name: str, value: Any) -> None:
    """Set a setting of an object or of the scene.

    Args:
        scene: that has the object.
        name: such as ``Cube.young``; without an object, a setting of the scene.
        value: a number, text, switch or list; a text of a command line is read as one of them.

    Raises:
        SuppleError: there is no such object or setting, or it cannot have this value.
    """
    check_name(name)
    owner, _, setting = name.rpartition(".")
    if owner and owner not in scene.objects:
        raise SuppleError(f"{name}: the scene {scene.name} has no object {owner}.")
    props = scene.objects[owner].supple if owner else scene.supple
    described = props.bl_rna.properties[setting]
    try:
        setattr(props, setting, _value(described, value))
    except (TypeError, ValueError, KeyError) as error:
        raise SuppleError(f"{name} cannot be {value!r}: {_expected(described)}.") from error
    if described.type in _NUMBERS and not described.is_array and getattr(props, setting) != value:
        _check_limits(name, described, value)


def _value(described: bpy.types.Property, value: Any) -> Any:
    if described.type == "POINTER":
        return bpy.data.objects[value]
    if not isinstance(value, str):
        return set(value) if described.type == "ENUM" and described.is_enum_flag else value
    if described.type == "BOOLEAN":
        return _WORDS[value.lower()]
    if described.type in _NUMBERS:
        kind = int if described.type == "INT" else float
        return [kind(part) for part in value.split(",")] if described.is_array else kind(value)
    return set(value.split(",")) if described.type == "ENUM" and described.is_enum_flag else value


def _check_limits(name: str, described: bpy.types.Property, value: Any) -> None:
    """Blender cuts numbers off at the limits of a property without a word."""
    if not described.hard_min <= float(value) <= described.hard_max:
        raise SuppleError(f"{name} cannot be {value}: {_expected(described)}.")


def _expected(described: bpy.types.Property) -> str:
    if described.type == "ENUM":
        return f"choose one of {', '.join(item.identifier for item in described.enum_items)}"
    if described.type == "BOOLEAN":
        return "write true or false"
    if described.type == "POINTER":
        return "write the name of an object"
    if described.type not in _NUMBERS:
        return "write a text"
    what = "a whole number" if described.type == "INT" else "a number"
    many = f"{described.array_length} numbers" if described.is_array else what
    return f"write {many} from {described.hard_min:g} to {described.hard_max:g}"
