# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that suit an object's size, shape, pins and load, and how far it will sag.

A stiffness that was set here stays automatic until somebody sets another one. It follows pins that
are painted, and bodies that are put on top, before each simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ...core.meshing.surface import check_surface, default_edge_length
from ...core.preparation.pinned_sag import PinnedSag, pinned_sag
from ...core.preparation.ripples import default_viscosity
from ...core.preparation.self_weight import EARTH, Load, default_young, estimated_sag
from ..capture.body import Shape
from ..capture.motion import preserved_frame
from ..capture.objects import soft_bodies
from ..capture.pins import PIN_WEIGHT
from ..capture.surfaces import group_weights, without_supple
from ..units import exact_float, gravity, metres_per_unit
from .rest_boxes import rest_box
from .stacks import load_on, loads

# Of its height: what sags by more lies down, what sags by less looks rigid.
_LYING_SAG_RATIO, _RIGID_SAG_RATIO = 0.35, 0.01
# Of the length that pins leave free: what bends by more hangs down.
_HANGING_BEND_RATIO = 0.6


def suit(context: bpy.types.Context, objects: Sequence[bpy.types.Object]) -> None:
    """Gives new soft bodies the settings that suit them, but for those that somebody has set."""
    for obj in objects:
        try:
            shape = shape_of(context, obj)
            if not obj.supple.is_property_set("young"):
                _set_young(context.scene, obj, shape, load_on(context.scene, obj))
            if not obj.supple.is_property_set("viscosity"):
                _set_viscosity(obj, shape)
            if not obj.supple.is_property_set("resolution"):
                _set_resolution(obj, shape)
        except SuppleError:
            continue  # What has no usable shape keeps the general defaults; Simulate reports why.


def refresh(context: bpy.types.Context, first_frame: int) -> list[str]:
    """Make the stiffness that was set here suit pins and loads that are others now.

    Args:
        first_frame: at which the simulation begins.

    Returns:
        A sentence for each body whose stiffness has changed.
    """
    automatic = [obj for obj in soft_bodies(context) if is_automatic(obj) and obj.is_editable]
    if not automatic:
        return []
    messages = []
    with preserved_frame(context.scene):
        if context.scene.frame_current != first_frame:
            context.scene.frame_set(first_frame)
        carried = loads(context.scene)
        for obj in automatic:
            load = carried.get(obj, Load())
            if obj.supple.suited_to == _circumstances(obj, load):
                continue
            before = obj.supple.young
            try:
                _set_young(context.scene, obj, shape_of(context, obj), load)
            except SuppleError:
                continue  # Simulate reports why.
            if obj.supple.young != before:
                messages.append(
                    f"{obj.name} now has the stiffness that suits its pins and its load: "
                    f"{obj.supple.young:.2g} Pa."
                )
    return messages


def is_automatic(obj: bpy.types.Object) -> bool:
    """Whether a soft body still has the stiffness that was set here."""
    props = obj.supple
    return props.suited_young > 0.0 and props.young == props.suited_young


def suit_young(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Sets the stiffness with which a body sags by a tenth of its height.

    Raises:
        SuppleError: when its shape cannot be read.
    """
    _set_young(context.scene, obj, shape_of(context, obj), load_on(context.scene, obj))


def suit_resolution(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Sets the resolution that the thin parts of a body want, as far as it stays quick.

    Raises:
        SuppleError: when its shape cannot be read.
    """
    _set_resolution(obj, shape_of(context, obj))


def shape_of(context: bpy.types.Context, obj: bpy.types.Object) -> Shape:
    """An object as it is filled, in metres.

    Raises:
        SuppleError: when its shape cannot be read.
    """
    with without_supple([obj]):
        return Shape.read(context, obj, metres_per_unit(context.scene))


def sag_message(scene: bpy.types.Scene, obj: bpy.types.Object) -> tuple[str, bool]:
    """How far a body sags under its weight, and whether it lies down; cheap enough to be drawn.
    Empty of what jiggles, which does not sag, and of what gives way for good."""
    props, box = obj.supple, metres_per_unit(scene) * rest_box(obj)
    if props.jiggle_group or props.use_plasticity:
        return "", False
    young, density, pull = exact_float(props.young), exact_float(props.density), gravity(scene)
    sag = estimated_sag(box, young, density, pull, load_on(scene, obj))
    if sag == 0.0:
        return "", False
    if props.pin_group and props.suited_bend > 0.0:
        return _bend_message(props.suited_bend * density * float(np.linalg.norm(pull)) / young)
    if props.pin_group or props.attach_to is not None:
        return f"Standing free, it would {_free_sag(sag)}.", False
    if sag > _LYING_SAG_RATIO:
        return "Too soft for its size: it lies down.", True
    if sag < _RIGID_SAG_RATIO:
        return "Hardly sags: it looks rigid.", False
    return f"Sags by about {sag:.0%} of its height.", False


def slump_message(scene: bpy.types.Scene, obj: bpy.types.Object) -> str:
    """Whether a plastic body flows under its own weight; cheap enough to be drawn."""
    props, box = obj.supple, metres_per_unit(scene) * rest_box(obj)
    # What a column of it presses on its foot with.
    fall = float(np.linalg.norm(gravity(scene)))
    pressure = exact_float(props.density) * fall * float(np.ptp(box[:, 2]))
    if pressure <= exact_float(props.yield_stress):
        return ""
    return f"Slumps under its own weight: a column of its height needs {pressure:.0f} Pa."


def _bend_message(bend: float) -> tuple[str, bool]:
    if bend > _HANGING_BEND_RATIO:
        return "Too soft for its pins: what they leave free hangs down.", True
    if bend < _RIGID_SAG_RATIO:
        return "Hardly bends: it looks rigid.", False
    return f"Bends by about {bend:.0%} of its free length.", False


def _free_sag(sag: float) -> str:
    if sag > _LYING_SAG_RATIO:
        return "lie down"
    return "hardly sag" if sag < _RIGID_SAG_RATIO else f"sag by about {sag:.0%} of its height"


def _set_young(scene: bpy.types.Scene, obj: bpy.types.Object, shape: Shape, load: Load) -> None:
    props, density, pull = obj.supple, exact_float(obj.supple.density), gravity(scene)
    sag = _sag_of_pinned(obj, shape, density, pull)
    if sag is None:
        used = shape.vertices[np.unique(shape.triangles)]
        young = default_young(used, density, pull, load=load)
        props.suited_bend = 0.0
    else:
        young = sag.young()
        weight = density * float(np.linalg.norm(pull if any(pull) else EARTH))
        props.suited_bend = sag.compliance / weight
    follows = props.suited_viscosity > 0.0 and props.viscosity == props.suited_viscosity
    # Two digits promise no more than the estimate holds.
    props.young = props.suited_young = float(f"{young:.2g}")
    props.suited_to = _circumstances(obj, load)
    if follows:
        _set_viscosity(obj, shape)


def _sag_of_pinned(
    obj: bpy.types.Object, shape: Shape, density: float, pull: Sequence[float]
) -> PinnedSag | None:
    """How a body sags from its pins; None where none of them holds it."""
    vertices = _pinned_vertices(obj)
    if len(vertices) == 0 or len(shape.points) != len(obj.data.vertices):
        return None
    axes, _ = np.linalg.qr(np.array(obj.matrix_world.to_3x3()))
    try:
        return pinned_sag(
            *(shape.vertices, shape.triangles, shape.points[vertices], density, pull),
            poisson=exact_float(obj.supple.poisson),
            axes=axes,
        )
    except SuppleError:
        return None  # What is pinned where the body is not stands free.


def _pinned_vertices(obj: bpy.types.Object) -> NDArray[np.intp]:
    """The indices of the vertices that pins or attachments hold, unless it jiggles."""
    props = obj.supple
    if props.jiggle_group:
        return np.empty(0, dtype=np.intp)
    held = []
    for name, is_on in ((props.pin_group, True), (props.attach_group, props.attach_to is not None)):
        group = obj.vertex_groups.get(name) if name and is_on else None
        if group is not None:
            held.append(np.flatnonzero(group_weights(obj, group) >= PIN_WEIGHT))
    vertices = np.unique(np.concatenate(held)) if held else np.empty(0, dtype=np.intp)
    return vertices if len(vertices) < len(obj.data.vertices) else vertices[:0]


def _circumstances(obj: bpy.types.Object, load: Load) -> str:
    """The pins and the load of a body: the stiffness that suits it is another where these are."""
    vertices = _pinned_vertices(obj).astype(np.int32)
    return f"{len(vertices)} {crc32(vertices.tobytes())} {load.mass:.2g} {load.height:.2g}"


def _set_viscosity(obj: bpy.types.Object, shape: Shape) -> None:
    props = obj.supple
    material = exact_float(props.young), exact_float(props.poisson), exact_float(props.density)
    viscosity = default_viscosity(shape.longest_side, *material)
    props.viscosity = props.suited_viscosity = float(f"{viscosity:.2g}")


def _set_resolution(obj: bpy.types.Object, shape: Shape) -> None:
    surface = check_surface(shape.vertices, shape.triangles)
    obj.supple.resolution = round(shape.longest_side / default_edge_length(*surface))
