# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of the gas inside of a soft body."""

from bpy.props import BoolProperty, FloatProperty

from .options import KEYED, NOT_KEYED


class GasSettings:
    """Belongs to the settings of every soft body."""

    pressure: FloatProperty(
        name="Pressure (Pa)",
        description=(
            "Of the gas inside, above that around: inflates, below 0 sucks in. It fills the "
            "hollows of the mesh, such as the inside of a ball with a Solidify modifier; a mesh "
            "without any swells as a whole. Air in a tyre 2e5, in a party balloon 2e3"
        ),
        default=0.0,
        soft_min=-1e5,
        soft_max=1e6,
        precision=0,
        step=10_000,
        options=KEYED,
    )
    use_target_volume: BoolProperty(
        name="Target Volume",
        description="Lets the inside swell or shrink until it has so much of its volume",
        options=NOT_KEYED,
    )
    target_volume: FloatProperty(
        name="Target Volume",
        description=(
            "What the inside swells or shrinks to, as a part of the volume that it was modelled "
            "with, as far as its walls give way: 1 keeps it, 2 is twice as much. It fills the "
            "hollows of the mesh; a mesh without any swells as a whole"
        ),
        default=1.0,
        min=0.001,
        soft_min=0.1,
        soft_max=4.0,
        precision=3,
        step=5,
        options=KEYED,
    )
    volume_stiffness: FloatProperty(
        name="Volume Stiffness (Pa)",
        description=(
            "How firmly the target volume is kept: the pressure inside where all of the modelled "
            "volume is missing. Well above the stiffness of thin walls, the volume is met; air "
            "has 1e5"
        ),
        default=1e5,
        min=1e-3,
        soft_min=100.0,
        soft_max=1e7,
        precision=0,
        step=100_000,
        options=NOT_KEYED,
    )
