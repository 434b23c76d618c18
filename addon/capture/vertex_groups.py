# SPDX-License-Identifier: GPL-3.0-or-later
"""Which vertices a setting that names a vertex group means."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from .captured import CaptureError
from .surfaces import group_weights

#: Above it, a vertex counts as in the group.
WEIGHT_THRESHOLD = 0.5


def find_group(obj: bpy.types.Object, name: str, use: str) -> bpy.types.VertexGroup:
    """
    Raises:
        CaptureError: when the object has none of this name.
    """
    group = obj.vertex_groups.get(name)
    if group is None:
        raise CaptureError(
            f"{obj.name} has no vertex group {name!r} to {use}; choose another group."
        )
    return group


def why_no_group(obj: bpy.types.Object) -> str:
    """What a soft body lacks of the groups that hold or drive it; empty where it has them."""
    props = obj.supple
    try:
        for name, use in ((props.jiggle_group, "jiggle"), (props.pin_group, "pin")):
            if name:
                find_group(obj, name, use)
    except CaptureError as error:
        return str(error)
    return ""


def group_members(obj: bpy.types.Object, name: str, use: str, setting: str) -> NDArray[np.int32]:
    """Indices of the vertices that count as in a group.

    Args:
        obj: whose group it is.
        name: of the group.
        use: what is done to its vertices, and ``setting`` what names it, for messages.

    Raises:
        CaptureError: when the group does not exist or is empty.
    """
    weights = group_weights(obj, find_group(obj, name, use))
    members = np.flatnonzero(weights > WEIGHT_THRESHOLD).astype(np.int32)
    if len(members) == 0:
        raise CaptureError(
            f"{obj.name}: no vertex has a weight above {WEIGHT_THRESHOLD} in the group {name!r} to "
            f"{use}; paint some, or clear the {setting}."
        )
    return members
