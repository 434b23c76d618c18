# SPDX-License-Identifier: GPL-3.0-or-later
"""Which vertices of soft bodies keep their place on other objects."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.scene.contact_settings import Attachment
from .captured import CaptureError
from .objects import can_collide
from .vertex_groups import group_members

Objects = Sequence[bpy.types.Object]


def capture_attachments(
    bodies: Objects, colliders: Objects, with_contact: bool
) -> list[Attachment]:
    """One attachment for each body that has one.

    Args:
        bodies, colliders: of the scene, in its order.
        with_contact: whether they may touch at all.

    Raises:
        CaptureError: when something cannot be attached.
    """
    attached = [(k, obj) for k, obj in enumerate(bodies) if obj.supple.attach_to is not None]
    return [_attachment(index, bodies, colliders, with_contact) for index, _ in attached]


def _attachment(index: int, bodies: Objects, colliders: Objects, with_contact: bool) -> Attachment:
    obj = bodies[index]
    target = obj.supple.attach_to
    if target == obj:
        raise CaptureError(f"{obj.name} is attached to itself; choose another object.")
    if not with_contact:
        raise CaptureError(
            f"{obj.name} is attached to {target.name}, which needs contact; choose the integrator "
            "Automatic or Implicit Euler and a Contact other than Never, or clear the attachment."
        )
    points = _points(obj, target)
    if target in bodies:
        return Attachment(index, points, list(bodies).index(target))
    if target in colliders:
        return Attachment(index, points, list(colliders).index(target), "collider")
    raise CaptureError(_why_not(obj, target))


def _points(obj: bpy.types.Object, target: bpy.types.Object) -> NDArray[np.int32]:
    """Indices of the vertices that are attached."""
    name = obj.supple.attach_group
    if not name:
        raise CaptureError(
            f"{obj.name} is attached to {target.name}, but no vertex group says where; choose one."
        )
    return group_members(obj, name, "attach", "attachment")


def _why_not(obj: bpy.types.Object, target: bpy.types.Object) -> str:
    """Of a target that is neither a soft body nor a collider of the scene."""
    begin = f"{obj.name} is attached to {target.name}, which is"
    if not can_collide(target):
        return f"{begin} neither a soft body nor a mesh; choose another object."
    if not target.supple.collider:
        return f"{begin} no collider; tick Collider there, or choose another object."
    return f"{begin} hidden; show it, or choose another object."
