# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of an object that soft bodies land on."""

from bpy.props import BoolProperty, FloatProperty

from .property_options import NOT_KEYED


class ColliderSettings:
    """Belongs to the settings of every object."""

    collider: BoolProperty(
        name="Collider",
        description="Soft bodies land on this object",
        options=NOT_KEYED,
    )
    collider_friction: FloatProperty(
        name="Friction",
        description="0 is ice, 0.5 wood, 1 rubber",
        default=0.5,
        soft_min=0.0,
        soft_max=2.0,
        precision=2,
        options=NOT_KEYED,
    )
    collider_sliding_friction: FloatProperty(
        name="Kinetic Friction",
        description=(
            "Share of the friction that is left once something slides: a crate is harder to set "
            "going than to keep going. 1 is all of it"
        ),
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=NOT_KEYED,
    )
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
