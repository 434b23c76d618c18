# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of an object that soft bodies land on."""

from bpy.props import BoolProperty, FloatProperty


class ColliderSettings:
    """Belongs to the settings of every object."""

    collider: BoolProperty(
        name="Collider",
        description="Soft bodies land on this object",
    )
    collider_friction: FloatProperty(
        name="Friction",
        description="0 is ice, 0.5 wood, 1 rubber",
        default=0.5,
        soft_min=0.0,
        soft_max=2.0,
        precision=2,
    )
    collider_sliding_friction: FloatProperty(
        name="Sliding",
        description="Share of the friction that is left once something slides",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
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
    )
    collider_restitution: FloatProperty(
        name="Bounce",
        description="Share of the speed kept when a vertex hits the collider",
        default=0.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    collider_penalty: FloatProperty(
        name="Push",
        description=(
            "How hard a vertex is pushed out that got inside, in 1/s: the faster it moves, the "
            "harder. 0 only puts it back"
        ),
        default=0.0,
        soft_min=0.0,
        soft_max=1000.0,
        precision=1,
        step=100,
    )
