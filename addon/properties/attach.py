# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of how soft bodies are attached and stitched to each other."""

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    PointerProperty,
    StringProperty,
)

from ..capture.attachments import STITCH, is_stitch
from ..capture.objects import is_collider, is_soft_body
from .options import KEYED, NOT_KEYED


def break_force_property(what: str, more: str = "") -> object:
    """The force at which something lets go; 0 is none."""
    return FloatProperty(
        name="Break Force (N)",
        description=(
            f"Pulled harder, {what} let go for good; 0 holds whatever pulls. 10 N carry 1 kg{more}"
        ),
        default=0.0,
        min=0.0,
        soft_max=1e4,
        precision=2,
        step=100,
        options=NOT_KEYED,
    )


def can_hold(props: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    """Whether what these settings belong to may be attached to an object."""
    if is_stitch(props):
        return is_soft_body(obj)
    return obj != props.id_data and (is_soft_body(obj) or is_collider(obj))


class AttachSettings:
    """Of one attachment: the first belongs to the settings of every soft body, others are rows."""

    attach_as: EnumProperty(
        name="Attach",
        description="How the vertices are held",
        items=[
            ("place", "In Place", "They keep their place on the object, and do not touch it", 0),
            (
                STITCH,
                "By Stitches",
                "Each is pulled to the nearest vertex of the object by a thread that is tightened, "
                "until the two touch",
                1,
            ),
        ],
        default="place",
        options=NOT_KEYED,
    )
    attach_to: PointerProperty(
        name="Object",
        description=(
            "Soft body or collider that some vertices keep their place on. Stitches take soft "
            "bodies, and this one for a seam of its own"
        ),
        type=bpy.types.Object,
        poll=can_hold,
    )
    attach_group: StringProperty(
        name="Group",
        description=(
            "Vertex group that is attached: its vertices with a weight above 0.5 keep their place "
            "on the object"
        ),
        options=NOT_KEYED,
    )
    stitch_group: StringProperty(
        name="Other Group",
        description=(
            "Vertex group of the object with the other ends of stitches, by weights above 0.5; "
            "empty for all of its vertices"
        ),
        options=NOT_KEYED,
    )
    closed: FloatProperty(
        name="Closed",
        description=(
            "How far stitches are tightened: at 0 they are as long as the vertices are apart at "
            "the start, at 1 the surfaces touch. Key it to close them over time"
        ),
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=KEYED,
    )
    attached: BoolProperty(
        name="Attached",
        description="Keyed off, it lets go at that frame, for good",
        default=True,
        options=KEYED,
    )
    attach_force: break_force_property(
        "vertices", ". All hold equal parts of it, so that it tears where it is pulled most"
    )


class SuppleAttachment(AttachSettings, bpy.types.PropertyGroup):
    """One more attachment of a soft body."""


class HoldSettings(AttachSettings):
    """Belongs to the settings of every soft body."""

    pinned: BoolProperty(
        name="Pinned",
        description=(
            "Pins and goals hold. Keyed off, they let go at that frame, for good: the body flies "
            "on as fast as it was carried"
        ),
        default=True,
        options=KEYED,
    )
    pin_force: break_force_property("pins and goals", " at rest. It is the pull at all of them")
    attachments: CollectionProperty(
        name="Attachments",
        description="More objects that it is attached to",
        type=SuppleAttachment,
    )
