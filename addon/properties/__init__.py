# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings that artists see, which the .blend file keeps."""

import bpy
from bpy.props import PointerProperty

from . import takes
from .object import SuppleAttachment, SuppleObject, SuppleScene

CLASSES = [*takes.CLASSES, SuppleAttachment, SuppleObject, SuppleScene]


def attach() -> None:
    bpy.types.Object.supple = PointerProperty(type=SuppleObject, override={"LIBRARY_OVERRIDABLE"})
    bpy.types.Scene.supple = PointerProperty(type=SuppleScene)


def detach() -> None:
    del bpy.types.Scene.supple
    del bpy.types.Object.supple
