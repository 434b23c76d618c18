# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the played frames are up to date with the scene."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import bpy

from ...core.errors import SuppleError
from ..capture import fingerprint
from ..capture.fingerprint import FOLLOWED_PART, SETTINGS_PART, Parts
from ..capture.objects import soft_bodies
from ..capture.scene import frame_range, played_range
from ..modifiers import find_modifier
from ..playback import mesh_cache
from ..units import played_frame

#: States of a simulation since something was changed.
SETTINGS_CHANGED, SCENE_CHANGED, FRAMES_MISSING = (
    "settings changed",
    "scene changed",
    "frames missing",
)
UP_TO_DATE = "up to date"
_ORDER = (SETTINGS_CHANGED, SCENE_CHANGED, FRAMES_MISSING)
# Parts of a scene's fingerprint that are neither Supple's settings nor objects.
_SCENE_SETTINGS = ("gravity", "frame rate", "unit scale", "start frame")
# Panels whose settings have ambiguous names, by their identifiers.
_PANELS = ("attach", "contact", "fluid", "ground", "jiggle", "pin", "start", "stitch")
_MOST_NAMES = 3


def state_of(owner: bpy.types.Object | bpy.types.Scene, what: list[str]) -> str:
    """The state of a simulation since this was changed of a body or a scene."""
    settings = {_setting_name(each) for each in owner.supple.bl_rna.properties}
    settings |= set(_SCENE_SETTINGS)
    return SCENE_CHANGED if settings.isdisjoint(what) else SETTINGS_CHANGED


def worst(states: Iterable[str]) -> str:
    """Return the state that matters most to a viewer of the frames; empty for none."""
    there = set(states)
    return next((state for state in _ORDER if state in there), "")


def changed_since(context: bpy.types.Context, objects: Iterable[bpy.types.Object]) -> list[str]:
    """Changes since bodies were simulated, such as ``Cube: Stiffness, mesh``, a text for each
    body and one for the scene."""
    playing = [obj for obj in objects if find_modifier(obj) is not None]
    owners = [(obj.name, changed(obj)) for obj in playing]
    if playing:
        owners.append((context.scene.name, changed_of_scene(context.scene)))
    return [f"{name}: {listed(what)}" for name, what in owners if what]


def listed(names: Sequence[str]) -> str:
    """Format the first few names and the count of the others."""
    left = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {left} more" if left > 0 else "")


def changed(obj: bpy.types.Object) -> list[str]:
    """Changes of a body since it was simulated: names of settings, ``place``, ``mesh``,
    ``animation`` and names of objects that it follows."""
    if not obj.supple.simulated_as or obj.mode != "OBJECT":
        return []
    then, now = _read(obj.supple.simulated_as), fingerprint.body_fingerprint(obj)
    labels = fingerprint.followed_labels(obj)
    before, after = then.get(FOLLOWED_PART, []), now[FOLLOWED_PART]
    followed = _new(before, after, labels) or (["mesh"] if before != after else [])
    return list(dict.fromkeys([*_changed_settings(obj, then, now), *followed]))


def changed_settings(obj: bpy.types.Object) -> list[str]:
    """The names of a body's settings that have changed since it was simulated."""
    if not obj.supple.simulated_as:
        return []
    now = {SETTINGS_PART: fingerprint.settings(obj)}
    return _changed_settings(obj, _read(obj.supple.simulated_as), now)


def changed_of_scene(scene: bpy.types.Scene) -> list[str]:
    """Changes of a scene since it was simulated: names of settings and objects."""
    if not scene.supple.simulated_as:
        return []
    then, now = _read(scene.supple.simulated_as), fingerprint.scene_fingerprint(scene)
    names = _changed_settings(scene, then, now)
    names += [what for what in _SCENE_SETTINGS if then.get(what) != now[what]]
    count = "number of soft bodies"
    names += ["soft bodies added or removed"] if then.get(count) != now[count] else []
    for kind, objects in fingerprint.acting_objects(scene).items():
        before = then.get(kind, ())
        names += _new(before, now[kind], [obj.name for obj in objects])
        names += [f"{kind} removed"] if len(before) > len(objects) else []
    return list(dict.fromkeys(names))


def _new(then: Sequence[str], now: Sequence[str], labels: Sequence[str]) -> list[str]:
    """The labels of the digests that were not there before."""
    left, names = list(then), []
    for digest, label in zip(now, labels, strict=True):
        if digest in left:
            left.remove(digest)
        else:
            names.append(label)
    return names


def _changed_settings(
    owner: bpy.types.Object | bpy.types.Scene, then: Parts, now: Parts
) -> list[str]:
    """The names of the settings that differ."""
    before, after = then.get(SETTINGS_PART, {}), now[SETTINGS_PART]
    if not isinstance(before, dict):
        return ["settings"]
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    # A file of an older Supple was simulated with the defaults of settings that came later.
    names = [name for name in names if name in before or _is_set(owner, name)]
    properties = owner.supple.bl_rna.properties
    shown = [properties.get(name.partition("[")[0]) for name in names]
    return list(dict.fromkeys(_setting_name(each) for each in shown if each is not None))


def _is_set(owner: bpy.types.Object | bpy.types.Scene, name: str) -> bool:
    """Whether a setting has been changed from its default; lists count as changed."""
    return "[" in name or owner.supple.is_property_set(name)


def _setting_name(setting: bpy.types.Property) -> str:
    """The name that a panel shows, and the panel where it needs one, as ``Ground Height``."""
    name, panel = setting.name, setting.identifier.partition("_")[0]
    is_clear = panel not in _PANELS or panel in name.lower()
    return str(name if is_clear else f"{panel.capitalize()} {name}")


def _read(text: str) -> Parts:
    """A fingerprint that a file has; empty for one of a build that wrote it otherwise."""
    return json.loads(text) if text.startswith("{") else {}


def message(context: bpy.types.Context) -> str:
    """The message about missing frames, such as ``Frames 9 to 20 are not simulated yet.``"""
    try:
        last = frame_range(context.scene)[-1]
        last_frames = map(mesh_cache.last_frame, soft_bodies(context))
        simulated = min((frame for frame in last_frames if frame is not None), default=last)
    except SuppleError:  # which other reports show
        return ""
    if simulated >= last:
        return ""
    reached, end = played_frame(context.scene, simulated), played_range(context.scene)[-1]
    if reached + 1 == end:
        return f"Frame {end} is not simulated yet."
    return f"Frames {reached + 1} to {end} are not simulated yet."
