# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of how a soft body wobbles on top of its animation."""

from bpy.props import FloatProperty, StringProperty

from .options import NOT_KEYED


def speed_property() -> object:
    return FloatProperty(
        name="Speed (Hz)",
        description=(
            "How often in a second parts wobble whose weight is 1. Slower ones swing wider: half "
            "as fast is four times as far. What wobbles half as far by its weight is 1.4 times as "
            "fast"
        ),
        default=3.0,
        min=0.05,
        soft_max=15.0,
        options=NOT_KEYED,
    )


def duration_property() -> object:
    return FloatProperty(
        name="Lasts (s)",
        description=(
            "After so many seconds a wobble of a part whose weight is 1 has died away to a "
            "twentieth"
        ),
        default=1.0,
        min=0.01,
        soft_max=5.0,
        options=NOT_KEYED,
    )


def amount_property() -> object:
    return FloatProperty(
        name="Amount",
        description=(
            "How far parts are let off the animation, as a factor on all weights. 0 lets nothing "
            "wobble"
        ),
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=NOT_KEYED,
    )


def depth_property(default: float) -> object:
    return FloatProperty(
        name="Held From Depth",
        description=(
            "From this depth below the surface on, in parts of the greatest in the body, the "
            "inside follows the animation exactly; up to there it wobbles less and less. What is "
            "thin wobbles as a whole. 0 holds no core"
        ),
        default=default,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=NOT_KEYED,
    )


class JiggleSettings:
    """Belongs to the settings of every soft body."""

    jiggle_group: StringProperty(
        name="Jiggle Group",
        description=(
            "Vertex group of what wobbles on top of the animation: a weight of 1 goes as far as it "
            "can, half of it half as far, and what has none follows the animation exactly. Nothing "
            "sags: where the animation rests, the body comes to rest in its pose"
        ),
        options=NOT_KEYED,
    )
    jiggle_speed: speed_property()
    jiggle_duration: duration_property()
    jiggle_amount: amount_property()
    jiggle_depth: depth_property(0.0)
