# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of how a soft body starts."""

from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatVectorProperty,
    IntProperty,
    StringProperty,
)

from ..capture.start_shape import POSE
from ..start_runs import RUN
from .options import NOT_KEYED


class StartSettings:
    """Belongs to the settings of every soft body."""

    start_shape: EnumProperty(
        name="Shape",
        description="The shape that the body starts in",
        items=[
            (
                "rest",
                "At Rest",
                "As it is at the start frame, bent by its shape keys and the modifiers before the "
                "frames; that is the shape it comes back to",
            ),
            (
                POSE,
                "Pose",
                "As it is bent at the start frame, and it comes back to what was modelled, without "
                "its shape keys and the modifiers before the frames",
            ),
            (RUN, "Another Run", "As simulated frames left it, and as fast"),
        ],
        default="rest",
        options=NOT_KEYED,
    )
    start_run: StringProperty(
        name="Run",
        description="Simulated frames of the same mesh, which are kept for it",
        subtype="FILE_PATH",
        options={"PATH_SUPPORTS_BLEND_RELATIVE"},
    )
    start_run_frame: IntProperty(
        name="Frame",
        description="Which frame of that run, counted from its start; 0 is its last",
        min=0,
        options=NOT_KEYED,
    )
    start_settled: BoolProperty(
        name="Start Settled",
        description=(
            "Where the body begins at rest on something, start with the shape that its weight "
            "gives it, instead of sinking in the first frames"
        ),
        default=True,
        options=NOT_KEYED,
    )
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
