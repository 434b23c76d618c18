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

from . import integrators, smooth
from .collider_properties import ColliderSettings
from .contact_properties import AttachSettings, BodyContactSettings, SceneContactSettings
from .friction import friction_property, kinetic_friction_property
from .material_properties import MaterialSettings
from .property_options import HIDDEN, NOT_KEYED


class SuppleObject(
    MaterialSettings,
    AttachSettings,
    BodyContactSettings,
    ColliderSettings,
    bpy.types.PropertyGroup,
):
    """Settings of one soft body, or of one object that soft bodies land on."""

    enabled: BoolProperty(
        name="Soft Body", description="Simulate this object as an elastic solid", options=NOT_KEYED
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
        options=NOT_KEYED,
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
        options=NOT_KEYED,
    )
    pin_group: StringProperty(
        name="Pin Group",
        description=(
            "Vertex group that is held in place, or led by the object where that is animated. "
            "Vertices with a weight above 0.5 are pinned"
        ),
        options=NOT_KEYED,
    )
    integrator: EnumProperty(
        name="Integrator",
        description="How the solver takes this body from one frame to the next",
        items=integrators.BODY_ITEMS,
        default=integrators.SCENE,
        options=NOT_KEYED,
    )
    smooth: IntProperty(
        name="Smooth",
        description=(
            "Evens out dents and ripples of the simulated frames, however they are shown: played, "
            "baked or rendered. Details and volume stay. 0 for none; 5 is a start"
        ),
        default=0,
        min=0,
        soft_max=20,
        options=NOT_KEYED,
        update=lambda own, _: smooth.update(own.id_data),
    )
    is_preview: BoolProperty(options=HIDDEN)
    simulated_vertices: IntProperty(options=HIDDEN)
    simulated_as: StringProperty(options=HIDDEN)
    mesh_report: StringProperty(options=HIDDEN)
    touching_report: StringProperty(options=HIDDEN)


class SuppleScene(SceneContactSettings, bpy.types.PropertyGroup):
    """Settings that all soft bodies of a scene share."""

    use_ground: BoolProperty(
        name="Ground",
        description="Soft bodies land on a level ground",
        default=True,
        options=NOT_KEYED,
    )
    ground_height: FloatProperty(
        name="Height",
        description="Height of the ground",
        subtype="DISTANCE",
        unit="LENGTH",
        options=NOT_KEYED,
    )
    ground_friction: friction_property()
    ground_sliding_friction: kinetic_friction_property()
    ground_response: EnumProperty(
        name="Response",
        description="How the ground holds soft bodies up",
        items=[
            ("barrier", "Smooth", "Pushes harder the closer a body comes, which never touches it"),
            ("projection", "Bouncy", "Puts back what falls below, with a bounce of its own"),
        ],
        default="barrier",
        options=NOT_KEYED,
    )
    ground_restitution: FloatProperty(
        name="Bounce",
        description="Share of the speed kept when a vertex hits the ground",
        default=0.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=NOT_KEYED,
    )
    ground_penalty: FloatProperty(
        name="Penalty (1/s)",
        description=(
            "How hard a vertex is pushed out that fell below: the faster it moves, the harder, "
            "like a mat that gives and throws back. 0 only puts it back"
        ),
        default=0.0,
        soft_min=0.0,
        soft_max=1000.0,
        precision=1,
        step=100,
        options=NOT_KEYED,
    )
    use_scene_range: BoolProperty(
        name="Scene Frame Range",
        description="Simulate from the scene's first frame to its last",
        default=True,
        options=NOT_KEYED,
    )
    frame_start: IntProperty(
        name="Start",
        description="Frame that shows the bodies before they move",
        default=1,
        options=NOT_KEYED,
    )
    frame_end: IntProperty(
        name="End", description="Last frame to simulate", default=100, options=NOT_KEYED
    )
    integrator: EnumProperty(
        name="Integrator",
        description="How the solver goes from one frame to the next",
        items=integrators.ITEMS,
        default="automatic",
        options=NOT_KEYED,
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
        options=NOT_KEYED,
    )
    substeps: IntProperty(
        name="Substeps",
        description="Time steps in a frame; 0 chooses. More are slower, and more exact",
        default=0,
        min=0,
        soft_max=1000,
        options=NOT_KEYED,
    )
    device: EnumProperty(
        name="Device",
        description="What computes: the processor or the graphics card",
        items=[
            ("auto", "Automatic", "The graphics card where it helps and there is one"),
            ("cpu", "CPU", "The processor"),
            ("cuda", "GPU (CUDA)", "An NVIDIA graphics card"),
        ],
        default="auto",
        options=NOT_KEYED,
    )
    precision: EnumProperty(
        name="Precision",
        description="Of the numbers that the solver computes with",
        items=[
            ("float64", "Double", "15 digits"),
            ("float32", "Single", "7 digits; faster, most of all on graphics cards"),
        ],
        default="float64",
        options=NOT_KEYED,
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
