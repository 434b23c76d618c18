# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of how soft bodies touch each other and what they land on."""

from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
)

from .friction import friction_property, kinetic_friction_property
from .options import NOT_KEYED


class BodyContactSettings:
    """Belongs to the settings of every soft body."""

    friction: friction_property()
    sliding_friction: kinetic_friction_property()
    contact_surface: EnumProperty(
        name="Surface",
        description="What of the body touches others, colliders and the ground",
        # Files keep the numbers.
        items=[
            (
                "automatic",
                "Automatic",
                "The mesh that is seen, or a simpler copy where that is dense. What of it crosses "
                "itself goes through itself, but not through others",
                2,
            ),
            ("mesh", "Mesh", "The surface that is seen; it must not cross itself", 1),
            ("tetrahedra", "Tetrahedra", "Their boundary: robust whatever the mesh is like", 0),
        ],
        default="automatic",
        options=NOT_KEYED,
    )
    contact_detail: FloatProperty(
        name="Decimate Ratio",
        description=(
            "Share of the faces that are kept in a simpler copy of the mesh, which touches in its "
            "place: quicker, and coarser where things lie on each other. Your mesh stays as it is"
        ),
        default=1.0,
        min=0.01,
        max=1.0,
        subtype="FACTOR",
        options=NOT_KEYED,
    )


class SceneContactSettings:
    """Belongs to the settings of every scene."""

    contact: EnumProperty(
        name="Contact",
        description="Whether soft bodies touch each other, themselves and colliders",
        items=[
            (
                "automatic",
                "Where Things Meet",
                "Soft bodies touch each other, themselves and colliders; where nothing comes close "
                "that costs next to nothing. A body alone that cannot touch itself does without",
            ),
            ("always", "Always", "The same, but what cannot touch is refused"),
            (
                "never",
                "Never",
                "Soft bodies pass through each other, and colliders have to be spheres",
            ),
        ],
        default="automatic",
        options=NOT_KEYED,
    )
    contact_distance: FloatProperty(
        name="Distance",
        description=(
            "At which surfaces begin to push each other away; 0 chooses for each body by its size. "
            "Smaller is closer, and slower"
        ),
        default=0.0,
        min=0.0,
        soft_max=0.1,
        precision=5,
        step=0.01,
        subtype="DISTANCE",
        unit="LENGTH",
        options=NOT_KEYED,
    )
    contact_formulation: EnumProperty(
        name="Method",
        description="How the push of a contact is worked out",
        items=[
            ("convergent", "Convergent", "Weighs by area: forces do not depend on the mesh"),
            ("original", "Original", "Adds up pairs, and adapts its stiffness as the scene goes"),
        ],
        default="convergent",
        options=NOT_KEYED,
    )
    self_contact: BoolProperty(
        name="Self Contact",
        description="A soft body touches itself",
        default=True,
        options=NOT_KEYED,
    )
    friction_updates: IntProperty(
        name="Friction Passes",
        description=(
            "How often a step works out anew how hard things are pressed together, which friction "
            "depends on; 0 until that does not change any more"
        ),
        default=0,
        min=0,
        soft_max=10,
        options=NOT_KEYED,
    )
