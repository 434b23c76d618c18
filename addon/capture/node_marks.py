# SPDX-License-Identifier: GPL-3.0-or-later
"""What geometry nodes are made of, as text that changes with any edit but of how they are drawn.

A tree, which may take milliseconds, is read anew when Blender reports its edit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Set
from typing import Any

import bpy

from ..animated import animated_paths

# What of a node of its own kind shapes nothing.
_SHOWN = {"active_index", "inspection_index", "ui_shortcut"}
_SHOWN_NODES = {"NodeFrame", "GeometryNodeViewer"}
_PLAIN = {"BOOLEAN", "INT", "FLOAT", "ENUM", "STRING"}

# Digests of trees without those in them, by their session_uid.
_trees: dict[int, str] = {}


def forget(depsgraph: bpy.types.Depsgraph | None = None) -> bool:
    """The trees whose edit Blender reports, False when there are none; all without a report."""
    if depsgraph is None:
        _trees.clear()
        return True
    found = (each.id.original for each in depsgraph.updates)
    edited = [each.session_uid for each in found if isinstance(each, bpy.types.NodeTree)]
    for uid in edited:
        _trees.pop(uid, None)
    return bool(edited)


def tree_marks(tree: bpy.types.NodeTree | None) -> Iterator[str]:
    """Of a tree and of all groups in it."""
    for each in _with_groups(tree):
        if each.session_uid not in _trees:
            content = "\n".join(sorted(_of_tree(each)))
            _trees[each.session_uid] = hashlib.blake2b(content.encode(), digest_size=8).hexdigest()
        yield _trees[each.session_uid]


def pointed_to(tree: bpy.types.NodeTree | None) -> Iterator[bpy.types.ID | None]:
    """The objects and collections that their sockets name."""
    for each in _with_groups(tree):
        for node in each.nodes:
            for socket in node.inputs:
                if socket.type in ("OBJECT", "COLLECTION"):
                    yield socket.default_value


def _with_groups(tree: bpy.types.NodeTree | None) -> Iterator[bpy.types.NodeTree]:
    waiting, seen = [tree], set()
    while waiting:
        each = waiting.pop()
        if each is not None and each not in seen:
            seen.add(each)
            yield each
            waiting += [node.node_tree for node in each.nodes if node.type == "GROUP"]


def _of_tree(tree: bpy.types.NodeTree) -> Iterator[str]:
    moving, plain = animated_paths(tree), set(bpy.types.Node.bl_rna.properties.keys())
    for node in tree.nodes:
        if node.bl_idname not in _SHOWN_NODES:
            own = [*_settings(node, plain, moving), *_sockets(node, moving)]
            yield repr([node.name, node.bl_idname, node.mute, own])
    for link in tree.links:
        ends = (link.from_node, link.from_socket), (link.to_node, link.to_socket)
        yield repr([link.is_muted, *((node.name, socket.identifier) for node, socket in ends)])


def _settings(node: bpy.types.Node, plain: Set[str], moving: Set[str]) -> Iterator[Any]:
    """What is set of a node that not all nodes have."""
    for described in node.bl_rna.properties:
        name = described.identifier
        path = f"{node.path_from_id()}.{name}"
        if name in plain or name in _SHOWN or any(each.startswith(path) for each in moving):
            continue
        value = getattr(node, name)
        if isinstance(value, bpy.types.ColorRamp):
            steps = [(step.position, *step.color) for step in value.elements]
            yield name, value.color_mode, value.interpolation, value.hue_interpolation, steps
        elif isinstance(value, bpy.types.CurveMapping):
            curves = [[(*p.location, p.handle_type) for p in each.points] for each in value.curves]
            yield name, value.extend, curves
        elif described.type in _PLAIN and not described.is_readonly:
            yield name, list(value) if getattr(described, "is_array", False) else value


def _sockets(node: bpy.types.Node, moving: Set[str]) -> Iterator[Any]:
    """The values at its sockets; of objects ``pointed_to`` tells."""
    for socket in (*node.inputs, *node.outputs):
        value: Any = getattr(socket, "default_value", None)
        if isinstance(value, bpy.types.ID) or f"{socket.path_from_id()}.default_value" in moving:
            continue
        is_array = hasattr(value, "__len__") and not isinstance(value, str)
        yield socket.identifier, list(value) if is_array else value
