# SPDX-License-Identifier: GPL-3.0-or-later
"""Tetrahedralize."""

from __future__ import annotations

import bpy

from .. import ids
from ..runs import Tetrahedralization
from .worker_operator import WorkerOperator


class SUPPLE_OT_tetrahedralize(WorkerOperator, bpy.types.Operator):
    """Fill all soft bodies with tetrahedra and show them, without simulating"""

    bl_idname = ids.TETRAHEDRALIZE
    bl_label = "Tetrahedralize"
    bl_options = {"REGISTER", "UNDO"}

    def begin_run(self, context: bpy.types.Context) -> Tetrahedralization:
        return Tetrahedralization(context)
