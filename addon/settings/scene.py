# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a scene, shared by all soft bodies."""

from __future__ import annotations

import bpy

from ...core.results import RESULTS
from ...core.scene.integrator_table import INTEGRATORS
from ..farm_formats import FORMATS, OPEN_JOB
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
    (row.name, row.label, f"Paint of {row.label} on soft bodies, from blue for 0 to red for 1")
    for row in PAINTED
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
                    "Automatic",
                    "Soft bodies collide with each other, themselves and colliders. Bodies "
                    "far from everything cost almost no time. A single body that cannot "
                    "collide with itself is simulated without contact",
                ),
                ("always", "Always", "Like Automatic, but bodies that cannot collide are refused"),
                (
                    "never",
                    "Never",
                    "Soft bodies pass through each other. Colliders must be spheres",
                ),
            ],
            "automatic",
        ),
        "Collisions of soft bodies with each other, themselves and colliders",
    ),
    Setting(
        "contact_distance",
        "Distance",
        length(low=0.0, soft=(None, 0.1), precision=5, step=0.01),
        "Distance at which surfaces begin to push each other away. Auto chooses it by the size "
        "of each body. Smaller distances leave smaller gaps and are slower",
        panel="contact",
        automatic=0.001,
    ),
    Setting(
        "contact_formulation",
        "Method",
        menu(
            [
                (
                    "convergent",
                    "Convergent",
                    "Weigh contacts by area, so that forces do not depend on the mesh",
                ),
                (
                    "original",
                    "Original",
                    "Add up contacts, and adapt their stiffness during the simulation",
                ),
            ],
            "convergent",
        ),
        "Formula of the contact forces",
        panel="contact",
    ),
    Setting(
        "self_contact",
        "Self Contact",
        switch(True),
        "Soft bodies collide with themselves",
        panel="contact",
    ),
    Setting(
        "friction_updates",
        "Friction Passes",
        number(0, low=0, soft=(None, 10)),
        "Updates of the contact forces that friction depends on, per step. Auto repeats until "
        "they stop changing",
        panel="contact",
        automatic=1,
    ),
]
SCENE = [
    *CONTACT,
    Setting("use_ground", "Ground", switch(True), "Soft bodies collide with a level ground"),
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
                    "Push harder the closer a body comes. Bodies never reach the ground",
                ),
                (
                    "projection",
                    "Bouncy",
                    "Put vertices below the ground back, with an adjustable bounce",
                ),
            ],
            "barrier",
        ),
        "How the ground supports soft bodies",
        panel="ground",
    ),
    restitution("ground_restitution", "ground", "ground", _is_bouncy),
    penalty("ground_penalty", "ground", "fell below", _is_bouncy),
    Setting(
        "effector_collection",
        "Collection",
        pointer(bpy.types.Collection),
        "Collection whose force fields act on soft bodies. Empty uses all force fields",
        changes_frames=False,
    ),
    Setting("use_fluid", "Fluid", switch(), "Soft bodies float or sink in a fluid at rest"),
    Setting(
        "fluid_level",
        "Level",
        length(),
        "Height of the fluid's surface. The fluid fills all space below",
        panel="fluid",
    ),
    Setting(
        "fluid_density",
        "Density",
        number(1000.0, low=0.0, soft=(1.0, 10_000.0), precision=0, step=1000),
        "Mass per volume of the fluid. Lighter bodies float. Water 1000, sea water 1025, oil "
        "900, honey 1400",
        panel="fluid",
        unit="kg/m³",
    ),
    Setting(
        "fluid_drag",
        "Drag",
        number(1.0, low=0.0, soft=(None, 5.0), precision=2),
        "Drag coefficient, which resists fast motion by the square of the speed. Ball 0.5, "
        "cube 1, plate 1.2",
        panel="fluid",
    ),
    Setting(
        "fluid_damping",
        "Damping",
        number(0.5, low=0.0, soft=(None, 10.0), precision=2, step=10),
        "Damping of slow motion in the fluid, in addition to the damping of the material",
        panel="fluid",
        unit="1/s",
    ),
    Setting(
        "use_scene_range",
        "Scene Range",
        switch(True),
        "Simulate the frame range of the scene",
        changes_frames=False,
    ),
    Setting(
        "frame_start",
        "Start",
        number(1),
        "First frame, which shows the bodies before they move",
        changes_frames=False,
    ),
    Setting("frame_end", "End", number(100), "Last frame to simulate", changes_frames=False),
    Setting(
        "pre_roll",
        "Pre-Roll",
        number(0, low=0, soft=(None, 250)),
        "Frames to simulate before the first one without showing them, so that bodies can "
        "settle. Animation is read from those frames too, and stands still before its first "
        "key",
        panel="solver",
    ),
    Setting(
        "time_scale",
        "Time Scale",
        number(1.0, low=0.0, soft=(0.05, 4.0), precision=3),
        "Speed of time for soft bodies. 0.5 is slow motion at half speed. Animated objects "
        "keep their timing",
        panel="solver",
        is_keyed=True,
    ),
    Setting(
        "integrator",
        "Integrator",
        menu([(n, row.label, row.description) for n, row in INTEGRATORS.items()], "automatic"),
        "Method of time integration, from one frame to the next",
    ),
    Setting(
        "step_tolerance",
        "Tolerance",
        length(1e-4, low=0.0, soft=(1e-7, 1e-2), precision=6, step=0.01),
        "Largest error of a vertex's position after a step, for adaptive integrators",
    ),
    Setting(
        "resolution_scale",
        "Resolution Scale",
        number(100.0, low=1.0, soft=(25.0, 200.0), subtype="PERCENTAGE", precision=0),
        "Factor on the resolution of all soft bodies. Lower it for a quick draft",
        panel="solver top",
    ),
    Setting(
        "substeps",
        "Substeps",
        number(0, low=0, soft=(None, 1000)),
        "Time steps per frame. Auto chooses the number. More steps are slower and more exact",
        panel="solver advanced",
        automatic=4,
    ),
    Setting(
        "motion_samples",
        "Motion Samples",
        number(2, low=1, high=64, soft=(None, 8)),
        "Samples per frame of the animation of pins and goals, with straight lines between them. "
        "More follow quick turns better. Each takes Blender as long to read as a frame",
        panel="solver advanced",
    ),
    Setting(
        "device",
        "Device",
        menu(
            [
                ("auto", "Automatic", "The graphics card, if there is one and it is faster"),
                ("cpu", "CPU", "The processor"),
                ("cuda", "GPU (CUDA)", "An NVIDIA graphics card"),
            ],
            "auto",
        ),
        "Device that computes the simulation",
        panel="solver advanced",
    ),
    Setting(
        "results",
        "Record",
        menu(_RESULT_ITEMS),
        "Values to record at each frame for Show Field",
        more={"options": {"ENUM_FLAG"}},
    ),
    Setting(
        "field",
        "Field",
        menu(_RESULT_ITEMS),
        "Recorded values that Show Field shows",
        changes_frames=False,
    ),
    Setting(
        "paint_overlay",
        "Overlay",
        menu([("none", "Off", "Draw nothing"), *_OVERLAYS], "none"),
        "Painted setting to draw over all soft bodies, in viewports that show overlays",
        changes_frames=False,
    ),
    Setting(
        "cache_folder",
        "Cache",
        text(subtype="DIR_PATH"),
        "Folder for simulated frames. Empty uses supple_cache beside the .blend file, or "
        "your cache folder while the file is not saved",
        changes_frames=False,
    ),
    Setting(
        "stop_renders",
        "Stop Renders",
        switch(True),
        "Stop a render at the first frame for which a body's simulated frames are missing. When "
        "off, such a body is rendered at rest and the log names it",
        changes_frames=False,
    ),
    Setting(
        "play_while_simulating",
        "Play While Simulating",
        switch(),
        "Play the frames so far again and again while more are simulated. When off, the playhead "
        "follows the newest frame",
        panel="playback",
        changes_frames=False,
    ),
    Setting(
        "farm",
        "Farm",
        menu(FORMATS, OPEN_JOB),
        "Format of the job that Submit makes",
        panel="farm",
        changes_frames=False,
    ),
    Setting(
        "farm_chunk",
        "Frames per Task",
        number(10, low=1, soft=(None, 100)),
        "Number of frames that one task of the farm renders",
        panel="farm",
        changes_frames=False,
    ),
    Setting("unsaved_name", "", text()),
    Setting("simulated_as", "", text()),
]
