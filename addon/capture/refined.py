# SPDX-License-Identifier: GPL-3.0-or-later
"""The mesh of an object as the modifiers after its frames make it, for viewport and renders.

Some make the same number of points from a mesh of any shape. They keep refining the frames
wherever these points cannot be shown. Others may make another number of a mesh that is bent. The
object's own mesh keeps its shape then, so that they produce the same mesh as at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import bpy
import numpy as np

from .. import driving
from ..animated import animated_paths, is_animated
from ..driving import adds, adds_steadily, deforms, keeps_vertices, smooths
from .surfaces import Points, evaluated_surface

VisibleIn = Literal["viewport", "renders", "both"]

#: The limit for points of one body that are kept for each frame.
MAX_REFINED_POINTS = 100_000
_NAME = "Supple Refined"

Modifiers = list[bpy.types.Modifier]
Kind = Callable[[bpy.types.Modifier], bool]


@dataclass(frozen=True)
class Refined:
    """A mesh made by modifiers behind the frames.

    Args:
        visible_in: the viewport, renders or both.
        points: (R, 3) its vertices.
        is_of_rest: whether it is made of the object's own mesh at the start.
    """

    visible_in: VisibleIn
    points: Points
    is_of_rest: bool = False


def refined(obj: bpy.types.Object, local: Points, evaluated: Points) -> list[Refined]:
    """The visible meshes of an object that differ from its own vertices, in object space.

    Args:
        local: (V, 3) its own vertices where the modifiers find them.
        evaluated: (R, 3) those of the mesh that the viewport shows.
    """
    if meshes := _refined(obj, local, evaluated, adds_steadily):
        return meshes
    meshes = _refined(obj, local, evaluated, adds) if _keeps_its_shape(obj) else []
    # An object would stand still where one of its meshes is not shown.
    is_visible_everywhere = {each.visible_in for each in meshes} in (
        {"both"},
        {"viewport", "renders"},
    )
    return [replace(each, is_of_rest=True) for each in meshes] if is_visible_everywhere else []


def _refined(
    obj: bpy.types.Object, local: Points, evaluated: Points, may_add: Kind
) -> list[Refined]:
    """Return the meshes made by modifiers of one kind, and by modifiers that leave the points in
    place."""
    modifiers = driving.refiners(obj)
    shown = [modifier for modifier in modifiers if modifier.show_viewport]
    rendered = [modifier for modifier in modifiers if modifier.show_render]
    meshes: list[Refined] = []
    if _refine(shown, may_add):
        meshes.append(Refined("viewport", evaluated))
    if shown == rendered and not any(map(_differs_in_renders, shown)):
        meshes = [replace(each, visible_in="both") for each in meshes]
    elif _refine(rendered, may_add):
        meshes.append(Refined("renders", _rendered_points(obj, local, rendered)))
    return [each for each in meshes if len(local) != len(each.points) <= MAX_REFINED_POINTS]


def _refine(modifiers: Modifiers, may_add: Kind) -> bool:
    """Whether modifiers add vertices, and their result is known for all frames."""
    adding = [modifier for modifier in modifiers if may_add(modifier)]
    others = [modifier for modifier in modifiers if modifier not in adding]
    keeping = all(keeps_vertices(m) and not (deforms(m) or smooths(m)) for m in others)
    return bool(adding) and keeping and not any(map(_is_diced, adding))


def _keeps_its_shape(obj: bpy.types.Object) -> bool:
    """Whether only the frames change the input and the settings of an object's modifiers."""
    keys = obj.data.shape_keys
    moves = keys is not None and is_animated(keys)
    is_keyed = any(path.startswith("modifiers[") for path in animated_paths(obj))
    return not (moves or is_keyed or driving.is_driven(obj))


def subdivisions(obj: bpy.types.Object) -> Modifiers:
    """Return the modifiers that subdivide the played frames."""
    shown = [modifier for modifier in driving.refiners(obj) if driving.is_shown(obj, modifier)]
    is_played = _refine(shown, adds if _keeps_its_shape(obj) else adds_steadily)
    return [modifier for modifier in shown if is_played and _has_levels(modifier)]


def splits(obj: bpy.types.Object) -> int:
    """Return the number of pieces into which subdivision splits an edge of the object's own
    mesh."""
    return int(2 ** sum(_levels(modifier, "viewport") for modifier in subdivisions(obj)))


def _is_diced(modifier: bpy.types.Modifier) -> bool:
    """Whether Cycles subdivides the mesh again in each frame, by its size in the image."""
    obj = modifier.id_data
    owners = modifier, getattr(obj, "cycles", None)
    return any(getattr(owner, "use_adaptive_subdivision", False) for owner in owners)


def _differs_in_renders(modifier: bpy.types.Modifier) -> bool:
    return _has_levels(modifier) and _levels(modifier, "viewport") != _levels(modifier, "renders")


def _has_levels(modifier: bpy.types.Modifier) -> bool:
    return hasattr(modifier, "render_levels")


def _levels(modifier: bpy.types.Modifier, visible_in: VisibleIn) -> int:
    """Subdivision levels, limited by Simplify."""
    render = bpy.context.scene.render
    levels, most = modifier.levels, render.simplify_subdivision
    if visible_in == "renders":
        levels, most = modifier.render_levels, render.simplify_subdivision_render
    return min(levels, most) if render.use_simplify else int(levels)


def _rendered_points(obj: bpy.types.Object, local: Points, modifiers: Modifiers) -> Points:
    with refining(obj, modifiers, "renders") as refine:
        return refine(local)


@contextmanager
def refining(
    obj: bpy.types.Object, modifiers: Modifiers, visible_in: VisibleIn
) -> Iterator[Callable[[Points], Points]]:
    """Functions that apply modifiers of an object to given vertices (V, 3).

    This is evaluated on a copy in a temporary scene, which is deleted afterwards.
    """
    levels = {each.name: _levels(each, visible_in) for each in modifiers if _has_levels(each)}
    names = {modifier.name for modifier in modifiers}
    copy, mesh = obj.copy(), obj.data.copy()
    scene = bpy.data.scenes.new(_NAME)
    try:
        copy.data, copy.parent = mesh, None
        copy.animation_data_clear()
        copy.shape_key_clear()
        for modifier in list(copy.modifiers):
            if modifier.name not in names:
                copy.modifiers.remove(modifier)
                continue
            modifier.show_viewport = True
            if modifier.name in levels:
                modifier.levels = levels[modifier.name]
        scene.collection.objects.link(copy)
        layer = scene.view_layers[0]

        def refine(vertices: Points) -> Points:
            mesh.vertices.foreach_set("co", vertices.astype(np.float32).ravel())
            mesh.update()
            layer.update()
            return evaluated_surface(copy, layer.depsgraph)[0]

        yield refine
    finally:
        bpy.data.scenes.remove(scene)
        bpy.data.objects.remove(copy)
        bpy.data.meshes.remove(mesh)
