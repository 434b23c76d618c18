# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of one object: of a soft body, or of what soft bodies land on.

Limits on the sliders keep to what makes sense. Beyond them a typed value is taken as it is and
refused with a message when it cannot be simulated, rather than changed silently.
"""

from __future__ import annotations

import bpy

from ...core.materials import MODEL_TABLE
from ...core.scene.paint import PAINTED_SETTINGS
from ...core.scene.plasticity import DEFAULT_LIMIT
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
#: Of a setting, the names of the properties that say with what it is painted, and how much of it is
#: left where nothing is.
SOURCE, UNPAINTED = "paint_{}", "unpainted_{}"


def _is_thrown(props: bpy.types.PropertyGroup) -> bool:
    return props.start_shape != RUN and not props.start_from_animation


def _break_force(name: str, panel: str, what: str, more: str = "") -> Setting:
    return Setting(
        name,
        "Break Force (N)",
        number(0.0, low=0.0, soft=(None, 1e4), precision=2, step=100),
        f"Pulled harder, {what} let go for good; 0 holds whatever pulls. 10 N carry 1 kg{more}",
        panel=panel,
    )


def _paint(row: Setting) -> list[Setting]:
    """What a setting is painted with, and how much of it is left where it is not."""
    return [
        Setting(
            SOURCE.format(row.name),
            row.label.partition(" (")[0],
            text(),
            "Vertex group or attribute that scales this setting from place to place: a group, a "
            "float attribute on points, or a colour attribute by how bright it is. 1 is the whole "
            "setting, 0 what is left where unpainted",
        ),
        Setting(
            UNPAINTED.format(row.name),
            "Where Unpainted",
            number(0.1, low=row.paint, soft=(None, 1.0), precision=3, step=1),
            "Share of the setting that is left where the weight is 0",
        ),
    ]


#: One attachment: the first belongs to the settings of every soft body, others are rows.
ATTACHMENT = [
    Setting(
        "attach_as",
        "Attach",
        menu(
            [
                (
                    "place",
                    "In Place",
                    "They keep their place on the object, and do not touch it",
                    0,
                ),
                (
                    STITCH,
                    "By Stitches",
                    "Each is pulled to the nearest vertex of the object by a thread that is "
                    "tightened, until the two touch",
                    1,
                ),
            ],
            "place",
        ),
        "How the vertices are held",
    ),
    Setting(
        "attach_to",
        "Object",
        pointer(bpy.types.Object),
        "Soft body or collider that some vertices keep their place on. Stitches take soft "
        "bodies, and this one for a seam of its own",
    ),
    Setting(
        "attach_group",
        "Group",
        group(),
        "Vertex group that is attached: its vertices with a weight above 0.5 keep their place "
        "on the object",
    ),
    Setting(
        "stitch_group",
        "Other Group",
        text(),
        "Vertex group of the object with the other ends of stitches, by weights above 0.5; "
        "empty for all of its vertices",
    ),
    Setting(
        "closed",
        "Closed",
        factor(1.0),
        "How far stitches are tightened: at 0 they are as long as the vertices are apart at "
        "the start, at 1 the surfaces touch. Key it to close them over time",
        is_keyed=True,
    ),
    Setting(
        "attached",
        "Attached",
        switch(True),
        "Keyed off, it lets go at that frame, for good",
        is_keyed=True,
    ),
    _break_force(
        "attach_force",
        "attachment",
        "vertices",
        ". All hold equal parts of it, so that it tears where it is pulled most",
    ),
]


MATERIAL = [
    Setting(
        "model",
        "Model",
        menu(
            [(name, row.label, row.description) for name, row in MODEL_TABLE.items()],
            "stable_neo_hookean",
        ),
        "How the material answers to large deformations; all agree for small ones",
    ),
    Setting(
        "young",
        "Stiffness (Pa)",
        number(1e5, low=0.0, soft=(1e2, 1e7), precision=0, step=100_000),
        "Young's modulus in pascal: how hard the material is to stretch. Jelly 5e3, "
        "flesh 1e4, soft rubber 1e6. A new body gets what lets it sag by a tenth of its height",
        panel="material top",
        is_keyed=True,
        paint=0.001,
    ),
    Setting(
        "poisson",
        "Poisson's Ratio",
        number(0.45, low=-1.0, high=0.5, soft=(0.0, 0.49), precision=3, step=1),
        "How much it bulges at the sides when pressed. 0 not at all, like cork; 0.49 nearly "
        "keeps its volume, like rubber and flesh; it must stay below 0.5",
        panel="volume and damping",
    ),
    Setting(
        "guard",
        "Compression Resistance",
        number(low=0.0, soft=(None, 10_000.0), precision=0, step=10_000),
        "How hard the material holds against being crushed flat, in units of its stiffness: "
        "it else gives way, like a can that is stepped on. 0 for none, 1000 is a start",
        panel="volume and damping",
        shown=lambda props: props.model == "st_venant_kirchhoff",
    ),
    Setting(
        "density",
        "Density (kg/m³)",
        number(1000.0, low=0.0, soft=(10.0, 10_000.0), precision=0, step=1000),
        "How heavy the stuff is. Water and jelly 1000, foam 50, rubber 1200",
        panel="material",
        captured="density",
        paint=0.001,
    ),
    Setting(
        "damping",
        "Damping (1/s)",
        number(0.5, low=0.0, soft=(None, 10.0), precision=2, step=10),
        "How fast all motion dies away, in proportion to mass: it slows falling and turning "
        "too, like moving in syrup. Motion that animated pins or goals give the body is kept. "
        "At 0.5 motion falls to 60 % in a second",
        panel="volume and damping",
        captured="damping",
        paint=0.0,
    ),
    Setting(
        "loss_factor",
        "Loss Factor",
        number(low=0.0, soft=(None, 2.0), precision=3, step=1),
        "Share of its energy that the material loses as it changes its shape (tan δ of the body's "
        "slowest vibration). The same at any size and stiffness: jelly 0.1, rubber 0.15, foam 0.5",
        panel="volume and damping",
        captured="loss_factor",
        paint=0.0,
    ),
    Setting(
        "bounciness",
        "Bounces Back",
        number(100.0, 1.0, 100.0, subtype="PERCENTAGE", precision=0),
        "How high the body comes back when it is dropped on something hard, as the loss factor "
        "lets it. Typing a number sets the loss factor. What is very soft for its fall comes back "
        "less: it wobbles",
        panel="volume and damping",
        changes_frames=False,
    ),
    Setting(
        "stiffness_damping",
        "Stiffness Damping (s)",
        number(low=0.0, soft=(None, 0.1), precision=4, step=0.1),
        "How much the material resists changing its shape quickly, in proportion to its "
        "stiffness: calms the wobble, fast wobbles most, and leaves falling and turning "
        "alone. Loss Factor does the same whatever the size",
        panel="volume and damping",
        captured="stiffness_damping",
        paint=0.0,
    ),
    Setting(
        "viscosity",
        "Viscosity (Pa s)",
        number(low=0.0, soft=(None, 1000.0), precision=1, step=100),
        "Thickness of a liquid that fills the material: resists shearing whatever the "
        "stiffness is. Honey has 10",
        panel="volume and damping",
        captured="viscosity",
        paint=0.0,
    ),
    Setting(
        "use_plasticity",
        "Plasticity",
        switch(),
        "Gives way for good where it is pressed or pulled too hard, like clay or dough",
    ),
    Setting(
        "yield_stress",
        "Yield Stress (Pa)",
        number(2000.0, low=0.0, soft=(10.0, 1e6), precision=0, step=10_000),
        "How hard it can be pressed or pulled and still come back. A body that stands on its "
        "own needs more than its density times 10 times its height: 1500 for 10 cm of clay",
        panel="plasticity",
        paint=0.001,
    ),
    Setting(
        "creep_time",
        "Creep Time (s)",
        number(low=0.0, soft=(None, 10.0), precision=2, step=10),
        "How long it takes to give way: held in a shape, what stress is beyond the yield "
        "stress falls to a third in this time. 0 is at once, seconds are slow dough",
        panel="plasticity",
    ),
    Setting(
        "hardening",
        "Hardening (Pa)",
        number(low=0.0, soft=(None, 1e6), precision=0, step=10_000),
        "By how much the yield stress grows as the body is deformed for good, for each 100 % "
        "of strain: what is kneaded gets harder. 0 for none",
        panel="plasticity",
    ),
    Setting(
        "plastic_limit",
        "Limit",
        number(DEFAULT_LIMIT, low=0.0, soft=(0.01, 3.0), precision=2, step=10),
        "The most that it is deformed for good, as a logarithmic strain: 0.7 is twice as long "
        "or half as high, 1.5 four and a half times. Beyond it is elastic",
        panel="plasticity",
    ),
]
FORCES = [
    Setting(
        "pressure",
        "Pressure (Pa)",
        number(soft=(-1e5, 1e6), precision=0, step=10_000),
        "Of the gas inside, above that around: inflates, below 0 sucks in. It fills the "
        "hollows of the mesh, such as the inside of a ball with a Solidify modifier; a mesh "
        "without any swells as a whole. Air in a tyre 2e5, in a party balloon 2e3",
        panel="forces",
        is_keyed=True,
    ),
    Setting(
        "use_target_volume",
        "Target Volume",
        switch(),
        "Lets the inside swell or shrink until it has so much of its volume",
        panel="forces",
    ),
    Setting(
        "target_volume",
        "Target Volume",
        number(1.0, low=0.001, soft=(0.1, 4.0), precision=3, step=5),
        "What the inside swells or shrinks to, as a part of the volume that it was modelled "
        "with, as far as its walls give way: 1 keeps it, 2 is twice as much. It fills the "
        "hollows of the mesh; a mesh without any swells as a whole",
        panel="forces",
        shown=lambda props: props.use_target_volume,
        is_keyed=True,
    ),
    Setting(
        "volume_stiffness",
        "Volume Stiffness (Pa)",
        number(1e5, low=1e-3, soft=(100.0, 1e7), precision=0, step=100_000),
        "How firmly the target volume is kept: the pressure inside where all of the modelled "
        "volume is missing. Well above the stiffness of thin walls, the volume is met; air "
        "has 1e5",
        panel="forces",
        shown=lambda props: props.use_target_volume,
        captured="volume_stiffness",
    ),
    Setting(
        "drag",
        "Drag (1/s)",
        number(low=0.0, soft=(None, 20.0), precision=2, step=10),
        "Holds it back as still air does: motion falls to a third in one second at 1. Unlike "
        "Damping it can be keyed, and painted where it acts, such as on a cape that is let go",
        panel="forces",
        is_keyed=True,
        paint=0.0,
    ),
    Setting(
        "field_weight",
        "Force Fields",
        number(1.0, low=0.0, soft=(None, 1.0), subtype="FACTOR"),
        "How much of the scene's force fields acts on this body",
        panel="forces",
    ),
]
PINS = [
    Setting(
        "pin_group",
        "Pin Group",
        group(),
        "Vertex group that is held in place, or moves with the object, its shape keys and the "
        "modifiers before the simulated frames. A weight of 1 pins a vertex; a lower one draws "
        "it to that place as a spring does, the softer the lower it is",
    ),
    Setting(
        "goal_frequency",
        "Goal Frequency (Hz)",
        number(4.0, low=0.01, soft=(None, 20.0)),
        "How stiffly vertices with a weight between 0 and 1 are drawn to their places: were "
        "all of the weight 1, the body would swing about them so often in a second. At 1 Hz "
        "gravity pulls it 25 cm below them, at 5 Hz 1 cm. A fourth of the weight has half the "
        "frequency",
        panel="goals",
    ),
    Setting(
        "goal_damping",
        "Goal Damping Ratio",
        number(0.2, low=0.0, soft=(None, 1.0)),
        "How soon that swinging dies away: 0 goes on, 0.2 is a wobble of a few swings, 1 comes "
        "to rest without one. What moves with its places is not slowed",
        panel="goals",
    ),
    Setting(
        "pinned",
        "Pinned",
        switch(True),
        "Pins and goals hold. Keyed off, they let go at that frame, for good: the body flies "
        "on as fast as it was carried",
        panel="pins",
        is_keyed=True,
    ),
    _break_force("pin_force", "pins", "pins and goals", " at rest. It is the pull at all of them"),
    Setting("attachments", "Attachments", rows(), "More objects that it is attached to"),
]
JIGGLE = [
    Setting(
        "jiggle_group",
        "Jiggle Group",
        group(),
        "Vertex group of what wobbles on top of the animation: a weight of 1 goes as far as it "
        "can, half of it half as far, and what has none follows the animation exactly. Nothing "
        "sags: where the animation rests, the body comes to rest in its pose",
    ),
    Setting(
        "jiggle_speed",
        "Speed (Hz)",
        number(3.0, low=0.05, soft=(None, 15.0)),
        "How often in a second parts wobble whose weight is 1. Slower ones swing wider: half "
        "as fast is four times as far. What wobbles half as far by its weight is 1.4 times as "
        "fast",
        panel="jiggle",
    ),
    Setting(
        "jiggle_duration",
        "Lasts (s)",
        number(1.0, low=0.01, soft=(None, 5.0)),
        "After so many seconds a wobble of a part whose weight is 1 has died away to a twentieth",
        panel="jiggle",
    ),
    Setting(
        "jiggle_amount",
        "Amount",
        factor(1.0),
        "How far parts are let off the animation, as a factor on all weights. 0 lets nothing "
        "wobble",
        panel="jiggle",
    ),
    Setting(
        "jiggle_depth",
        "Held From Depth",
        factor(0.0),
        "From this depth below the surface on, in parts of the greatest in the body, the "
        "inside follows the animation exactly; up to there it wobbles less and less. What is "
        "thin wobbles as a whole. 0 holds no core",
        panel="jiggle",
    ),
]
CONTACT = [
    friction("friction", "surface", paint=0.0),
    kinetic_friction("sliding_friction", "surface"),
    Setting(
        "contact_surface",
        "Surface",
        menu(
            [
                (
                    "automatic",
                    "Automatic",
                    "The mesh that is seen, or a simpler copy where that is dense. What of it "
                    "crosses itself goes through itself, but not through others",
                    2,
                ),
                ("mesh", "Mesh", "The surface that is seen; it must not cross itself", 1),
                ("tetrahedra", "Tetrahedra", "Their boundary: robust whatever the mesh is like", 0),
            ],
            "automatic",
        ),
        "What of the body touches others, colliders and the ground",
        panel="surface",
        captured="touching",
    ),
    Setting(
        "contact_detail",
        "Decimate Ratio",
        factor(1.0, 0.01),
        "Share of the faces that are kept in a simpler copy of the mesh, which touches in its "
        "place: quicker, and coarser where things lie on each other. Your mesh stays as it is",
    ),
    Setting("collider", "Collider", switch(), "Soft bodies land on this object"),
    friction("collider_friction", "collider"),
    kinetic_friction("collider_sliding_friction", "collider"),
    Setting(
        "collider_thickness",
        "Thickness",
        length(low=0.0, soft=(None, 0.1), precision=4, step=0.1),
        "Of a skin around the mesh, to either side: soft bodies stay outside of it",
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
                    "As it is at the start frame, bent by its shape keys and the modifiers before "
                    "the frames; that is the shape it comes back to",
                ),
                (
                    POSE,
                    "Pose",
                    "As it is bent at the start frame, and it comes back to what was modelled, "
                    "without its shape keys and the modifiers before the frames",
                ),
                (RUN, "Another Run", "As simulated frames left it, and as fast"),
            ],
            "rest",
        ),
        "The shape that the body starts in",
    ),
    Setting(
        "start_run",
        "Run",
        text(subtype="FILE_PATH"),
        "Simulated frames of the same mesh, which are kept for it",
        panel="start",
        shown=lambda props: props.start_shape == RUN,
    ),
    Setting(
        "start_run_frame",
        "Frame",
        number(0, low=0),
        "Which frame of that run, counted from its start; 0 is its last",
        panel="start",
        shown=lambda props: props.start_shape == RUN,
    ),
    Setting(
        "start_settled",
        "Start Settled",
        switch(True),
        "Where the body begins at rest on something, start with the shape that its weight "
        "gives it, instead of sinking in the first frames",
        panel="start",
        shown=lambda props: props.start_shape == "rest",
    ),
    Setting(
        "start_from_animation",
        "From Animation",
        switch(),
        "Start as fast as the object's animation moves and turns it up to the start frame",
        panel="start",
        shown=lambda props: props.start_shape != RUN,
    ),
    Setting(
        "start_velocity",
        "Velocity",
        vector(subtype="VELOCITY", unit="VELOCITY"),
        "How fast the body moves as it starts, along the axes of the world, a second",
        panel="start",
        shown=_is_thrown,
    ),
    Setting(
        "start_spin",
        "Spin",
        vector(subtype="EULER", unit="ROTATION"),
        "How far the body turns in a second as it starts, about axes of the world through "
        "its centre of mass",
        panel="start",
        shown=_is_thrown,
    ),
]
FIT = [
    Setting(
        "fit_target",
        "Target",
        pointer(bpy.types.Object),
        "Object, such as an empty, at whose place the body is to be",
        changes_frames=False,
    ),
    Setting("fit_frame", "At Frame", number(24), "When it is to be there", changes_frames=False),
    Setting(
        "fit_group",
        "With Group",
        group(),
        "Vertex group whose mean is to be there, by its weights; empty for the centre of mass",
        changes_frames=False,
    ),
    Setting(
        "fit_spin",
        "Spin Too",
        switch(),
        "The spin at the start may change, too, and not only the velocity",
        changes_frames=False,
    ),
    Setting(
        "fit_shape",
        "Shape",
        pointer(bpy.types.Object),
        "Mesh with the same vertices, as bent, animated or simulated as wanted",
        changes_frames=False,
    ),
    Setting(
        "fit_first",
        "From Frame",
        number(24),
        "First frame at which the body is to have that shape",
        changes_frames=False,
    ),
    Setting(
        "fit_last",
        "To Frame",
        number(24),
        "Last frame at which the body is to have that shape",
        changes_frames=False,
    ),
    Setting(
        "fit_by",
        "By",
        menu(
            [
                ("forces", "Forces", "The smallest forces on all of it. Pins go as they are keyed"),
                (
                    "pins",
                    "Pin Motion",
                    "Pins leave their own motion by as little as can be, and swing the rest there",
                ),
            ]
        ),
        "What brings the body to its keys",
        changes_frames=False,
    ),
    Setting(
        "fit_keyed_group",
        "Only Group",
        group(),
        "Vertex group that is to be where the keys have it; empty for all of the body",
        changes_frames=False,
    ),
]
BODY = [
    Setting("enabled", "Soft Body", switch(), "Simulate this object as an elastic solid"),
    Setting(
        "resolution",
        "Resolution",
        number(13, low=1, soft=(4, 64)),
        "Cells along the longest side of the object. Twice as many bend more finely, and take "
        "about ten times as long",
    ),
    Setting(
        "mesh_method",
        "Method",
        menu(
            [
                ("lattice", "Lattice", "Fast, takes any mesh: open, self-intersecting, in pieces"),
                ("ftetwild", "fTetWild", "Follows the surface closely, slower; needs pytetwild"),
                (
                    "tetgen",
                    "TetGen",
                    "Keeps the surface exactly; closed clean meshes; needs tetgen",
                ),
            ],
            "lattice",
        ),
        "How the inside is filled with tetrahedra",
    ),
    Setting(
        "rest_shape",
        "Rest Shape",
        menu(
            [
                (MODELLED, "Modelled", "The mesh as it is at the start, for the whole simulation"),
                (
                    SHAPE_KEYS,
                    "Shape Keys",
                    "The mesh with its shape keys, of the values they have at each frame: it "
                    "grows, shrinks or flexes towards them as a muscle does, and they no longer "
                    "move its pins",
                ),
                (
                    KEPT,
                    "Kept",
                    "What Keep This Shape has found: with it the mesh is as modelled where it is "
                    "at rest, and does not sag",
                ),
            ],
            MODELLED,
        ),
        "The shape that the body has where nothing presses or pulls it",
        panel="material",
    ),
    Setting(
        "smooth",
        "Smooth",
        number(0, low=0, soft=(None, 20)),
        "Evens out dents and ripples of the simulated frames, however they are shown: played, "
        "baked or rendered. Details and volume stay. 0 for none; 5 is a start",
        panel="result",
        changes_frames=False,
    ),
]
# What the add-on keeps beside an object.
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
    Setting("hides_frames", "", switch()),
    Setting("mesh_report", "", text()),
    Setting("touching_report", "", text()),
    Setting("bending_report", "", text()),
    Setting("parts_report", "", text()),
    Setting("field_path", "", text(subtype="FILE_PATH")),
    Setting("field_start", "", number(0)),
]
_SHOWN = [*MATERIAL, *FORCES, *PINS, *ATTACHMENT, *JIGGLE, *CONTACT, *START, *FIT, *BODY]
#: The settings that can be painted, in the order of the panel.
PAINTED = [row for name in PAINTED_SETTINGS for row in _SHOWN if row.name == name]
OBJECT = [*_SHOWN, *(each for row in PAINTED for each in _paint(row)), *_HIDDEN]


def setting(name: str) -> Setting:
    """The row of a setting of an object."""
    return next(row for row in OBJECT if row.name == name)
