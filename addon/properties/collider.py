# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of an object that soft bodies land on."""

from bpy.props import BoolProperty, FloatProperty

from .bounce import penalty_property, restitution_property
from .friction import friction_property, kinetic_friction_property
from .options import NOT_KEYED


class ColliderSettings:
    """Belongs to the settings of every object."""

    collider: BoolProperty(
        name="Collider",
        description="Soft bodies land on this object",
        options=NOT_KEYED,
    )
    collider_friction: friction_property()
    collider_sliding_friction: kinetic_friction_property()
    collider_thickness: FloatProperty(
        name="Thickness",
        description="Of a skin around the mesh, to either side: soft bodies stay outside of it",
        default=0.0,
        min=0.0,
        soft_max=0.1,
        precision=4,
        step=0.1,
        subtype="DISTANCE",
        unit="LENGTH",
        options=NOT_KEYED,
    )
    collider_restitution: restitution_property("collider")
    collider_penalty: penalty_property("got inside")
