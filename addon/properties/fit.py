# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist wants a soft body to do, for the solver to find how."""

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, PointerProperty, StringProperty

from .options import HIDDEN, NOT_KEYED


def _can_show(props: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    return obj.type == "MESH" and obj != props.id_data


class FitSettings:
    """Belongs to the settings of every soft body."""

    kept_shape: PointerProperty(type=bpy.types.Mesh, options=HIDDEN)
    kept_control: PointerProperty(type=bpy.types.Mesh, options=HIDDEN)
    fit_target: PointerProperty(
        name="Target",
        description="Object, such as an empty, at whose place the body is to be",
        type=bpy.types.Object,
        poll=lambda props, obj: obj != props.id_data,
    )
    fit_frame: IntProperty(
        name="At Frame",
        description="When it is to be there",
        default=24,
        options=NOT_KEYED,
    )
    fit_group: StringProperty(
        name="With Group",
        description=(
            "Vertex group whose mean is to be there, by its weights; empty for the centre of mass"
        ),
        options=NOT_KEYED,
    )
    fit_spin: BoolProperty(
        name="Spin Too",
        description="The spin at the start may change, too, and not only the velocity",
        options=NOT_KEYED,
    )
    fit_shape: PointerProperty(
        name="Shape",
        description="Mesh with the same vertices, as bent, animated or simulated as wanted",
        type=bpy.types.Object,
        poll=_can_show,
    )
    fit_first: IntProperty(
        name="From Frame",
        description="First frame at which the body is to have that shape",
        default=24,
        options=NOT_KEYED,
    )
    fit_last: IntProperty(
        name="To Frame",
        description="Last frame at which the body is to have that shape",
        default=24,
        options=NOT_KEYED,
    )
    fit_by: EnumProperty(
        name="By",
        description="What brings the body to its keys",
        items=[
            ("forces", "Forces", "The smallest forces on all of it. Pins go as they are keyed"),
            (
                "pins",
                "Pin Motion",
                "Pins leave their own motion by as little as can be, and swing the rest there",
            ),
        ],
        options=NOT_KEYED,
    )
    fit_keyed_group: StringProperty(
        name="Only Group",
        description="Vertex group that is to be where the keys have it; empty for all of the body",
        options=NOT_KEYED,
    )
