# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that suit an object's size and shape, and how far it will sag."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...core.errors import SuppleError
from ...core.meshing.surface import check_surface, default_edge_length
from ...core.preparation.ripples import default_viscosity
from ...core.preparation.self_weight import default_young, estimated_sag
from ..bake import shape_keys
from ..capture.body import Shape
from ..capture.motion import transform
from ..capture.surfaces import Points, vertex_coordinates, without_supple
from ..modifiers import find_modifier
from ..units import exact_float, gravity, metres_per_unit

# Of its height: what sags by more lies down, what sags by less looks rigid.
_LYING_SAG_RATIO, _RIGID_SAG_RATIO = 0.35, 0.01

# Around meshes, which takes milliseconds a redraw, by their session_uid.
_boxes: dict[int, Points] = {}


def forget_boxes() -> None:
    """For whenever Blender reports an edit."""
    _boxes.clear()


def suit(context: bpy.types.Context, objects: Sequence[bpy.types.Object]) -> None:
    """Gives new soft bodies the settings that suit them, but for those that somebody has set."""
    for obj in objects:
        try:
            shape = shape_of(context, obj)
            if not obj.supple.is_property_set("young"):
                _set_young(context.scene, obj, shape)
            if not obj.supple.is_property_set("viscosity"):
                _set_viscosity(obj, shape)
            if not obj.supple.is_property_set("resolution"):
                _set_resolution(obj, shape)
        except SuppleError:
            continue  # What has no usable shape keeps the general defaults; Simulate reports why.


def suit_young(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Sets the stiffness with which a body sags by a tenth of its height.

    Raises:
        SuppleError: when its shape cannot be read.
    """
    _set_young(context.scene, obj, shape_of(context, obj))


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
    sag = estimated_sag(box, exact_float(props.young), exact_float(props.density), gravity(scene))
    if sag == 0.0:
        return "", False
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


def rest_box(obj: bpy.types.Object) -> Points:
    """(8, 3) corners around the object at rest, in the world in Blender units."""
    corners = np.array(obj.bound_box)
    if len(obj.data.vertices) and (find_modifier(obj) is not None or shape_keys.has_bake(obj)):
        # That box is of the frame that is shown.
        corners = _mesh_box(obj.data)
    return transform(np.array(obj.matrix_world), corners)


def _mesh_box(mesh: bpy.types.Mesh) -> Points:
    """(8, 3) corners, without modifiers and shape keys."""
    if mesh.session_uid not in _boxes:
        points = vertex_coordinates(mesh)
        low, high = points.min(axis=0), points.max(axis=0)
        corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        _boxes[mesh.session_uid] = low + corners * (high - low)
    return _boxes[mesh.session_uid]


def _free_sag(sag: float) -> str:
    if sag > _LYING_SAG_RATIO:
        return "lie down"
    return "hardly sag" if sag < _RIGID_SAG_RATIO else f"sag by about {sag:.0%} of its height"


def _set_young(scene: bpy.types.Scene, obj: bpy.types.Object, shape: Shape) -> None:
    used = shape.vertices[np.unique(shape.triangles)]
    young = default_young(used, exact_float(obj.supple.density), gravity(scene))
    # Two digits promise no more than the estimate holds.
    obj.supple.young = float(f"{young:.2g}")


def _set_viscosity(obj: bpy.types.Object, shape: Shape) -> None:
    props = obj.supple
    material = exact_float(props.young), exact_float(props.poisson), exact_float(props.density)
    viscosity = default_viscosity(shape.longest_side, *material)
    props.viscosity = float(f"{viscosity:.2g}")


def _set_resolution(obj: bpy.types.Object, shape: Shape) -> None:
    surface = check_surface(shape.vertices, shape.triangles)
    obj.supple.resolution = round(shape.longest_side / default_edge_length(*surface))
