# SPDX-License-Identifier: GPL-3.0-or-later
"""Subdivide."""

from __future__ import annotations

import bpy

from .. import ids
from ..playback import fitting
from ..reports import coarse_meshes
from .named_object import NamedObjectOperator


class SUPPLE_OT_subdivide(NamedObjectOperator, bpy.types.Operator):
    """Give the mesh enough vertices to be seen bending and wobbling. Its shape, shape keys, UVs and
    vertex groups stay"""

    bl_idname = ids.SUBDIVIDE
    bl_label = "Subdivide"
    bl_options = {"REGISTER", "UNDO"}

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        coarse_meshes.subdivide(obj)
        fitting.update_object(obj)
        return f"{obj.name} has {len(obj.data.vertices)} vertices now."
