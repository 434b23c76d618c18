# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies in a render, and why they would be seen without their frames.

Blender shows a body at rest whose frames it cannot read, and finishes the render.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..modifiers import find_modifier, find_refined
from ..paths import absolute
from . import mesh_cache, pc2


def objects(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The objects that a render of a scene shows, in the scenes that it draws on and in the
    collections that it instances."""
    rendered: dict[bpy.types.Object, None] = {}
    for each in _scenes(scene):
        for layer in each.view_layers:
            if layer.use:
                _add_layer(layer.layer_collection, rendered)
    return list(rendered)


def why_without_frames(obj: bpy.types.Object) -> str:
    """Why a body is rendered without the frames that it plays; empty where it plays them, or plays
    none."""
    caches = [*filter(None, [find_modifier(obj)]), *find_refined(obj)]
    paths = [absolute(m.filepath, library=m.id_data.library) for m in caches if m.show_render]
    problems = (mesh_cache.why_not_playing(obj) if caches else "", *map(pc2.why_unreadable, paths))
    return next(filter(None, problems), "")


def _scenes(scene: bpy.types.Scene) -> list[bpy.types.Scene]:
    """A scene, and the scenes that its background, strips and compositor show."""
    scenes: dict[bpy.types.Scene, None] = {}
    left = [scene]
    while left:
        each = left.pop()
        if each is None or each in scenes:
            continue
        scenes[each] = None
        left.append(each.background_set)
        if each.sequence_editor is not None:
            left += [getattr(strip, "scene", None) for strip in each.sequence_editor.strips_all]
        # Blender 5 has the compositor's nodes in a group of their own.
        tree = getattr(each, "compositing_node_group", None) or getattr(each, "node_tree", None)
        if tree is not None:
            left += [node.scene for node in tree.nodes if node.type == "R_LAYERS"]
    return list(scenes)


def _add_layer(layer: bpy.types.LayerCollection, rendered: dict[bpy.types.Object, None]) -> None:
    if layer.collection.hide_render:
        return
    if not layer.exclude:
        for obj in layer.collection.objects:
            _add(obj, rendered)
    for child in layer.children:
        _add_layer(child, rendered)


def _add(obj: bpy.types.Object, rendered: dict[bpy.types.Object, None]) -> None:
    if obj in rendered or obj.hide_render:
        return
    rendered[obj] = None
    if obj.instance_type == "COLLECTION" and obj.instance_collection is not None:
        for each in _instanced(obj.instance_collection):
            _add(each, rendered)


def _instanced(collection: bpy.types.Collection) -> Iterator[bpy.types.Object]:
    if not collection.hide_render:
        yield from collection.objects
        for child in collection.children:
            yield from _instanced(child)
