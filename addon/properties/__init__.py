# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets, kept in the .blend file.

Limits on the sliders keep to what makes sense. Beyond them a typed value is taken as it is and
refused with a message when it cannot be simulated, rather than changed silently.
"""

import bpy
from bpy.props import PointerProperty

from .attach import SuppleAttachment
from .object import SuppleObject
from .scene import SuppleScene

CLASSES = [SuppleAttachment, SuppleObject, SuppleScene]


def attach() -> None:
    bpy.types.Object.supple = PointerProperty(type=SuppleObject, override={"LIBRARY_OVERRIDABLE"})
    bpy.types.Scene.supple = PointerProperty(type=SuppleScene)


def detach() -> None:
    del bpy.types.Scene.supple
    del bpy.types.Object.supple
