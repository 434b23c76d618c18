# SPDX-License-Identifier: GPL-3.0-or-later
"""Attachments and stitches of soft bodies to other objects, and when these and pins let go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SceneError
from ...core.scene.channel import Channel
from ...core.scene.contact_settings import Attachment
from ...core.scene.stitches import Release, Stitches
from ..settings.object import STITCH
from ..units import exact_float
from .captured import CaptureError
from .motion import Recording, keyed_settings
from .objects import can_collide, is_soft_body
from .paint import group_members


def captured_release(
    owner: str, switch: Channel, force: float, may_grip: bool = True
) -> Release | None:
    """The release made of a switch that may be keyed and a break force; None where neither lets go.

    Args:
        owner: the attachment's name in messages.
        switch: 1 while it holds, else 0, at each frame.
        force: in newtons; 0 is none.
        may_grip: whether it takes hold again; else the first 0 is for good.

    Raises:
        CaptureError: when the force is negative.
    """
    force = exact_float(force)
    if force < 0.0:
        raise CaptureError(
            f"{owner}: the Break Force must be above 0 N, or 0 to never let go, and is {force:g} N."
        )
    holds = switch.samples >= 0.5
    # It holds before the first frame, so that a switch which is off there lets go at the start.
    changes = np.flatnonzero(np.diff(holds, prepend=True)).tolist()
    frame = changes[0] if changes else None
    again = tuple(changes[1:]) if may_grip else ()
    return None if frame is None and force == 0.0 else Release(frame, force or None, again)


Objects = Sequence[bpy.types.Object]
Row = tuple[str, bpy.types.PropertyGroup]


@dataclass(frozen=True)
class AttachmentReading:
    """The data read from one attachment.

    Args:
        made: the attachment as if constant.
        keyed: the recordings of values that change, by name.
        force: at which it lets go, in newtons; 0 is none.
        owner: its name in messages.
    """

    made: Attachment | Stitches
    keyed: dict[str, Recording]
    force: float
    owner: str

    def described(self) -> Attachment | Stitches:
        """The attachment for the solver, once its recordings are taken.

        Raises:
            CaptureError: when it makes no sense.
        """
        switch = self.keyed["attached"].channel()
        may_grip = isinstance(self.made, Attachment)
        release = captured_release(self.owner, switch, self.force, may_grip)
        if isinstance(self.made, Attachment):
            return replace(self.made, release=release)
        try:
            return replace(self.made, release=release, closed=self.keyed["closed"].channel())
        except SceneError as error:
            raise CaptureError(f"{self.owner}: {error}") from error


def rows_of(props: bpy.types.PropertyGroup) -> Iterator[Row]:
    """The attachments of a body that have an object, each with its path in the settings."""
    rows = [("", props), *((f"attachments[{k}]", row) for k, row in enumerate(props.attachments))]
    return ((path, row) for path, row in rows if row.attach_to is not None)


def is_stitch(row: bpy.types.PropertyGroup) -> bool:
    """Whether an attachment is by threads, and not in place."""
    return bool(row.attach_as == STITCH)


def read_attachments(
    bodies: Objects, colliders: Objects, with_contact: bool
) -> list[AttachmentReading]:
    """Read each attachment of each body.

    Args:
        bodies, colliders: of the scene, in its order.
        with_contact: whether they may touch at all.

    Raises:
        CaptureError: when something cannot be attached.
    """
    return [
        _read(index, path, row, bodies, colliders, with_contact)
        for index, obj in enumerate(bodies)
        for path, row in rows_of(obj.supple)
    ]


def _read(
    index: int,
    path: str,
    row: bpy.types.PropertyGroup,
    bodies: Objects,
    colliders: Objects,
    with_contact: bool,
) -> AttachmentReading:
    obj, target = bodies[index], row.attach_to
    is_stitched = is_stitch(row)
    done = "stitched" if is_stitched else "attached"
    if target == obj and not is_stitched:
        raise CaptureError(f"{obj.name} is attached to itself. Choose another object.")
    if not with_contact:
        raise CaptureError(
            f"{obj.name} is {done} to {target.name}, which needs contact. Choose the "
            "integrator Automatic or Implicit Euler and a Contact other than Never, or clear "
            "the attachment."
        )
    points = _points(obj, row, done)
    made: Attachment | Stitches
    if target in bodies:
        other = list(bodies).index(target)
        made = Attachment(index, points, other)
        if is_stitched:
            made = _stitches(obj, row, index, points, other)
    elif target in colliders and not is_stitched:
        made = Attachment(index, points, list(colliders).index(target), "collider")
    else:
        raise CaptureError(_why_not(obj, target, is_stitched))
    owner = f"{obj.name}, {done} to {target.name}"
    return AttachmentReading(made, keyed_settings(obj, path), row.attach_force, owner)


def _stitches(
    obj: bpy.types.Object,
    row: bpy.types.PropertyGroup,
    index: int,
    points: NDArray[np.int32],
    other: int,
) -> Stitches:
    target, name = row.attach_to, row.stitch_group
    far_ends = group_members(target, name, "stitch to", "Other Group") if name else None
    if target == obj:
        if far_ends is None:
            raise CaptureError(
                f"{obj.name} is stitched to itself and has no Other Group. Choose the vertex "
                "group of the other side of the seam."
            )
        if shared := len(np.intersect1d(points, far_ends)):
            vertices = "1 vertex is" if shared == 1 else f"{shared} vertices are"
            raise CaptureError(
                f"{obj.name}: {vertices} on both sides of a seam, in {row.attach_group!r} and "
                f"{name!r}. Take them out of one group."
            )
    return Stitches(index, points, other, far_ends)


def _points(obj: bpy.types.Object, row: bpy.types.PropertyGroup, done: str) -> NDArray[np.int32]:
    """Indices of the vertices that are attached."""
    if not row.attach_group:
        raise CaptureError(
            f"{obj.name} is {done} to {row.attach_to.name} and has no vertex group to attach. "
            "Choose one."
        )
    return group_members(obj, row.attach_group, "attach", "attachment")


def _why_not(obj: bpy.types.Object, target: bpy.types.Object, is_stitched: bool) -> str:
    """The reason why a target is neither a simulated soft body nor a collider, with the cure."""
    if is_soft_body(target):
        return (
            f"{obj.name} is {'stitched' if is_stitched else 'attached'} to {target.name}, which "
            "is hidden or left out with its collection. Show it, or choose another object."
        )
    if is_stitched:
        return (
            f"{obj.name} is stitched to {target.name}, which is not a soft body of the scene. "
            "Choose one, or attach it in place."
        )
    begin = f"{obj.name} is attached to {target.name}, which is"
    if not can_collide(target):
        return f"{begin} neither a soft body nor a mesh. Choose another object."
    if not target.supple.collider:
        return f"{begin} not a collider. Tick Collider there, or choose another object."
    return f"{begin} hidden. Show it, or choose another object."
