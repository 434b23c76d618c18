# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of one object: of a soft body, or of a collider.

Limits on the sliders keep to useful values. A typed value beyond them is not changed; if it cannot
be simulated, it is refused with a message.
"""

from __future__ import annotations

import bpy

from ...core.materials import MODEL_TABLE
from ...core.scene.paint import PAINTED_SETTINGS
from ...core.scene.rest_shape import DEFAULT_LIMIT
from ..start_runs import POSE, RUN
from . import (
    Setting,
    factor,
    friction,
    group,
    kinetic_friction,
    length,
    menu,
    number,
    penalty,
    pointer,
    restitution,
    rows,
    switch,
    text,
    vector,
)

#: Choices of *Attach* and *Rest Shape*.
STITCH = "stitch"
MODELLED, SHAPE_KEYS, KEPT = "modelled", "shape_keys", "kept"
#: Names of properties of a setting: the source of its paint, and the part of it that is left where
#: the paint is 0.
SOURCE, UNPAINTED = "paint_{}", "unpainted_{}"


def _is_thrown(props: bpy.types.PropertyGroup) -> bool:
    return props.start_shape != RUN and not props.start_from_animation


def _break_force(name: str, panel: str, what: str, more: str = "") -> Setting:
    return Setting(
        name,
        "Break Force",
        number(0.0, low=0.0, soft=(None, 1e4), precision=2, step=100),
        f"Pull at which {what} let go, or 0 to never let go. 10 N carry 1 kg{more}",
        panel=panel,
        unit="N",
    )


def _paint(row: Setting) -> list[Setting]:
    """The rows for the paint of a setting: its source, and the share where it is unpainted."""
    return [
        Setting(
            SOURCE.format(row.name),
            row.label,
            text(),
            "Vertex group or attribute that scales this setting across the body: a vertex "
            "group, a Float attribute on points, or the brightness of a color attribute. 1 "
            "is the full setting, 0 the share Where Unpainted",
        ),
        Setting(
            UNPAINTED.format(row.name),
            "Where Unpainted",
            number(0.1, low=row.paint, soft=(None, 1.0), precision=3, step=1),
            "Share of the setting where the weight is 0",
        ),
    ]


#: One attachment: the first belongs to the settings of every soft body, others are rows.
ATTACHMENT = [
    Setting(
        "attach_as",
        "Type",
        menu(
            [
                (
                    "place",
                    "In Place",
                    "The vertices keep their place on the object and do not collide with it",
                    0,
                ),
                (
                    STITCH,
                    "By Stitches",
                    "A thread pulls each vertex to the nearest vertex of the object until "
                    "the surfaces touch",
                    1,
                ),
            ],
            "place",
        ),
        "Kind of attachment",
    ),
    Setting(
        "attach_to",
        "Object",
        pointer(bpy.types.Object),
        "Soft body or collider that the vertices are attached to. Stitches need a soft body, "
        "which may be this one to close a seam",
    ),
    Setting(
        "attach_group",
        "Group",
        group(),
        "Vertex group to attach. Vertices with a weight above 0.5 keep their place on the object",
    ),
    Setting(
        "stitch_group",
        "Other Group",
        text(),
        "Vertex group of the object with the other ends of the stitches, by weights above "
        "0.5. Empty uses all its vertices",
    ),
    Setting(
        "closed",
        "Closed",
        factor(1.0),
        "How far the stitches are pulled tight. At 0 they keep their initial length, at 1 the "
        "surfaces touch. Key it to close a seam over time",
        is_keyed=True,
    ),
    Setting(
        "attached",
        "Attached",
        switch(True),
        "Keep the attachment. Keyed off, the vertices let go at that frame. Keyed on, they take "
        "hold of the object where both are then",
        is_keyed=True,
    ),
    _break_force(
        "attach_force",
        "attachment",
        "vertices",
        ". All vertices share it equally, so that the attachment tears where it is pulled most",
    ),
]


MATERIAL = [
    Setting(
        "material_set",
        "Material Set",
        text(),
        "Name of a material that several soft bodies share. A change on one of them changes all. "
        "Empty is a material of its own",
        changes_frames=False,
    ),
    Setting(
        "model",
        "Model",
        menu(
            [(name, row.label, row.description) for name, row in MODEL_TABLE.items()],
            "stable_neo_hookean",
        ),
        "Law of elasticity for large deformations. All models agree for small ones",
        panel="material advanced",
    ),
    Setting(
        "young",
        "Stiffness",
        number(1e5, low=0.0, soft=(1e2, 1e7), precision=0, step=100_000),
        "Young's modulus: how much the material resists stretching. Jelly 5e3, flesh 1e4, "
        "soft rubber 1e6. New bodies get the stiffness at which they sag by a tenth of their "
        "height",
        panel="material top",
        is_keyed=True,
        paint=0.001,
        unit="Pa",
    ),
    Setting(
        "poisson",
        "Poisson's Ratio",
        number(0.45, low=-1.0, high=0.5, soft=(0.0, 0.49), precision=3, step=1),
        "How much the sides bulge when the body is pressed: 0 not at all, like cork, 0.49 nearly "
        "keeps the volume, like rubber and flesh. Must be below 0.5",
        panel="material advanced",
    ),
    Setting(
        "guard",
        "Compression Resistance",
        number(low=0.0, soft=(None, 10_000.0), precision=0, step=10_000),
        "How much the material resists being crushed flat, as a multiple of its stiffness. "
        "Without it the body can collapse like a can. 0 is off, 1000 is a good start",
        panel="material advanced",
        shown=lambda props: props.model == "st_venant_kirchhoff",
    ),
    Setting(
        "density",
        "Density",
        number(1000.0, low=0.0, soft=(10.0, 10_000.0), precision=0, step=1000),
        "Mass per volume. Water and jelly 1000, foam 50, rubber 1200",
        panel="material",
        captured="density",
        paint=0.001,
        unit="kg/m³",
    ),
    Setting(
        "damping",
        "Damping",
        number(0.5, low=0.0, soft=(None, 10.0), precision=2, step=10),
        "Damping of all motion, in proportion to mass. It also slows falling and turning, like "
        "syrup, but not the motion of animated pins and goals. At 0.5 the speed falls to 60 % in "
        "a second",
        panel="material",
        captured="damping",
        paint=0.0,
        unit="1/s",
    ),
    Setting(
        "loss_factor",
        "Loss Factor",
        number(low=0.0, soft=(None, 2.0), precision=3, step=1),
        "Damping of changes of shape (tan δ of the body's slowest vibration). The same value looks "
        "the same at any size and stiffness: jelly 0.1, rubber 0.15, foam 0.5",
        panel="material advanced",
        captured="loss_factor",
        paint=0.0,
    ),
    Setting(
        "bounciness",
        "Rebound",
        number(100.0, 1.0, 100.0, subtype="PERCENTAGE", precision=0),
        "Height of the first bounce on a hard floor after a fall of 1 m, in percent. It follows "
        "from stiffness and loss factor, and changing it changes the loss factor. Very soft bodies "
        "go on wobbling, so no loss factor makes them bounce high",
        panel="material advanced",
        changes_frames=False,
    ),
    Setting(
        "stiffness_damping",
        "Stiffness Damping",
        number(low=0.0, soft=(None, 0.1), precision=4, step=0.1),
        "Damping of changes of shape, in proportion to stiffness. It calms wobbling, fast wobbles "
        "most, and does not slow falling or turning. Loss Factor damps alike at any size instead",
        panel="material advanced",
        captured="stiffness_damping",
        paint=0.0,
        unit="s",
    ),
    Setting(
        "viscosity",
        "Viscosity",
        number(low=0.0, soft=(None, 1000.0), precision=1, step=100),
        "Viscosity of a liquid inside the material. It resists shearing whatever the "
        "stiffness is. Honey has 10",
        panel="material advanced",
        captured="viscosity",
        paint=0.0,
        unit="Pa s",
    ),
    Setting(
        "use_plasticity",
        "Plasticity",
        switch(),
        "Deform for good where the body is pressed or pulled too hard, like clay or dough",
    ),
    Setting(
        "yield_stress",
        "Yield Stress",
        number(2000.0, low=0.0, soft=(10.0, 1e6), precision=0, step=10_000),
        "Stress above which the deformation stays. To stand up, a body needs more than its "
        "density times 10 times its height: 1500 for 10 cm of clay",
        panel="plasticity",
        paint=0.001,
        unit="Pa",
    ),
    Setting(
        "creep_time",
        "Creep Time",
        number(low=0.0, soft=(None, 10.0), precision=2, step=10),
        "How slowly the material gives way. While the shape is held, the stress above the "
        "yield stress falls to a third in this time. 0 gives way at once, slow dough takes "
        "seconds",
        panel="plasticity",
        unit="s",
    ),
    Setting(
        "hardening",
        "Hardening",
        number(low=0.0, soft=(None, 1e6), precision=0, step=10_000),
        "How much the yield stress grows for each 100 % of lasting strain, so that kneaded "
        "material gets harder. 0 is off",
        panel="plasticity",
        unit="Pa",
    ),
    Setting(
        "plastic_limit",
        "Limit",
        number(DEFAULT_LIMIT, low=0.0, soft=(0.01, 3.0), precision=2, step=10),
        "Largest lasting deformation, as a logarithmic strain: 0.7 is twice as long or half "
        "as high, 1.5 is four and a half times. Beyond it the body is elastic",
        panel="plasticity",
    ),
]
FORCES = [
    Setting(
        "pressure",
        "Pressure",
        number(soft=(-1e5, 1e6), precision=0, step=10_000),
        "Pressure of the gas inside, above the pressure around the body: positive inflates, "
        "negative sucks in. The gas fills the hollows of the mesh, or the whole mesh if it has "
        "none. Car tire 2e5, party balloon 2e3",
        panel="forces",
        is_keyed=True,
        unit="Pa",
    ),
    Setting(
        "use_target_volume",
        "Target Volume",
        switch(),
        "Inflate or deflate the body until its inside has the target volume",
        panel="forces",
    ),
    Setting(
        "target_volume",
        "Target Volume",
        number(1.0, low=0.001, soft=(0.1, 4.0), precision=3, step=5),
        "Volume to reach, as a factor of the modelled volume: 1 keeps it, 2 doubles it. "
        "Stiff walls may not let the body reach it. The hollows of the mesh count, or the "
        "whole mesh where it has none",
        panel="forces",
        shown=lambda props: props.use_target_volume,
        is_keyed=True,
    ),
    Setting(
        "volume_stiffness",
        "Volume Stiffness",
        number(1e5, low=1e-3, soft=(100.0, 1e7), precision=0, step=100_000),
        "How firmly the target volume is kept: the pressure inside when all of the modelled "
        "volume is missing. Set it well above the stiffness of thin walls to reach the "
        "volume. Air has 1e5",
        panel="forces",
        shown=lambda props: props.use_target_volume,
        captured="volume_stiffness",
        unit="Pa",
    ),
    Setting(
        "drag",
        "Drag",
        number(low=0.0, soft=(None, 20.0), precision=2, step=10),
        "Resistance of still air. At 1, the speed falls to a third in a second. Unlike "
        "Damping it can be keyed, and painted where it acts, such as on a cape",
        panel="forces",
        is_keyed=True,
        paint=0.0,
        unit="1/s",
    ),
    Setting(
        "field_weight",
        "Force Fields",
        number(1.0, low=0.0, soft=(None, 1.0), subtype="FACTOR"),
        "Effect of the scene's force fields on this body",
        panel="forces",
    ),
]
PINS = [
    Setting(
        "pin_group",
        "Pin Group",
        group(),
        "Vertex group to pin. Pinned vertices stay in place, or follow the object, its shape "
        "keys and the modifiers before the simulated frames. A spring pulls vertices with a "
        "weight below 1, and is softer for lower weights",
    ),
    Setting(
        "goal_frequency",
        "Goal Frequency",
        number(4.0, low=0.01, soft=(None, 20.0)),
        "Stiffness of the springs on vertices with a weight between 0 and 1: how often a "
        "body of weight 1 would swing in a second. At 1 Hz gravity pulls it 25 cm down, at 5 "
        "Hz 1 cm. A quarter of the weight has half the frequency",
        panel="goals",
        unit="Hz",
    ),
    Setting(
        "goal_damping",
        "Goal Damping Ratio",
        number(0.2, low=0.0, soft=(None, 1.0)),
        "How quickly the swinging of goals dies away. 0 never stops, 0.2 wobbles a few times, 1 "
        "stops without a swing. Vertices that move with their goals are not slowed",
        panel="goals",
    ),
    Setting(
        "pinned",
        "Pinned",
        switch(True),
        "Keep the pins and goals. Keyed off, they let go at that frame, and the body keeps its "
        "speed. Keyed on, they take hold of the body where it is then, and follow the animation "
        "from there",
        panel="pins",
        is_keyed=True,
    ),
    _break_force("pin_force", "pins", "pins and goals", " at rest. All pins and goals share it"),
    Setting("attachments", "Attachments", rows(), "Further objects that the body is attached to"),
]
JIGGLE = [
    Setting(
        "jiggle_group",
        "Jiggle Group",
        group(),
        "Vertex group that jiggles on top of the animation. A weight of 1 jiggles most, 0.5 "
        "half as far, and 0 follows the animation exactly. Nothing sags: when the animation "
        "rests, the body rests in its pose",
    ),
    Setting(
        "jiggle_speed",
        "Speed",
        number(3.0, low=0.05, soft=(None, 15.0)),
        "Wobbles per second where the weight is 1. Half the speed swings four times as far. "
        "Where the weight is 0.5, the wobble is 1.4 times as fast",
        panel="jiggle",
        unit="Hz",
    ),
    Setting(
        "jiggle_duration",
        "Duration",
        number(1.0, low=0.01, soft=(None, 5.0)),
        "Time in which a wobble dies away to a twentieth, where the weight is 1",
        panel="jiggle",
        unit="s",
    ),
    Setting(
        "jiggle_amount",
        "Amount",
        factor(1.0),
        "Factor on all weights. 0 follows the animation exactly",
        panel="jiggle",
    ),
    Setting(
        "jiggle_depth",
        "Rigid Core",
        factor(0.0),
        "Depth below the surface from which the inside follows the animation exactly, as a "
        "part of the greatest depth. Thin parts jiggle as a whole. 0 is no core",
        panel="jiggle",
    ),
]
CONTACT = [
    friction("friction", "collisions", paint=0.0),
    kinetic_friction("sliding_friction", "surface"),
    Setting(
        "contact_surface",
        "Surface",
        menu(
            [
                (
                    "automatic",
                    "Automatic",
                    "Collides as the visible mesh, or as a simpler copy of a dense one. "
                    "Parts that intersect each other don't self-collide",
                    2,
                ),
                (
                    "mesh",
                    "Mesh",
                    "Collides as the visible mesh, which must not intersect itself",
                    1,
                ),
                (
                    "tetrahedra",
                    "Tetrahedra",
                    "Collides as the boundary of the tetrahedra. Works with any mesh",
                    0,
                ),
            ],
            "automatic",
        ),
        "Surface of the body that collides",
        panel="surface",
        captured="touching",
    ),
    Setting(
        "contact_detail",
        "Decimate Ratio",
        factor(1.0, 0.01),
        "Ratio of faces that a simpler copy of the mesh keeps for collisions. Lower is "
        "faster and less exact. Your mesh does not change",
    ),
    Setting(
        "touches",
        "Touches",
        pointer(bpy.types.Collection),
        "Collection of the soft bodies and colliders that this object collides with. Empty is "
        "all. Two objects collide if the collections of both allow it",
    ),
    Setting("collider", "Collider", switch(), "Soft bodies collide with this object"),
    friction("collider_friction", "collider"),
    kinetic_friction("collider_sliding_friction", "collider"),
    Setting(
        "collider_thickness",
        "Thickness",
        length(low=0.0, soft=(None, 0.1), precision=4, step=0.1),
        "Thickness of a skin on both sides of the mesh. Soft bodies stay outside of it",
        panel="mesh collider",
    ),
    restitution("collider_restitution", "sphere collider", "collider"),
    penalty("collider_penalty", "sphere collider", "got inside"),
]
START = [
    Setting(
        "start_shape",
        "Shape",
        menu(
            [
                (
                    "rest",
                    "At Rest",
                    "The body starts as its shape keys and the modifiers before the frames "
                    "shape it at the start frame. It returns to this shape",
                ),
                (
                    POSE,
                    "Pose",
                    "The body starts as it is deformed at the start frame. It returns to the "
                    "modelled shape, without shape keys and modifiers",
                ),
                (
                    RUN,
                    "Another Run",
                    "The body starts with the shape and velocity of a simulated frame",
                ),
            ],
            "rest",
        ),
        "Shape of the body at the first frame",
    ),
    Setting(
        "start_run",
        "Run",
        text(subtype="FILE_PATH"),
        "Simulated frames of the same mesh. They are kept for this body",
        panel="start",
        shown=lambda props: props.start_shape == RUN,
    ),
    Setting(
        "start_run_frame",
        "Frame",
        number(0, low=0),
        "Frame of that run, counted from its start. 0 is the last frame",
        panel="start",
        shown=lambda props: props.start_shape == RUN,
    ),
    Setting(
        "start_settled",
        "Start Settled",
        switch(True),
        "If the body rests on something, start with the shape that its weight gives it, so "
        "that it does not sink in the first frames",
        panel="start",
        shown=lambda props: props.start_shape == "rest",
    ),
    Setting(
        "start_from_animation",
        "From Animation",
        switch(),
        "Start with the velocity and spin of the object's animation at the start frame",
        panel="start",
        shown=lambda props: props.start_shape != RUN,
    ),
    Setting(
        "start_velocity",
        "Velocity",
        vector(subtype="VELOCITY", unit="VELOCITY"),
        "Velocity at the start frame, along world axes",
        panel="start",
        shown=_is_thrown,
    ),
    Setting(
        "start_spin",
        "Spin",
        vector(subtype="EULER", unit="ROTATION"),
        "Rotation per second at the start frame, around world axes through the center of mass",
        panel="start",
        shown=_is_thrown,
    ),
]
FIT = [
    Setting(
        "fit_target",
        "Target",
        pointer(bpy.types.Object),
        "Object that the body should hit, such as an empty",
        changes_frames=False,
    ),
    Setting(
        "fit_frame",
        "At Frame",
        number(24),
        "Frame at which the body should hit the target",
        changes_frames=False,
    ),
    Setting(
        "fit_group",
        "Use Group",
        group(),
        "Vertex group whose weighted center should hit the target. Empty uses the center of mass",
        changes_frames=False,
    ),
    Setting(
        "fit_spin",
        "Also Solve Spin",
        switch(),
        "Solve for the spin at the start too, not only for the velocity",
        changes_frames=False,
    ),
    Setting(
        "fit_shape",
        "Shape",
        pointer(bpy.types.Object),
        "Mesh with the same vertices in the shape to match. It may be deformed, animated or "
        "simulated",
        changes_frames=False,
    ),
    Setting(
        "fit_first",
        "From Frame",
        number(24),
        "First frame at which the body should have this shape",
        changes_frames=False,
    ),
    Setting(
        "fit_last",
        "To Frame",
        number(24),
        "Last frame at which the body should have this shape",
        changes_frames=False,
    ),
    Setting(
        "fit_by",
        "Method",
        menu(
            [
                (
                    "forces",
                    "Forces",
                    "The smallest forces on the whole body. Pins follow their keys",
                ),
                (
                    "pins",
                    "Pin Motion",
                    "The smallest change to the motion of the pins that swings the rest of "
                    "the body to its keys",
                ),
            ]
        ),
        "Way to bring the body to its keys",
        changes_frames=False,
    ),
    Setting(
        "fit_keyed_group",
        "Limit to Group",
        group(),
        "Vertex group that should follow the keys. Empty uses the whole body",
        changes_frames=False,
    ),
]
BODY = [
    Setting("enabled", "Soft Body", switch(), "Simulate this object as an elastic solid"),
    Setting(
        "resolution",
        "Resolution",
        number(13, low=1, soft=(4, 64)),
        "Number of cells along the longest side of the object. Twice as many bend more "
        "finely and take about ten times as long",
        panel="solver",
    ),
    Setting(
        "mesh_method",
        "Method",
        menu(
            [
                (
                    "lattice",
                    "Lattice",
                    "Fast, and works with any mesh: open, self-intersecting or in pieces",
                ),
                ("ftetwild", "fTetWild", "Follows the surface closely. Slower, needs pytetwild"),
                (
                    "tetgen",
                    "TetGen",
                    "Keeps the surface exactly. Needs a closed, clean mesh and tetgen",
                ),
            ],
            "lattice",
        ),
        "Method that fills the body with tetrahedra",
    ),
    Setting(
        "rest_shape",
        "Rest Shape",
        menu(
            [
                (MODELLED, "Modelled", "The mesh at the first frame, for the whole simulation"),
                (
                    SHAPE_KEYS,
                    "Shape Keys",
                    "The mesh with its shape keys at each frame. The body grows, shrinks or "
                    "flexes towards it like a muscle. Shape keys no longer move pins",
                ),
                (
                    KEPT,
                    "Kept",
                    "The shape that Keep This Shape has found. At rest the body then looks "
                    "as modelled and does not sag",
                ),
            ],
            MODELLED,
        ),
        "Shape of the body when nothing presses or pulls it",
        panel="material advanced",
    ),
    Setting(
        "smooth",
        "Smooth",
        number(0, low=0, soft=(None, 20)),
        "Smoothing steps for the simulated frames in playback, bakes and renders. They "
        "remove dents and ripples, and keep details and volume. 0 is off, 5 is a good start",
        panel="solver",
        changes_frames=False,
    ),
    Setting(
        "play_speed",
        "Speed",
        number(1.0, low=0.01, soft=(0.1, 4.0), precision=2),
        "Speed at which the simulated frames play. 0.5 is slow motion. Bake and exports keep it",
        panel="playback",
        changes_frames=False,
    ),
    Setting(
        "play_offset",
        "Offset",
        number(0, soft=(-100, 100)),
        "Number of frames by which the simulated frames play later. Bake and exports keep it",
        panel="playback",
        changes_frames=False,
    ),
]
# Data that the add-on keeps on an object.
_HIDDEN = [
    Setting("kept_shape", "", pointer(bpy.types.Mesh)),
    Setting("kept_control", "", pointer(bpy.types.Mesh)),
    Setting("is_preview", "", switch()),
    Setting("hides_coarse_hint", "", switch()),
    Setting("hides_obstacle_hint", "", switch()),
    Setting("preset_scale", "", number(1.0)),
    Setting("suited_young", "", number()),
    Setting("suited_viscosity", "", number()),
    Setting("suited_bend", "", number()),
    Setting("suited_to", "", text()),
    Setting("simulated_vertices", "", number(0)),
    Setting("simulated_as", "", text()),
    Setting("simulated_pre_roll", "", number(0)),
    Setting("simulated_frames", "", number(0)),
    Setting("simulated_first", "", number(0)),
    Setting("hides_frames", "", switch()),
    Setting("mesh_report", "", text()),
    Setting("touching_report", "", text()),
    Setting("bending_report", "", text()),
    Setting("parts_report", "", text()),
    Setting("field_path", "", text(subtype="FILE_PATH")),
    Setting("field_start", "", number(0)),
    Setting("field_speed", "", number(1.0)),
]
_SHOWN = [*MATERIAL, *FORCES, *PINS, *ATTACHMENT, *JIGGLE, *CONTACT, *START, *FIT, *BODY]
#: The settings that can be painted, in the order of the panel.
PAINTED = [row for name in PAINTED_SETTINGS for row in _SHOWN if row.name == name]
OBJECT = [*_SHOWN, *(each for row in PAINTED for each in _paint(row)), *_HIDDEN]


#: The settings that name a vertex group of their own object.
GROUPS = [row.name for row in OBJECT if row.kind == group()]


def setting(name: str) -> Setting:
    """The row of a setting of an object."""
    return next(row for row in OBJECT if row.name == name)
