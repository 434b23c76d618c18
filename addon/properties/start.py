# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of how a soft body starts."""

from bpy.props import BoolProperty, FloatVectorProperty

from .options import NOT_KEYED


class StartSettings:
    """Belongs to the settings of every soft body."""

    start_velocity: FloatVectorProperty(
        name="Velocity",
        description="How fast the body moves as it starts, along the axes of the world, a second",
        subtype="VELOCITY",
        unit="VELOCITY",
        options=NOT_KEYED,
    )
    start_spin: FloatVectorProperty(
        name="Spin",
        description=(
            "How far the body turns in a second as it starts, about axes of the world through "
            "its centre of mass"
        ),
        subtype="EULER",
        unit="ROTATION",
        options=NOT_KEYED,
    )
    start_from_animation: BoolProperty(
        name="From Animation",
        description=(
            "Start as fast as the object's animation moves and turns it up to the start frame"
        ),
        options=NOT_KEYED,
    )
