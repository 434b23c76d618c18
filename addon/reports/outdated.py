# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what is played is what would be simulated now."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..capture import changes
from ..modifiers import find_modifier

#: What a simulation is since something was changed.
SETTINGS_CHANGED, SCENE_CHANGED, FRAMES_MISSING = (
    "settings changed",
    "scene changed",
    "frames missing",
)
UP_TO_DATE = "up to date"
_ORDER = (SETTINGS_CHANGED, SCENE_CHANGED, FRAMES_MISSING)


def state_of(owner: bpy.types.Object | bpy.types.Scene, what: list[str]) -> str:
    """The state of a simulation since this was changed of a body or a scene."""
    settings = {each.name for each in owner.supple.bl_rna.properties}
    is_set = not settings.isdisjoint(what) or not set(changes.SCENE_SETTINGS).isdisjoint(what)
    return SETTINGS_CHANGED if is_set else SCENE_CHANGED


def worst(states: Iterable[str]) -> str:
    """The state that matters most to somebody who looks at the frames; empty for none."""
    there = set(states)
    return next((state for state in _ORDER if state in there), "")


def changed_since(context: bpy.types.Context, objects: Iterable[bpy.types.Object]) -> str:
    """What was changed since bodies were simulated, such as ``Cube: Stiffness, mesh``; empty where
    nothing was."""
    playing = [obj for obj in objects if find_modifier(obj) is not None]
    owners = [(obj.name, changes.changed(obj)) for obj in playing]
    if playing:
        owners.append((context.scene.name, changes.changed_of_scene(context.scene)))
    return "; ".join(f"{name}: {', '.join(what)}" for name, what in owners if what)
