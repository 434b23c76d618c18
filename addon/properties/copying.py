# SPDX-License-Identifier: GPL-3.0-or-later
"""Copying the settings of a soft body or a collider to other objects."""

from __future__ import annotations

import bpy

from ..settings.object import ATTACHMENT, GROUPS, OBJECT

# Automatic values stay automatic on the other body, and suit its own size.
_AUTOMATIC = ("preset_scale", "suited_young", "suited_viscosity", "suited_bend")
# Settings that follow from others, or belong to one object only.
_OTHERS = ("enabled", "bounciness", "attachments")


def copy_settings(source: bpy.types.Object, target: bpy.types.Object) -> None:
    """Give an object all settings of another one. A group that it lacks is left out."""
    settings = source.supple
    if target.type == "MESH":
        target.supple.enabled = settings.enabled
    names = [row.name for row in OBJECT if row.label and row.name not in _OTHERS]
    _copy(settings, target.supple, [*names, *_AUTOMATIC], target)
    target.supple.suited_to = ""
    target.supple.attachments.clear()
    for row in settings.attachments:
        _copy(row, target.supple.attachments.add(), [row.name for row in ATTACHMENT], target)


def _copy(
    source: bpy.types.PropertyGroup,
    target: bpy.types.PropertyGroup,
    names: list[str],
    owner: bpy.types.Object,
) -> None:
    groups = owner.vertex_groups if owner.type == "MESH" else ()
    for name in names:
        value = getattr(source, name)
        is_missing_group = name in GROUPS and value and value not in groups
        if not is_missing_group and value != owner:
            setattr(target, name, value)
