# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets, kept in the .blend file.

Limits on the sliders keep to what makes sense. Beyond them a typed value is taken as it is and
refused in words when it cannot be simulated, rather than changed silently.
"""

import inspect

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from . import integrators
from .collider_properties import ColliderSettings
from .contact_properties import AttachSettings, BodyContactSettings, SceneContactSettings

HIDDEN = {"HIDDEN"}


class SuppleObject(AttachSettings, BodyContactSettings, ColliderSettings, bpy.types.PropertyGroup):
    """Settings of one soft body, or of one object that soft bodies land on."""

    enabled: BoolProperty(name="Soft Body", description="Simulate this object as an elastic solid")
    model: EnumProperty(
        name="Model",
        description="How the material answers to large deformations; all agree for small ones",
        items=[
            (
                "stable_neo_hookean",
                "Stable Neo-Hookean",
                "Flesh, jelly, rubber: keeps its volume and recovers from being turned inside out",
            ),
            (
                "neo_hookean",
                "Neo-Hookean",
                "The rubber of textbooks: resists being crushed without limit; no inside out",
            ),
            (
                "corotated_linear",
                "Corotated Linear",
                "Simple and quick to understand, as in game engines; for moderate stretches",
            ),
            (
                "st_venant_kirchhoff",
                "St. Venant–Kirchhoff",
                "Large turns and small stretches; gives way when it is pressed hard",
            ),
            (
                "as_rigid_as_possible",
                "As Rigid As Possible",
                "Cartoon stretch: holds its shape, but not its volume",
            ),
            (
                "linear",
                "Linear",
                "For small deformations only: a body that turns swells. For teaching",
            ),
        ],
        default="stable_neo_hookean",
    )
    young: FloatProperty(
        name="Stiffness",
        description=(
            "Young's modulus in pascal: how hard the material is to stretch. Jelly 5e3, "
            "flesh 1e4, soft rubber 1e6"
        ),
        default=1e5,
        soft_min=1e3,
        soft_max=1e7,
        precision=0,
        step=100_000,
    )
    poisson: FloatProperty(
        name="Bulging",
        description=(
            "Poisson's ratio: how much it bulges at the sides when pressed. 0 not at all, 0.49 "
            "nearly keeps its volume; it must stay below 0.5"
        ),
        default=0.45,
        min=-1.0,
        max=0.5,
        soft_min=0.0,
        soft_max=0.49,
        precision=3,
        step=1,
    )
    guard: FloatProperty(
        name="Guard",
        description=(
            "How hard the material holds against being crushed, in units of its stiffness: it "
            "else gives way. 0 for none, 1000 is a start"
        ),
        default=0.0,
        min=0.0,
        soft_max=10_000.0,
        precision=0,
        step=10_000,
    )
    density: FloatProperty(
        name="Density",
        description="Mass in kg/m³. Water and jelly 1000, foam 50, rubber 1200",
        default=1000.0,
        soft_min=10.0,
        soft_max=10_000.0,
        precision=0,
        step=1000,
    )
    damping: FloatProperty(
        name="Damping",
        description=(
            "How fast all motion dies away, in 1/s, in proportion to mass: it slows falling and "
            "turning too, like moving in syrup"
        ),
        default=0.5,
        soft_min=0.0,
        soft_max=10.0,
        precision=2,
        step=10,
    )
    stiffness_damping: FloatProperty(
        name="Inner Damping",
        description=(
            "How much the material resists changing its shape quickly, in seconds: calms the "
            "wobble, fast wobbles most, and leaves falling and turning alone. Rubber 0.002, "
            "flesh 0.01"
        ),
        soft_min=0.0,
        soft_max=0.1,
        precision=4,
        step=0.1,
    )
    viscosity: FloatProperty(
        name="Viscosity",
        description=(
            "Thickness of a liquid that fills the material, in Pa s: resists shearing whatever "
            "the stiffness is. Honey has 10"
        ),
        soft_min=0.0,
        soft_max=1000.0,
        precision=1,
        step=100,
    )
    resolution: IntProperty(
        name="Resolution",
        description=(
            "Cells along the longest side of the object. Twice as many bend more finely, and take "
            "about 16 times as long"
        ),
        default=13,
        min=1,
        soft_min=4,
        soft_max=64,
    )
    mesh_method: EnumProperty(
        name="Method",
        description="How the inside is filled with tetrahedra",
        items=[
            ("lattice", "Lattice", "Fast, takes any mesh: open, self-intersecting, in pieces"),
            ("ftetwild", "fTetWild", "Follows the surface closely, slower; needs pytetwild"),
            ("tetgen", "TetGen", "Keeps the surface exactly; closed clean meshes; needs tetgen"),
        ],
        default="lattice",
    )
    pin_group: StringProperty(
        name="Pin Group",
        description=(
            "Vertex group that is held in place, or led by the object where that is animated. "
            "Vertices with a weight above 0.5 are pinned"
        ),
    )
    integrator: EnumProperty(
        name="This Body",
        description="How the solver takes this body from one frame to the next",
        items=integrators.BODY_ITEMS,
        default=integrators.SCENE,
    )
    is_preview: BoolProperty(options=HIDDEN)
    simulated_vertices: IntProperty(options=HIDDEN)
    simulated_as: StringProperty(options=HIDDEN)


class SuppleScene(SceneContactSettings, bpy.types.PropertyGroup):
    """Settings that all soft bodies of a scene share."""

    use_ground: BoolProperty(
        name="Ground", description="Soft bodies land on a level ground", default=True
    )
    ground_height: FloatProperty(
        name="Height", description="Height of the ground", subtype="DISTANCE", unit="LENGTH"
    )
    ground_friction: FloatProperty(
        name="Friction",
        description="0 is ice, 0.5 wood, 1 rubber",
        default=0.5,
        soft_min=0.0,
        soft_max=2.0,
        precision=2,
    )
    ground_response: EnumProperty(
        name="Contact",
        description="How the ground holds soft bodies up",
        items=[
            ("barrier", "Smooth", "Pushes harder the closer a body comes, which never touches it"),
            ("projection", "Bouncy", "Puts back what falls below, with a bounce of its own"),
        ],
        default="barrier",
    )
    ground_restitution: FloatProperty(
        name="Bounce",
        description="Share of the speed kept when a vertex hits the ground",
        default=0.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    ground_penalty: FloatProperty(
        name="Push",
        description=(
            "How hard a vertex is pushed out that fell below, in 1/s: the faster it moves, the "
            "harder. 0 only puts it back"
        ),
        default=0.0,
        soft_min=0.0,
        soft_max=1000.0,
        precision=1,
        step=100,
    )
    use_scene_range: BoolProperty(
        name="Scene Frame Range",
        description="Simulate from the scene's first frame to its last",
        default=True,
    )
    frame_start: IntProperty(
        name="Start", description="Frame that shows the bodies before they move", default=1
    )
    frame_end: IntProperty(name="End", description="Last frame to simulate", default=100)
    integrator: EnumProperty(
        name="Integrator",
        description="How the solver goes from one frame to the next",
        items=integrators.ITEMS,
        default="automatic",
    )
    step_tolerance: FloatProperty(
        name="Tolerance",
        description="How far a vertex may be off after a step, for adaptive integrators",
        default=1e-4,
        soft_min=1e-7,
        soft_max=1e-2,
        precision=6,
        step=0.01,
        subtype="DISTANCE",
        unit="LENGTH",
    )
    substeps: IntProperty(
        name="Substeps",
        description="Time steps in a frame; 0 chooses. More are slower, and more exact",
        default=0,
        min=0,
        soft_max=1000,
    )
    device: EnumProperty(
        name="Device",
        description="What computes",
        items=[
            ("auto", "Automatic", "The graphics card where it helps and there is one"),
            ("cpu", "CPU", "The processor"),
            ("cuda", "GPU (CUDA)", "An NVIDIA graphics card"),
        ],
        default="auto",
    )
    precision: EnumProperty(
        name="Precision",
        description="Of the numbers that the solver computes with",
        items=[
            ("float64", "Double", "15 digits"),
            ("float32", "Single", "7 digits; faster, most of all on graphics cards"),
        ],
        default="float64",
    )
    cache_folder: StringProperty(
        name="Cache",
        description=(
            "Folder for simulated frames. Empty: supple_cache beside the .blend file, or, while "
            "that is not saved, your cache folder"
        ),
        subtype="DIR_PATH",
        options={"PATH_SUPPORTS_BLEND_RELATIVE"},
    )
    unsaved_name: StringProperty(options=HIDDEN)
    mesh_report: StringProperty(options=HIDDEN)
    simulated_as: StringProperty(options=HIDDEN)


def make_overridable(cls: type) -> None:
    """Lets library overrides keep what is set on them."""
    for base in cls.__mro__:
        for described in inspect.get_annotations(base).values():
            if hasattr(described, "keywords"):
                described.keywords["override"] = {"LIBRARY_OVERRIDABLE"}


make_overridable(SuppleObject)


def attach() -> None:
    bpy.types.Object.supple = PointerProperty(type=SuppleObject, override={"LIBRARY_OVERRIDABLE"})
    bpy.types.Scene.supple = PointerProperty(type=SuppleScene)


def detach() -> None:
    del bpy.types.Scene.supple
    del bpy.types.Object.supple
