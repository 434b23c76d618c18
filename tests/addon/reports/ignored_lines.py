# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages about a scene, and keys that an older file has."""

from __future__ import annotations

import bpy

from supple.addon.reports import ignored


def messages() -> list[str]:
    ignored._counts.clear()
    return ignored.messages(bpy.context)


def only() -> str:
    (message,) = messages()
    return message


def key(owner: bpy.types.ID, path: str, index: int = 0) -> None:
    """As an older file has it: settings cannot be keyed any more."""
    data = owner.animation_data or owner.animation_data_create()
    data.action = bpy.data.actions.new("Keys")
    data.action_slot = data.action.slots.new(id_type=owner.id_type, name=owner.name)
    strip = data.action.layers.new("Layer").strips.new(type="KEYFRAME")
    curve = strip.channelbag(data.action_slot, ensure=True).fcurves.new(path, index=index)
    curve.keyframe_points.insert(1.0, 0.0)
