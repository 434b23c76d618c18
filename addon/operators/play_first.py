# SPDX-License-Identifier: GPL-3.0-or-later
"""Play First."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .. import ids
from ..playback import mesh_cache
from .named_object import NamedObjectOperator


class SUPPLE_OT_play_first(NamedObjectOperator, bpy.types.Operator):
    """Move the simulated frames before all modifiers, as a bake has them"""

    bl_idname = ids.PLAY_FIRST
    bl_label = "Play Frames First"
    bl_options = {"REGISTER", "UNDO"}

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not mesh_cache.play_first(obj):
            raise SuppleError(f"{obj.name} plays no simulated frames after other modifiers.")
        return f"{obj.name} plays its simulated frames before its other modifiers now."
