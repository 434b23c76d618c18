# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene with other settings, which have names such as ``Jelly.young`` and ``ground.friction``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ..errors import SceneError
from ..job import Settings
from ..list_file import suggestion
from ..scene.scene import Scene
from ..scene.schema import check_members
from ..scene.soft_body import SoftBody
from .plan import Value

# Settings that a sweep has of its own, or that are of its runs.
_NOT_VARIED = {"frame_count", "results", "pre_roll"}
_SIMPLE = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class _Leaf:
    """A new value, and the name by which it was given."""

    value: Value
    name: str


# Changes of a description, by its members; of a list, by the numbers of its entries.
_Tree = dict[str | int, Any]


def changed(
    scene: Scene, settings: Settings, values: Mapping[str, Value]
) -> tuple[Scene, Settings]:
    """Return a scene and its settings with other values.

    Args:
        scene, settings: they stay as they are.
        values: values by the name of an object and its setting, such as ``Jelly.young`` or
            ``Jelly.mesh.edge_length``; ``ground.…``, ``contact.…`` and ``scene.…``; and
            ``integrator``, ``substeps``, ``frame_time`` and ``step_tolerance``.

    Raises:
        SceneError: there is no such setting, or it cannot have this value.
    """
    step_names = _names(settings) - _NOT_VARIED
    scene_changes: _Tree = {}
    settings_changes: _Tree = {}
    for name, value in values.items():
        leaf = _Leaf(value, name)
        if name in step_names:
            settings_changes[name] = leaf
            continue
        *path, last = _path(scene, name)
        node = scene_changes
        for key in path:
            node = node.setdefault(key, {})
        node[last] = leaf
    return _applied(scene, scene_changes), _applied(settings, settings_changes)


def _applied(item: Any, tree: _Tree) -> Any:
    """A description with all changes at once, since each new one is checked as a whole."""
    if not tree:
        return item
    if isinstance(item, list):
        return [_applied(each, tree.get(index, {})) for index, each in enumerate(item)]
    leaves = {str(key): leaf for key, leaf in tree.items() if isinstance(leaf, _Leaf)}
    members = {key: _fitting(item, key, leaf.value) for key, leaf in leaves.items()}
    inner = {
        str(key): _applied(getattr(item, str(key)), node)
        for key, node in tree.items()
        if key not in leaves
    }
    try:
        check_members(type(item), members)
        return replace(item, **members, **inner)
    except (ValueError, TypeError) as error:
        names = ", ".join(leaf.name for leaf in leaves.values())
        raise SceneError(f"{names}: {error}" if names else str(error)) from error


def _path(scene: Scene, name: str) -> list[str | int]:
    """The members that lead to a setting."""
    first, _, rest = name.partition(".")
    for kind in ("bodies", "colliders"):
        objects = getattr(scene, kind)
        matches = [k for k, obj in enumerate(objects) if name.startswith(f"{obj.name}.")]
        if matches:
            # Names may have dots, and begin alike.
            index = max(matches, key=lambda k: len(objects[k].name))
            path = name[len(objects[index].name) + 1 :].split(".")
            return [kind, index, *_members(objects[index], path, name)]
    if first == "scene" and rest:
        return [*_members(scene, rest.split("."), name)]
    if first in ("ground", "contact") and rest:
        if getattr(scene, first) is None:
            raise SceneError(f"{name} cannot be varied: the scene has no {first}.")
        return [*_members(scene, name.split("."), name)]
    named = [obj.name for obj in (*scene.bodies, *scene.colliders)]
    owners = [*named, "ground", "contact", "scene"]
    meant = suggestion(first, owners, f"There are {', '.join(owners)}.")
    raise SceneError(f"{name} is no setting of this scene. {meant}")


def _members(item: Any, path: list[str], name: str) -> list[str]:
    """The path, checked; settings of the material are as if they were of the body."""
    first, *rest = path
    if isinstance(item, SoftBody) and first not in _names(item) and first in _names(item.material):
        return ["material", *_members(item.material, path, name)]
    if first not in _names(item):
        known = _varied_names(item)
        if isinstance(item, SoftBody):
            known += _varied_names(item.material)
        meant = suggestion(first, known, f"There are {', '.join(known)}.")
        raise SceneError(f"{name}: there is no {first!r}. {meant}")
    before = getattr(item, first)
    if rest:
        if not is_dataclass(before):
            raise SceneError(f"{name}: {first} has no settings of its own here.")
        return [first, *_members(before, rest, name)]
    if not isinstance(before, (*_SIMPLE, list, tuple)) and not _is_constant(before):
        raise SceneError(f"{name} cannot be varied: it is no single value in this scene.")
    return [first]


def _is_constant(value: Any) -> bool:
    return bool(getattr(value, "is_constant", False)) or np.ndim(value) == 0


def _fitting(item: Any, member: str, value: Value) -> Value | tuple[float, ...]:
    """Turn whole numbers into floats, except counts: 1 and 1.0 are one setting."""
    if isinstance(value, list):
        return tuple(map(float, value))
    if type(value) is not int:
        return value
    try:
        check_members(type(item), {member: float(value)})
    except ValueError:
        return value
    return float(value)


def _names(item: Any) -> set[str]:
    kind: Any = type(item)
    return _names_of(kind)


@cache
def _names_of(kind: Any) -> set[str]:
    return {member.name for member in fields(kind) if member.init}


def _varied_names(item: Any) -> list[str]:
    return sorted(
        name for name in _names(item) if isinstance(getattr(item, name), _SIMPLE) and name != "name"
    )
