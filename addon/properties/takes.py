# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes as Blender keeps them in the .blend file."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, CollectionProperty, IntProperty, PointerProperty, StringProperty


class SuppleTakeBody(bpy.types.PropertyGroup):
    """A soft body or a collider of a take.

    ``files`` names its playback files, with ``/`` between them; empty for a collider. ``settings``
    has its settings as JSON.
    """

    object: PointerProperty(type=bpy.types.Object, options={"HIDDEN"})
    files: StringProperty(options={"HIDDEN"})
    settings: StringProperty(options={"HIDDEN"})
    first: IntProperty(options={"HIDDEN"})
    count: IntProperty(options={"HIDDEN"})
    pre_roll: IntProperty(options={"HIDDEN"})
    vertices: IntProperty(options={"HIDDEN"})
    fingerprint: StringProperty(options={"HIDDEN"})


class SuppleTake(bpy.types.PropertyGroup):
    """A simulation that is kept: the folder of its playback files, its bodies and its settings."""

    name: StringProperty(name="Name", description="Name of the take", options=set())
    show_ghost: BoolProperty(
        name="Ghost",
        description="Draw this take over the viewport, to compare it with the present frames",
        options=set(),
    )
    folder: StringProperty(subtype="FILE_PATH", options={"HIDDEN", "PATH_SUPPORTS_BLEND_RELATIVE"})
    bodies: CollectionProperty(type=SuppleTakeBody, options={"HIDDEN"})
    settings: StringProperty(options={"HIDDEN"})
    fingerprint: StringProperty(options={"HIDDEN"})
    stiffness: StringProperty(options={"HIDDEN"})
    frames: IntProperty(options={"HIDDEN"})
    date: StringProperty(options={"HIDDEN"})
    size: StringProperty(options={"HIDDEN"})


CLASSES = [SuppleTakeBody, SuppleTake]
