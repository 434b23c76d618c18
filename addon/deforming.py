# SPDX-License-Identifier: GPL-3.0-or-later
"""Which modifiers move the vertices of a mesh, and which keep their number.

Panels ask at every redraw, so nothing is evaluated: what a modifier is, and how its nodes are
linked, tells.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy

#: Modifiers that carry a mesh away from where it was made, with the vertices that it has.
CARRYING = {
    "ARMATURE",
    "CAST",
    "CLOTH",
    "CURVE",
    "HOOK",
    "LAPLACIANDEFORM",
    "LATTICE",
    "MESH_CACHE",
    "MESH_DEFORM",
    "MESH_SEQUENCE_CACHE",
    "OCEAN",
    "SHRINKWRAP",
    "SIMPLE_DEFORM",
    "SOFT_BODY",
    "SURFACE_DEFORM",
    "WARP",
    "WAVE",
}
#: Those that go by numbers of their own alone.
STILL_DEFORMING = {"CAST", "DISPLACE", "SIMPLE_DEFORM"}
_SMOOTHING = {"CORRECTIVE_SMOOTH", "LAPLACIANSMOOTH", "SMOOTH"}
# They leave vertices where they are, or even out what others did.
_KEEPING = _SMOOTHING | {
    "COLLISION",
    "DATA_TRANSFER",
    "NORMAL_EDIT",
    "PARTICLE_SYSTEM",
    "SURFACE",
    "UV_PROJECT",
    "UV_WARP",
    "VERTEX_WEIGHT_EDIT",
    "VERTEX_WEIGHT_MIX",
    "VERTEX_WEIGHT_PROXIMITY",
    "WEIGHTED_NORMAL",
}
# They add vertices, as many whatever the shape of a mesh; and add or remove some by its shape.
_ADDING_STEADILY = {"MULTIRES", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "WIREFRAME"}
_ADDING = _ADDING_STEADILY | {
    "ARRAY",
    "BEVEL",
    "DECIMATE",
    "EDGE_SPLIT",
    "MASK",
    "MIRROR",
    "REMESH",
    "SCREW",
    "SKIN",
    "WELD",
}
# What geometry may pass through on its way to a group's output and have as many vertices as before.
_MOVING_NODES = {"GeometryNodeSetPosition", "GeometryNodeTransform"}
_PASSING_NODES = {
    "GeometryNodeCaptureAttribute",
    "GeometryNodeIndexSwitch",
    "GeometryNodeMenuSwitch",
    "GeometryNodeRemoveAttribute",
    "GeometryNodeRepeatInput",
    "GeometryNodeRepeatOutput",
    "GeometryNodeSetID",
    "GeometryNodeSetMaterial",
    "GeometryNodeSetMaterialIndex",
    "GeometryNodeSetMeshNormal",
    "GeometryNodeSetShadeSmooth",
    "GeometryNodeSimulationInput",
    "GeometryNodeSimulationOutput",
    "GeometryNodeStoreNamedAttribute",
    "GeometryNodeSwitch",
    "GeometryNodeWarning",
    "NodeGroupInput",
    "NodeReroute",
}


def keeps_vertices(modifier: bpy.types.Modifier) -> bool:
    """Whether a mesh has the same vertices after it, wherever they are."""
    if modifier.type == "NODES":
        return _passed(modifier) is not None
    if modifier.type == "OCEAN":
        return bool(modifier.geometry_mode == "DISPLACE")
    return modifier.type in CARRYING | _KEEPING or modifier.type == "DISPLACE"


def deforms(modifier: bpy.types.Modifier) -> bool:
    """Whether it moves vertices and keeps their number, but for what only smooths."""
    if modifier.type == "NODES":
        return not _MOVING_NODES.isdisjoint(_passed(modifier) or ())
    return modifier.type not in _KEEPING and keeps_vertices(modifier)


def smooths(modifier: bpy.types.Modifier) -> bool:
    """Whether it evens out where vertices are."""
    return modifier.type in _SMOOTHING


def adds(modifier: bpy.types.Modifier) -> bool:
    """Whether it makes other vertices of a mesh, by that and by its own numbers alone."""
    return modifier.type in _ADDING


def adds_steadily(modifier: bpy.types.Modifier) -> bool:
    """Whether it makes as many of a mesh that is bent as of another."""
    merges = modifier.type == "SOLIDIFY" and modifier.solidify_mode != "EXTRUDE"
    return modifier.type in _ADDING_STEADILY and not merges


def _passed(modifier: bpy.types.Modifier) -> set[str] | None:
    """The kinds of nodes that geometry passes through; None where one may change its vertices."""
    tree = modifier.node_group
    kinds = None if tree is None else set(_kinds(tree))
    if not kinds or not kinds <= _MOVING_NODES | _PASSING_NODES or "NodeGroupInput" not in kinds:
        return None
    return kinds


def _kinds(tree: bpy.types.NodeTree) -> Iterator[str]:
    """Of all nodes, groups opened, from which geometry comes to a tree's output."""
    ends = [node for node in tree.nodes if node.bl_idname == "NodeGroupOutput"]
    waiting, seen = [node for end in ends for node in _sources(end)], set()
    while waiting:
        node = waiting.pop()
        if node.name in seen:
            continue
        seen.add(node.name)
        if node.bl_idname == "GeometryNodeGroup" and not node.mute and node.node_tree:
            yield from _kinds(node.node_tree)
        elif not node.mute:
            yield node.bl_idname
        waiting += _sources(node)


def _sources(node: bpy.types.Node) -> list[bpy.types.Node]:
    return [
        link.from_node
        for socket in node.inputs
        for link in socket.links
        if link.is_valid and not link.is_muted and link.from_socket.type == "GEOMETRY"
    ]
