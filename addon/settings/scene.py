# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a scene, which all soft bodies share."""

from __future__ import annotations

import bpy

from ...core.results import RESULTS
from ...core.scene.integrator_table import INTEGRATORS
from . import (
    Setting,
    friction,
    kinetic_friction,
    length,
    menu,
    number,
    penalty,
    pointer,
    restitution,
    switch,
    text,
)
from .object import PAINTED

_RESULT_ITEMS = [(name, row.label, row.description) for name, row in RESULTS.items()]
_OVERLAYS = [
    (row.name, label, f"Where {label} is painted on soft bodies: blue is none, red all of it")
    for row in PAINTED
    for label in [row.label.partition(" (")[0]]
]


def _is_bouncy(props: bpy.types.PropertyGroup) -> bool:
    return bool(props.ground_response == "projection")


CONTACT = [
    Setting(
        "contact",
        "Contact",
        menu(
            [
                (
                    "automatic",
                    "Where Things Meet",
                    "Soft bodies touch each other, themselves and colliders; where nothing comes "
                    "close that costs next to nothing. A body alone that cannot touch itself does "
                    "without",
                ),
                ("always", "Always", "The same, but what cannot touch is refused"),
                (
                    "never",
                    "Never",
                    "Soft bodies pass through each other, and colliders have to be spheres",
                ),
            ],
            "automatic",
        ),
        "Whether soft bodies touch each other, themselves and colliders",
    ),
    Setting(
        "contact_distance",
        "Distance",
        length(low=0.0, soft=(None, 0.1), precision=5, step=0.01),
        "At which surfaces begin to push each other away; 0 chooses for each body by its size. "
        "Smaller is closer, and slower",
        panel="contact",
    ),
    Setting(
        "contact_formulation",
        "Method",
        menu(
            [
                ("convergent", "Convergent", "Weighs by area: forces do not depend on the mesh"),
                (
                    "original",
                    "Original",
                    "Adds up pairs, and adapts its stiffness as the scene goes",
                ),
            ],
            "convergent",
        ),
        "How the push of a contact is worked out",
        panel="contact",
    ),
    Setting(
        "self_contact", "Self Contact", switch(True), "A soft body touches itself", panel="contact"
    ),
    Setting(
        "friction_updates",
        "Friction Passes",
        number(0, low=0, soft=(None, 10)),
        "How often a step works out anew how hard things are pressed together, which friction "
        "depends on; 0 until that does not change any more",
        panel="contact",
    ),
]
SCENE = [
    *CONTACT,
    Setting("use_ground", "Ground", switch(True), "Soft bodies land on a level ground"),
    Setting("ground_height", "Height", length(), "Height of the ground", panel="ground"),
    friction("ground_friction", "ground"),
    kinetic_friction("ground_sliding_friction", "ground"),
    Setting(
        "ground_response",
        "Response",
        menu(
            [
                (
                    "barrier",
                    "Smooth",
                    "Pushes harder the closer a body comes, which never touches it",
                ),
                ("projection", "Bouncy", "Puts back what falls below, with a bounce of its own"),
            ],
            "barrier",
        ),
        "How the ground holds soft bodies up",
        panel="ground",
    ),
    restitution("ground_restitution", "ground", "ground", _is_bouncy),
    penalty("ground_penalty", "ground", "fell below", _is_bouncy),
    Setting(
        "effector_collection",
        "Collection",
        pointer(bpy.types.Collection),
        "Force fields of this collection alone act on soft bodies; where none is chosen, all do",
        changes_frames=False,
    ),
    Setting("use_fluid", "Fluid", switch(), "Soft bodies float or sink in a fluid at rest"),
    Setting(
        "fluid_level",
        "Level",
        length(),
        "Height of the surface of the fluid, which is everywhere below",
        panel="fluid",
    ),
    Setting(
        "fluid_density",
        "Density (kg/m³)",
        number(1000.0, low=0.0, soft=(1.0, 10_000.0), precision=0, step=1000),
        "How heavy the fluid is: what is lighter floats. Water 1000, sea 1025, oil 900, honey 1400",
        panel="fluid",
    ),
    Setting(
        "fluid_drag",
        "Drag",
        number(1.0, low=0.0, soft=(None, 5.0), precision=2),
        "How hard it is to move through the fluid fast: the drag coefficient, by the square "
        "of the speed. Ball 0.5, cube 1, plate 1.2",
        panel="fluid",
    ),
    Setting(
        "fluid_damping",
        "Damping (1/s)",
        number(0.5, low=0.0, soft=(None, 10.0), precision=2, step=10),
        "How fast slow motion in the fluid dies away, beside that of the material",
        panel="fluid",
    ),
    Setting(
        "use_scene_range",
        "Scene Frame Range",
        switch(True),
        "Simulate from the scene's first frame to its last",
        changes_frames=False,
    ),
    Setting(
        "frame_start",
        "Start",
        number(1),
        "Frame that shows the bodies before they move",
        changes_frames=False,
    ),
    Setting("frame_end", "End", number(100), "Last frame to simulate", changes_frames=False),
    Setting(
        "pre_roll",
        "Pre-Roll",
        number(0, low=0, soft=(None, 250)),
        "So many frames are simulated before the first and not shown, so that bodies have "
        "settled there. Animation is read from those frames, too: what it has no keys before "
        "stands still",
    ),
    Setting(
        "time_scale",
        "Time Scale",
        number(1.0, low=0.0, soft=(0.05, 4.0), precision=3),
        "How fast time passes for soft bodies: 0.5 is slow motion, half as fast. Animated "
        "objects stay where their keys have them",
        is_keyed=True,
    ),
    Setting(
        "integrator",
        "Integrator",
        menu([(n, row.label, row.description) for n, row in INTEGRATORS.items()], "automatic"),
        "How the solver goes from one frame to the next",
    ),
    Setting(
        "step_tolerance",
        "Tolerance",
        length(1e-4, low=0.0, soft=(1e-7, 1e-2), precision=6, step=0.01),
        "How far a vertex may be off after a step, for adaptive integrators",
    ),
    Setting(
        "substeps",
        "Substeps",
        number(0, low=0, soft=(None, 1000)),
        "Time steps in a frame; 0 chooses. More are slower, and more exact",
    ),
    Setting(
        "motion_samples",
        "Motion Samples",
        number(2, low=1, high=64, soft=(None, 8)),
        "How often in a frame the places of pins and goals are read from the animation; in "
        "between they go straight on. More follow quick turns, and each takes Blender as long "
        "as a frame",
    ),
    Setting(
        "device",
        "Device",
        menu(
            [
                ("auto", "Automatic", "The graphics card where it helps and there is one"),
                ("cpu", "CPU", "The processor"),
                ("cuda", "GPU (CUDA)", "An NVIDIA graphics card"),
            ],
            "auto",
        ),
        "What computes: the processor or the graphics card",
    ),
    Setting(
        "precision",
        "Precision",
        menu(
            [
                ("float64", "Double", "15 digits"),
                ("float32", "Single", "7 digits; faster, most of all on graphics cards"),
            ],
            "float64",
        ),
        "Of the numbers that the solver computes with",
    ),
    Setting(
        "results",
        "Record",
        menu(_RESULT_ITEMS),
        "What to keep of each frame beside its shape, for Show Field",
        more={"options": {"ENUM_FLAG"}},
    ),
    Setting(
        "field", "Field", menu(_RESULT_ITEMS), "What of it Show Field shows", changes_frames=False
    ),
    Setting(
        "paint_overlay",
        "Overlay",
        menu([("none", "Off", "Nothing is drawn"), *_OVERLAYS], "none"),
        "What is painted, drawn over all soft bodies in viewports that show overlays",
        changes_frames=False,
    ),
    Setting(
        "cache_folder",
        "Cache",
        text(subtype="DIR_PATH"),
        "Folder for simulated frames. Empty: supple_cache beside the .blend file, or, while "
        "that is not saved, your cache folder",
        changes_frames=False,
    ),
    Setting(
        "stop_renders",
        "Stop Renders",
        switch(True),
        "Stop a render at the first frame for which the simulated frames of a body are gone. "
        "Off: it is rendered at rest, and the log says so",
        changes_frames=False,
    ),
    Setting("unsaved_name", "", text()),
    Setting("simulated_as", "", text()),
]
