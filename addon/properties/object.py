# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist sets of one object."""

import inspect

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    StringProperty,
)

from ..capture.rest_shape import KEPT, MODELLED, SHAPE_KEYS
from ..playback import refined_frames, smooth
from .attach import HoldSettings, SuppleAttachment
from .collider import ColliderSettings
from .contact import BodyContactSettings
from .fit import FitSettings
from .gas import GasSettings
from .jiggle import JiggleSettings
from .material import MaterialSettings
from .options import HIDDEN, NOT_KEYED
from .paint import PaintSettings
from .start import StartSettings


def _show_smoothed(props: bpy.types.PropertyGroup, _: bpy.types.Context) -> None:
    smooth.update(props.id_data)
    refined_frames.update(props.id_data)


class SuppleObject(
    MaterialSettings,
    GasSettings,
    PaintSettings,
    JiggleSettings,
    HoldSettings,
    BodyContactSettings,
    ColliderSettings,
    StartSettings,
    FitSettings,
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
            "about ten times as long"
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
    rest_shape: EnumProperty(
        name="Rest Shape",
        description="The shape that the body has where nothing presses or pulls it",
        items=[
            (MODELLED, "Modelled", "The mesh as it is at the start, for the whole simulation"),
            (
                SHAPE_KEYS,
                "Shape Keys",
                "The mesh with its shape keys, of the values they have at each frame: it grows, "
                "shrinks or flexes towards them as a muscle does, and they no longer move its pins",
            ),
            (
                KEPT,
                "Kept",
                "What Keep This Shape has found: with it the mesh is as modelled where it is at "
                "rest, and does not sag",
            ),
        ],
        default=MODELLED,
        options=NOT_KEYED,
    )
    pin_group: StringProperty(
        name="Pin Group",
        description=(
            "Vertex group that is held in place, or moves with the object, its shape keys and the "
            "modifiers before the simulated frames. A weight of 1 pins a vertex; a lower one draws "
            "it to that place as a spring does, the softer the lower it is"
        ),
        options=NOT_KEYED,
    )
    goal_frequency: FloatProperty(
        name="Goal Frequency (Hz)",
        description=(
            "How stiffly vertices with a weight between 0 and 1 are drawn to their places: were "
            "all of the weight 1, the body would swing about them so often in a second. At 1 Hz "
            "gravity pulls it 25 cm below them, at 5 Hz 1 cm. A fourth of the weight has half the "
            "frequency"
        ),
        default=4.0,
        min=0.01,
        soft_max=20.0,
        options=NOT_KEYED,
    )
    goal_damping: FloatProperty(
        name="Goal Damping Ratio",
        description=(
            "How soon that swinging dies away: 0 goes on, 0.2 is a wobble of a few swings, 1 comes "
            "to rest without one. What moves with its places is not slowed"
        ),
        default=0.2,
        min=0.0,
        soft_max=1.0,
        options=NOT_KEYED,
    )
    field_weight: FloatProperty(
        name="Force Fields",
        description="How much of the scene's force fields acts on this body",
        default=1.0,
        min=0.0,
        soft_max=1.0,
        subtype="FACTOR",
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
        update=_show_smoothed,
    )
    is_preview: BoolProperty(options=HIDDEN)
    hides_coarse_hint: BoolProperty(options=HIDDEN)
    hides_obstacle_hint: BoolProperty(options=HIDDEN)
    preset_scale: FloatProperty(default=1.0, options=HIDDEN)
    suited_young: FloatProperty(options=HIDDEN)
    suited_viscosity: FloatProperty(options=HIDDEN)
    suited_bend: FloatProperty(options=HIDDEN)
    suited_to: StringProperty(options=HIDDEN)
    simulated_vertices: IntProperty(options=HIDDEN)
    simulated_as: StringProperty(options=HIDDEN)
    simulated_pre_roll: IntProperty(options=HIDDEN)
    simulated_frames: IntProperty(options=HIDDEN)
    hides_frames: BoolProperty(options=HIDDEN)
    mesh_report: StringProperty(options=HIDDEN)
    touching_report: StringProperty(options=HIDDEN)
    bending_report: StringProperty(options=HIDDEN)
    parts_report: StringProperty(options=HIDDEN)
    field_path: StringProperty(
        subtype="FILE_PATH", options=HIDDEN | {"PATH_SUPPORTS_BLEND_RELATIVE"}
    )
    field_start: IntProperty(options=HIDDEN)


def make_overridable(cls: type) -> None:
    """Lets library overrides keep what is set on them."""
    for base in cls.__mro__:
        for described in inspect.get_annotations(base).values():
            if hasattr(described, "keywords"):
                described.keywords["override"] = {"LIBRARY_OVERRIDABLE"}
                if described.function is CollectionProperty:
                    described.keywords["override"].add("USE_INSERTION")


make_overridable(SuppleAttachment)
make_overridable(SuppleObject)
