# SPDX-License-Identifier: GPL-3.0-or-later
"""The modifiers that play simulated frames on an object, refine them, smooth them and show their
fields."""

from __future__ import annotations

import bpy

MODIFIER = "Supple"
REFINED = "Supple Refined"
SMOOTH = "Supple Smooth"
VIEW = "Supple Field"

_OWN_NAMES = {"MESH_CACHE": MODIFIER, "CORRECTIVE_SMOOTH": SMOOTH, "NODES": VIEW}


def shown_start(scene: bpy.types.Scene) -> int:
    """Return the frame at which the scene's simulation starts, its pre-roll before the shown
    frames."""
    modifiers = (find_modifier(obj) for obj in scene.objects)
    modifier = next(filter(None, modifiers), None)
    return 0 if modifier is None else simulated_start(modifier)


def simulated_start(modifier: bpy.types.Modifier) -> int:
    """Return the frame at which the frames of a modifier start."""
    return first_frame(modifier) - modifier.id_data.supple.simulated_pre_roll


def first_frame(modifier: bpy.types.Modifier) -> int:
    """Return the frame at which a modifier shows its first sample."""
    return round(modifier.frame_start / (modifier.frame_scale or 1.0))


def sample_at(modifier: bpy.types.Modifier, frame: float) -> float:
    """Return the sample that a modifier shows at a frame, which may lie between two."""
    return float(frame * modifier.frame_scale - modifier.frame_start)


def find_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The playback modifier of an object."""
    modifiers = (m for m in _caches(obj) if not m.name.startswith(REFINED))
    return next(modifiers, None)


def find_refined(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """The modifiers that play the refined mesh."""
    return [m for m in _caches(obj) if m.name.startswith(REFINED)]


def find_smooth(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """Return the modifier that smooths played or baked frames."""
    modifiers = (m for m in obj.modifiers if m.type == "CORRECTIVE_SMOOTH" and is_own(m))
    return next(modifiers, None)


def new_cache(obj: bpy.types.Object, name: str) -> bpy.types.Modifier:
    """Add a Mesh Cache modifier behind all others, without a file."""
    modifier = obj.modifiers.new(name, "MESH_CACHE")
    modifier.cache_format = "PC2"
    modifier.interpolation = "LINEAR"
    modifier.deform_mode = "OVERWRITE"
    modifier.show_in_editmode = False
    modifier.show_expanded = False
    return modifier


def removed(obj: bpy.types.Object, modifier: bpy.types.Modifier | None) -> bool:
    """Takes a modifier away; False where there is none."""
    if modifier is None:
        return False
    obj.modifiers.remove(modifier)
    return True


def _caches(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    return [m for m in obj.modifiers if m.type == "MESH_CACHE" and is_own(m)]


def is_own(modifier: bpy.types.Modifier) -> bool:
    """Whether Supple added it."""
    begin = _OWN_NAMES.get(modifier.type)
    return begin is not None and modifier.name.startswith(begin)
