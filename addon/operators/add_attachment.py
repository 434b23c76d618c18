# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Attachment."""

from __future__ import annotations

import bpy

from .. import ids
from .named_object import NamedObjectOperator


class SUPPLE_OT_add_attachment(NamedObjectOperator, bpy.types.Operator):
    """Attach the soft body to one more object"""

    bl_idname = ids.ADD_ATTACHMENT
    bl_label = "Add Attachment"
    bl_options = {"REGISTER", "UNDO"}

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        row = obj.supple.attachments.add()
        row.attach_as = obj.supple.attach_as
        return f"{obj.name}: choose what else it is attached to."
