# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of a scene: all soft bodies share it."""

from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ...core.results import RESULTS
from ..capture import integrators
from .bounce import penalty_property, restitution_property
from .contact import SceneContactSettings
from .friction import friction_property, kinetic_friction_property
from .options import HIDDEN, KEYED, NOT_KEYED
from .paint import overlay_property

_RESULT_ITEMS = [(name, row.label, row.description) for name, row in RESULTS.items()]


def _recorded(name: str) -> Any:
    """A tick for one of the results: of a menu of several, Blender's buttons each switch off the
    others."""

    def is_ticked(props: bpy.types.PropertyGroup) -> bool:
        return name in props.results

    def tick(props: bpy.types.PropertyGroup, is_on: bool) -> None:
        props.results = props.results | {name} if is_on else props.results - {name}

    row = RESULTS[name]
    return BoolProperty(
        name=row.label,
        description=row.description,
        get=is_ticked,
        set=tick,
        options=NOT_KEYED,
    )


class RecordedSettings:
    """A tick for each result; ``results`` holds them."""

    __annotations__ = {f"record_{name}": _recorded(name) for name in RESULTS}


class SuppleScene(SceneContactSettings, RecordedSettings, bpy.types.PropertyGroup):
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
    ground_restitution: restitution_property("ground")
    ground_penalty: penalty_property("fell below")
    effector_collection: PointerProperty(
        name="Collection",
        description=(
            "Force fields of this collection alone act on soft bodies; where none is chosen, all do"
        ),
        type=bpy.types.Collection,
        options=NOT_KEYED,
    )
    use_fluid: BoolProperty(
        name="Fluid",
        description="Soft bodies float or sink in a fluid at rest",
        options=NOT_KEYED,
    )
    fluid_level: FloatProperty(
        name="Level",
        description="Height of the surface of the fluid, which is everywhere below",
        subtype="DISTANCE",
        unit="LENGTH",
        options=NOT_KEYED,
    )
    fluid_density: FloatProperty(
        name="Density (kg/m³)",
        description=(
            "How heavy the fluid is: what is lighter floats. Water 1000, sea 1025, oil 900, "
            "honey 1400"
        ),
        default=1000.0,
        min=0.0,
        soft_min=1.0,
        soft_max=10_000.0,
        precision=0,
        step=1000,
        options=NOT_KEYED,
    )
    fluid_drag: FloatProperty(
        name="Drag",
        description=(
            "How hard it is to move through the fluid fast: the drag coefficient, by the square "
            "of the speed. Ball 0.5, cube 1, plate 1.2"
        ),
        default=1.0,
        min=0.0,
        soft_max=5.0,
        precision=2,
        options=NOT_KEYED,
    )
    fluid_damping: FloatProperty(
        name="Damping (1/s)",
        description="How fast slow motion in the fluid dies away, beside that of the material",
        default=0.5,
        min=0.0,
        soft_max=10.0,
        precision=2,
        step=10,
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
    pre_roll: IntProperty(
        name="Pre-Roll",
        description=(
            "So many frames are simulated before the first and not shown, so that bodies have "
            "settled there. Animation is read from those frames, too: what it has no keys before "
            "stands still"
        ),
        min=0,
        soft_max=250,
        options=NOT_KEYED,
    )
    time_scale: FloatProperty(
        name="Time Scale",
        description=(
            "How fast time passes for soft bodies: 0.5 is slow motion, half as fast. Animated "
            "objects stay where their keys have them"
        ),
        default=1.0,
        min=0.0,
        soft_min=0.05,
        soft_max=4.0,
        precision=3,
        options=KEYED,
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
        min=0.0,
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
    motion_samples: IntProperty(
        name="Motion Samples",
        description=(
            "How often in a frame the places of pins and goals are read from the animation; in "
            "between they go straight on. More follow quick turns, and each takes Blender as long "
            "as a frame"
        ),
        default=2,
        min=1,
        soft_max=8,
        max=64,
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
    results: EnumProperty(
        name="Record",
        description="What to keep of each frame beside its shape, for Show Field",
        items=_RESULT_ITEMS,
        options={"ENUM_FLAG"},
    )
    field: EnumProperty(
        name="Field",
        description="What of it Show Field shows",
        items=_RESULT_ITEMS,
        options=NOT_KEYED,
    )
    paint_overlay: overlay_property()
    cache_folder: StringProperty(
        name="Cache",
        description=(
            "Folder for simulated frames. Empty: supple_cache beside the .blend file, or, while "
            "that is not saved, your cache folder"
        ),
        subtype="DIR_PATH",
        options={"PATH_SUPPORTS_BLEND_RELATIVE"},
    )
    stop_renders: BoolProperty(
        name="Stop Renders",
        description=(
            "Stop a render at the first frame for which the simulated frames of a body are gone. "
            "Off: it is rendered at rest, and the log says so"
        ),
        default=True,
        options=NOT_KEYED,
    )
    unsaved_name: StringProperty(options=HIDDEN)
    simulated_as: StringProperty(options=HIDDEN)
