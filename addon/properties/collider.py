# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of an object that soft bodies land on."""

from bpy.props import BoolProperty, FloatProperty

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
        soft_min=0.0,
        soft_max=0.1,
        precision=4,
        step=0.1,
        subtype="DISTANCE",
        unit="LENGTH",
        options=NOT_KEYED,
    )
    collider_restitution: FloatProperty(
        name="Bounce",
        description="Share of the speed kept when a vertex hits the collider",
        default=0.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=NOT_KEYED,
    )
    collider_penalty: FloatProperty(
        name="Penalty (1/s)",
        description=(
            "How hard a vertex is pushed out that got inside: the faster it moves, the harder, "
            "like a mat that gives and throws back. 0 only puts it back"
        ),
        default=0.0,
        soft_min=0.0,
        soft_max=1000.0,
        precision=1,
        step=100,
        options=NOT_KEYED,
    )
