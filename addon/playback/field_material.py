# SPDX-License-Identifier: GPL-3.0-or-later
"""The material that draws a field, and the modifier that gives it to an object."""

from __future__ import annotations

import bpy

from ...core.results import RESULTS
from ..modifiers import VIEW

# From dark to light as the eye sees it, in sRGB: purple, blue, teal, green, yellow.
_COLOURS = (
    (0.27, 0.00, 0.33),
    (0.23, 0.32, 0.55),
    (0.13, 0.57, 0.55),
    (0.37, 0.79, 0.38),
    (0.99, 0.91, 0.14),
)
_RANGE_NODE = "Range"
# Of the largest value of a range: what is less is told as 0.
_ROUNDING_SHARE = 1e-6
# Places of sockets, whose names are another in newer versions of Blender.
_FACTOR, _LOW, _HIGH = 2, 1, 2


def title(name: str) -> str:
    """What the attribute, the material and the node group of a field are called."""
    return f"Supple {RESULTS[name].label}"


def any_shown() -> bool:
    """Whether any object may show a field, at a glance."""
    return any(title(name) in bpy.data.node_groups for name in RESULTS)


def find_view(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The modifier that shows a field on an object."""
    found = (m for m in obj.modifiers if m.type == "NODES" and m.name.startswith(VIEW))
    return next((m for m in found if m.node_group is not None and shown_name(m)), None)


def shown_name(view: bpy.types.Modifier) -> str:
    """Which result a modifier shows; empty where it is none of ours."""
    group = view.node_group.name
    return next((name for name in RESULTS if title(name) == group), "")


def add_view(obj: bpy.types.Object, group: bpy.types.NodeTree) -> None:
    """Lets an object be drawn with a field's material."""
    view = obj.modifiers.new(VIEW, "NODES")
    view.node_group = group
    view.show_expanded = False


def make(name: str, low: float, high: float) -> bpy.types.NodeTree:
    """The node group of a field, its colours from ``low`` to ``high``; both are made once."""
    material = bpy.data.materials.get(title(name)) or _new_material(name)
    inputs = material.node_tree.nodes[_RANGE_NODE].inputs
    inputs[_LOW].default_value = low
    inputs[_HIGH].default_value = high if high > low else low + 1.0
    return bpy.data.node_groups.get(title(name)) or _new_group(name, material)


def described_range(name: str) -> str:
    """From what to what the colours go, with the unit; empty where the field is not shown."""
    material = bpy.data.materials.get(title(name))
    node = material and material.node_tree.nodes.get(_RANGE_NODE)
    if not node:
        return ""
    low, high = (node.inputs[place].default_value for place in (_LOW, _HIGH))
    if abs(low) < _ROUNDING_SHARE * abs(high):
        low = 0.0
    return f"{low:.3g} … {high:.3g} {RESULTS[name].unit}".rstrip()


def remove_unused(name: str) -> None:
    """Removes the material and the node group of a field that nothing shows any more."""
    for blocks in (bpy.data.node_groups, bpy.data.materials):
        block = blocks.get(title(name))
        if block is not None and block.users == 0:
            blocks.remove(block)


def _new_material(name: str) -> bpy.types.Material:
    material = bpy.data.materials.new(title(name))
    if material.node_tree is None:  # before Blender 5, where every material has nodes
        material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    attribute, span, ramp, shader, output = (
        nodes.new(kind)
        for kind in (
            "ShaderNodeAttribute",
            "ShaderNodeMapRange",
            "ShaderNodeValToRGB",
            "ShaderNodeBsdfPrincipled",
            "ShaderNodeOutputMaterial",
        )
    )
    attribute.attribute_name, span.name = title(name), _RANGE_NODE
    _colour(ramp.color_ramp)
    links.new(attribute.outputs[_FACTOR], span.inputs[0])
    links.new(span.outputs[0], ramp.inputs[0])
    links.new(ramp.outputs[0], shader.inputs["Base Color"])
    links.new(shader.outputs[0], output.inputs[0])
    for column, node in enumerate((attribute, span, ramp, shader, output)):
        node.location = 300.0 * column, 0.0
    return material


def _colour(ramp: bpy.types.ColorRamp) -> None:
    last = len(_COLOURS) - 1
    while len(ramp.elements) <= last:
        ramp.elements.new(0.5)
    for place, colour in enumerate(_COLOURS):
        ramp.elements[place].position = place / last
        ramp.elements[place].color = (*map(_linear, colour), 1.0)


def _linear(value: float) -> float:
    """Of sRGB, by IEC 61966-2-1."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _new_group(name: str, material: bpy.types.Material) -> bpy.types.NodeTree:
    group = bpy.data.node_groups.new(title(name), "GeometryNodeTree")
    for direction in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=direction, socket_type="NodeSocketGeometry")
    start, painted, end = (
        group.nodes.new(kind)
        for kind in ("NodeGroupInput", "GeometryNodeSetMaterial", "NodeGroupOutput")
    )
    painted.inputs["Material"].default_value = material
    group.links.new(start.outputs[0], painted.inputs["Geometry"])
    group.links.new(painted.outputs[0], end.inputs[0])
    for column, node in enumerate((start, painted, end)):
        node.location = 200.0 * column, 0.0
    return group
