# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of the stuff that a soft body is made of.

Blender has no unit for pressures, densities and rates: they stand in the labels.
"""

from bpy.props import BoolProperty, EnumProperty, FloatProperty

from ...core.materials import MODEL_TABLE
from ...core.scene.plasticity import DEFAULT_LIMIT
from .options import KEYED, NOT_KEYED


class MaterialSettings:
    """Belongs to the settings of every soft body."""

    model: EnumProperty(
        name="Model",
        description="How the material answers to large deformations; all agree for small ones",
        items=[(name, row.label, row.description) for name, row in MODEL_TABLE.items()],
        default="stable_neo_hookean",
        options=NOT_KEYED,
    )
    young: FloatProperty(
        name="Stiffness (Pa)",
        description=(
            "Young's modulus in pascal: how hard the material is to stretch. Jelly 5e3, "
            "flesh 1e4, soft rubber 1e6. A new body gets what lets it sag by a tenth of its height"
        ),
        default=1e5,
        min=0.0,
        soft_min=1e2,
        soft_max=1e7,
        precision=0,
        step=100_000,
    )
    poisson: FloatProperty(
        name="Poisson's Ratio",
        description=(
            "How much it bulges at the sides when pressed. 0 not at all, like cork; 0.49 nearly "
            "keeps its volume, like rubber and flesh; it must stay below 0.5"
        ),
        default=0.45,
        min=-1.0,
        max=0.5,
        soft_min=0.0,
        soft_max=0.49,
        precision=3,
        step=1,
        options=NOT_KEYED,
    )
    # Called so in the files of artists.
    guard: FloatProperty(
        name="Compression Resistance",
        description=(
            "How hard the material holds against being crushed flat, in units of its stiffness: "
            "it else gives way, like a can that is stepped on. 0 for none, 1000 is a start"
        ),
        default=0.0,
        min=0.0,
        soft_max=10_000.0,
        precision=0,
        step=10_000,
        options=NOT_KEYED,
    )
    density: FloatProperty(
        name="Density (kg/m³)",
        description="How heavy the stuff is. Water and jelly 1000, foam 50, rubber 1200",
        default=1000.0,
        min=0.0,
        soft_min=10.0,
        soft_max=10_000.0,
        precision=0,
        step=1000,
        options=NOT_KEYED,
    )
    damping: FloatProperty(
        name="Damping (1/s)",
        description=(
            "How fast all motion dies away, in proportion to mass: it slows falling and turning "
            "too, like moving in syrup. Motion that animated pins or goals give the body is kept. "
            "At 0.5 motion falls to 60 % in a second"
        ),
        default=0.5,
        min=0.0,
        soft_max=10.0,
        precision=2,
        step=10,
        options=NOT_KEYED,
    )
    stiffness_damping: FloatProperty(
        name="Stiffness Damping (s)",
        description=(
            "How much the material resists changing its shape quickly, in proportion to its "
            "stiffness: calms the wobble, fast wobbles most, and leaves falling and turning "
            "alone. Rubber 0.002, flesh 0.01"
        ),
        min=0.0,
        soft_max=0.1,
        precision=4,
        step=0.1,
        options=NOT_KEYED,
    )
    viscosity: FloatProperty(
        name="Viscosity (Pa s)",
        description=(
            "Thickness of a liquid that fills the material: resists shearing whatever the "
            "stiffness is. Honey has 10"
        ),
        min=0.0,
        soft_max=1000.0,
        precision=1,
        step=100,
        options=NOT_KEYED,
    )
    use_plasticity: BoolProperty(
        name="Plasticity",
        description="Gives way for good where it is pressed or pulled too hard, like clay or dough",
        options=NOT_KEYED,
    )
    yield_stress: FloatProperty(
        name="Yield Stress (Pa)",
        description=(
            "How hard it can be pressed or pulled and still come back. A body that stands on its "
            "own needs more than its density times 10 times its height: 1500 for 10 cm of clay"
        ),
        default=2000.0,
        min=0.0,
        soft_min=10.0,
        soft_max=1e6,
        precision=0,
        step=10_000,
        options=NOT_KEYED,
    )
    creep_time: FloatProperty(
        name="Creep Time (s)",
        description=(
            "How long it takes to give way: held in a shape, what stress is beyond the yield "
            "stress falls to a third in this time. 0 is at once, seconds are slow dough"
        ),
        min=0.0,
        soft_max=10.0,
        precision=2,
        step=10,
        options=NOT_KEYED,
    )
    hardening: FloatProperty(
        name="Hardening (Pa)",
        description=(
            "By how much the yield stress grows as the body is deformed for good, for each 100 % "
            "of strain: what is kneaded gets harder. 0 for none"
        ),
        min=0.0,
        soft_max=1e6,
        precision=0,
        step=10_000,
        options=NOT_KEYED,
    )
    plastic_limit: FloatProperty(
        name="Limit",
        description=(
            "The most that it is deformed for good, as a logarithmic strain: 0.7 is twice as long "
            "or half as high, 1.5 four and a half times. Beyond it is elastic"
        ),
        default=DEFAULT_LIMIT,
        min=0.0,
        soft_min=0.01,
        soft_max=3.0,
        precision=2,
        step=10,
        options=NOT_KEYED,
    )
    drag: FloatProperty(
        name="Drag (1/s)",
        description=(
            "Holds it back as still air does: motion falls to a third in one second at 1. Unlike "
            "Damping it can be keyed, and painted where it acts, such as on a cape that is let go"
        ),
        default=0.0,
        min=0.0,
        soft_max=20.0,
        precision=2,
        step=10,
        options=KEYED,
    )
