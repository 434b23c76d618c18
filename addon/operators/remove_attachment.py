# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove Attachment."""

from __future__ import annotations

import bpy
from bpy.props import IntProperty

from ...core.errors import SuppleError
from .. import ids
from .named_object import NamedObjectOperator


class SUPPLE_OT_remove_attachment(NamedObjectOperator, bpy.types.Operator):
    """Remove this attachment of the soft body"""

    bl_idname = ids.REMOVE_ATTACHMENT
    bl_label = "Remove Attachment"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(options={"HIDDEN", "SKIP_SAVE"})

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        rows = obj.supple.attachments
        if not 0 <= self.index < len(rows):
            raise SuppleError(f"{obj.name} has no further attachment {self.index}.")
        rows.remove(self.index)
        return f"{obj.name}: one attachment less."
