# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertex groups and attributes: the weights of pins, and paint as factors on settings."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SceneError
from ...core.scene.paint import PAINTED_SETTINGS, Paint, PaintedSetting
from ..settings.object import SOURCE, UNPAINTED
from ..units import exact_float
from .captured import CaptureError
from .surfaces import corner_vertices, group_weights, mesh_to_fill, vertex_weights

#: Above it, a vertex counts as in the group.
WEIGHT_THRESHOLD = 0.5


def find_group(obj: bpy.types.Object, name: str, use: str) -> bpy.types.VertexGroup:
    """Return the vertex group of a name.

    Raises:
        CaptureError: when the object has none of this name.
    """
    group = obj.vertex_groups.get(name)
    if group is None:
        raise CaptureError(
            f"{obj.name} has no vertex group {name!r} to {use}. Choose another group."
        )
    return group


def why_no_group(obj: bpy.types.Object) -> str:
    """The message about a vertex group that a soft body names but lacks; empty where it has all."""
    props = obj.supple
    try:
        for name, use in ((props.jiggle_group, "jiggle"), (props.pin_group, "pin")):
            if name:
                find_group(obj, name, use)
    except CaptureError as error:
        return str(error)
    return ""


def group_members(obj: bpy.types.Object, name: str, use: str, setting: str) -> NDArray[np.int32]:
    """Indices of the vertices that count as in a group.

    Args:
        obj: the object of the group.
        name: of the group.
        use: the use of its vertices, and ``setting`` the setting that names it, for messages.

    Raises:
        CaptureError: when the group does not exist or is empty.
    """
    weights = group_weights(obj, find_group(obj, name, use))
    members = np.flatnonzero(weights > WEIGHT_THRESHOLD).astype(np.int32)
    if len(members) == 0:
        raise CaptureError(
            f"{obj.name}: no vertex has a weight above {WEIGHT_THRESHOLD} in the group "
            f"{name!r} to {use}. Paint some weights, or clear the {setting}."
        )
    return members


Values = NDArray[np.float64]

# The luminance of linear red, green and blue (ITU-R BT.709).
_LUMINANCE = (0.2126, 0.7152, 0.0722)
_COLOURS = {"FLOAT_COLOR", "BYTE_COLOR"}


def painted(props: bpy.types.PropertyGroup) -> Iterator[tuple[PaintedSetting, str]]:
    """Yield the painted settings, each with the name of its attribute or vertex group."""
    for setting in PAINTED_SETTINGS:
        if name := getattr(props, SOURCE.format(setting)):
            yield setting, name


def label(props: bpy.types.PropertyGroup, setting: str) -> str:
    """The label of a setting that can be painted."""
    return str(props.bl_rna.properties[SOURCE.format(setting)].name)


def painted_weights(obj: bpy.types.Object, mesh: bpy.types.Mesh, setting: str) -> Values | None:
    """Return (V,) weights of the vertices of a mesh made from that of the object; None for a
    setting without paint.

    Raises:
        CaptureError: when its group or attribute cannot be used.
    """
    name = getattr(obj.supple, SOURCE.format(setting))
    return _weights(obj, mesh, name, label(obj.supple, setting)) if name else None


def capture_paint(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[Paint]:
    """Return the factors at the vertices of the surface to fill.

    Raises:
        CaptureError: when a group or an attribute cannot be used.
    """
    props = obj.supple
    # ``reports/ignored`` reports the settings that are left out here.
    sources = [s for s in painted(props) if s[0] != "yield_stress" or props.use_plasticity]
    if not sources:
        return []
    with mesh_to_fill(obj, depsgraph) as mesh:
        return [_paint(obj, mesh, *source, label(props, source[0])) for source in sources]


def _paint(
    obj: bpy.types.Object, mesh: bpy.types.Mesh, setting: PaintedSetting, name: str, text: str
) -> Paint:
    weights = _weights(obj, mesh, name, text)
    least = exact_float(getattr(obj.supple, UNPAINTED.format(setting)))
    try:
        return Paint(setting, least + (1.0 - least) * weights)
    except SceneError as error:
        raise CaptureError(
            f"{obj.name}: {name!r} cannot paint its {text}: {error} Keep its values between 0 and "
            "1."
        ) from error


def _weights(obj: bpy.types.Object, mesh: bpy.types.Mesh, name: str, text: str) -> Values:
    """Return (V,) weights of the vertices of a mesh made from that of the object.

    Raises:
        CaptureError: when the object has nothing of that name, or of another kind, or the mesh has
            lost it.
    """
    group = obj.vertex_groups.get(name)
    if group is not None:
        if not vertex_weights(obj.data, group).any():
            raise CaptureError(
                f"{obj.name}: no vertex has a weight in the group {name!r} that paints its "
                f"{text}. Paint some weights, or clear the field under Paint."
            )
        weights = vertex_weights(mesh, group)
        if not weights.any():
            raise CaptureError(_lost(obj, "group", name, text))
        return weights
    attribute = mesh.attributes.get(name)
    if attribute is None and name in obj.data.attributes:
        raise CaptureError(_lost(obj, "attribute", name, text))
    if attribute is None:
        raise CaptureError(
            f"{obj.name} has no vertex group and no attribute {name!r} to paint its {text} "
            "with. Choose another under Paint."
        )
    if not can_paint(attribute):
        raise CaptureError(
            f"{obj.name}: the attribute {name!r} cannot paint its {text}, since it is "
            f"{_label(attribute, 'data_type')} on {_label(attribute, 'domain')}. Use a Float "
            "on Point, or a Color on Point or Face Corner. Choose Convert Attribute under "
            "Data > Attributes, or another attribute."
        )
    return attribute_values(mesh, attribute)


def can_paint(attribute: bpy.types.Attribute) -> bool:
    """Whether an attribute has a number at every vertex: floats on points, or colours on points or
    corners."""
    if attribute.data_type in _COLOURS:
        return attribute.domain in {"POINT", "CORNER"}
    return attribute.data_type == "FLOAT" and attribute.domain == "POINT"


def is_colour(attribute: bpy.types.Attribute) -> bool:
    return attribute.data_type in _COLOURS


def attribute_values(mesh: bpy.types.Mesh, attribute: bpy.types.Attribute) -> Values:
    """Return (V,) values of an attribute that ``can_paint``: floats, or the luminance of colours,
    averaged over the corners at a vertex."""
    count = len(attribute.data)
    if not is_colour(attribute):
        floats = np.empty(count, dtype=np.float32)
        attribute.data.foreach_get("value", floats)
        return floats.astype(np.float64)
    colours = np.empty(4 * count, dtype=np.float32)
    attribute.data.foreach_get("color", colours)
    brightness = colours.reshape(-1, 4)[:, :3].astype(np.float64) @ _LUMINANCE
    if attribute.domain == "POINT":
        return brightness
    corners, vertices = corner_vertices(mesh), len(mesh.vertices)
    corner_counts = np.bincount(corners, minlength=vertices)
    return np.bincount(corners, brightness, vertices) / np.maximum(corner_counts, 1)


def _label(attribute: bpy.types.Attribute, what: str) -> str:
    kinds = attribute.bl_rna.properties[what].enum_items
    return str(kinds[getattr(attribute, what)].name)


def _lost(obj: bpy.types.Object, kind: str, name: str, text: str) -> str:
    return (
        f"{obj.name}: its modifiers drop the {kind} {name!r} that paints its {text}. Apply the "
        "modifier that creates a new mesh, such as Remesh, and paint again."
    )
