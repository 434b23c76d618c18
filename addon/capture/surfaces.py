# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the meshes of soft bodies as they are without Supple: arrays in an object's own space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from .. import driving
from ..bake import shape_keys
from ..driving import CARRYING
from ..modifiers import MODIFIER, is_own

Points = NDArray[np.float64]
Triangles = NDArray[np.int32]


@contextmanager
def without_supple(objects: Sequence[bpy.types.Object]) -> Iterator[None]:
    """Switches off Supple's own playback, smoothing and bakes: only the user's work is seen."""
    modifiers = [modifier for obj in objects for modifier in obj.modifiers if is_own(modifier)]
    shown = [modifier.show_viewport for modifier in modifiers]
    with ExitStack() as bakes:
        for obj in objects:
            if shape_keys.has_bake(obj):
                bakes.enter_context(shape_keys.suspended(obj))
        try:
            for modifier in modifiers:
                modifier.show_viewport = False
            yield
        finally:
            for modifier, value in zip(modifiers, shown, strict=True):
                modifier.show_viewport = value


def base_coordinates(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Points:
    """(V, 3) vertices of the object's own mesh, its shape keys mixed as they are now."""
    keys = obj.data.shape_keys
    if keys is None:
        return vertex_coordinates(obj.data)
    if obj.show_only_shape_key:
        return _key_shape(obj.active_shape_key)
    current = keys.evaluated_get(depsgraph)
    return _relative_mix(obj, current) if keys.use_relative else _absolute_mix(current)


def driven_coordinates(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Points:
    """Return (V, 3) vertices of the object's own mesh, as its shape keys and driving modifiers
    deform it at the current frame.

    Modifiers that refine it have to be off (``driving.without_refiners``).

    Raises:
        SuppleError: when a modifier changes the number of vertices.
    """
    if not driving.is_driven(obj):
        return base_coordinates(obj, depsgraph)
    _check_time(obj, depsgraph)
    with evaluated_mesh(obj, depsgraph) as mesh:
        if len(mesh.vertices) == len(obj.data.vertices):
            return vertex_coordinates(mesh)
    raise _changed_count(obj, depsgraph)


def surface_to_fill(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, shape: Points
) -> tuple[Points, Triangles]:
    """Return the vertices and (T, 3) triangles of the surface to fill, modifiers included where
    possible.

    Modifiers that carry the mesh away after the frames act on the simulated frames, and are left
    out here.
    """
    if _is_carried(obj):
        return shape, triangles(obj.data)
    _check_time(obj, depsgraph)
    return evaluated_surface(obj, depsgraph)


@contextmanager
def mesh_to_fill(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Iterator[bpy.types.Mesh]:
    """The mesh whose surface ``surface_to_fill`` returns, for as long as the context lasts."""
    if _is_carried(obj):
        yield obj.data
        return
    with evaluated_mesh(obj, depsgraph) as mesh:
        yield mesh


def _is_carried(obj: bpy.types.Object) -> bool:
    return any(m.show_viewport and m.type in CARRYING for m in driving.refiners(obj))


def evaluated_surface(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph
) -> tuple[Points, Triangles]:
    """The mesh with all its modifiers: vertices and (T, 3) triangles, in the object's own space."""
    with evaluated_mesh(obj, depsgraph) as mesh:
        return vertex_coordinates(mesh), triangles(mesh)


@contextmanager
def evaluated_mesh(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph
) -> Iterator[bpy.types.Mesh]:
    """The mesh with all its modifiers, for as long as the context lasts."""
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        yield mesh
    finally:
        evaluated.to_mesh_clear()


def polygons(mesh: bpy.types.Mesh) -> NDArray[np.int32]:
    """Return all faces as one list of numbers: the start of each, then the vertices at their
    corners."""
    starts = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    return np.concatenate([starts, corner_vertices(mesh)])


def corner_vertices(mesh: bpy.types.Mesh) -> NDArray[np.int32]:
    """(C,) the vertex at each corner of its faces, face by face."""
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    if (attribute := mesh.attributes.get(".corner_vert")) is None:
        mesh.loops.foreach_get("vertex_index", corners)
    else:
        attribute.data.foreach_get("value", corners)
    return corners


def group_weights(obj: bpy.types.Object, group: bpy.types.VertexGroup) -> Points:
    """(V,) weights, 0 where a vertex is not in the group."""
    return vertex_weights(obj.data, group)


def vertex_weights(mesh: bpy.types.Mesh, group: bpy.types.VertexGroup) -> Points:
    """Weights of a vertex group on a mesh made from the mesh of the group's object."""
    index = group.index
    return np.fromiter(
        (
            next((entry.weight for entry in vertex.groups if entry.group == index), 0.0)
            for vertex in mesh.vertices
        ),
        np.float64,
        len(mesh.vertices),
    )


def vertex_coordinates(mesh: bpy.types.Mesh) -> Points:
    """Return the (V, 3) vertices of a mesh.

    As an attribute they come a hundred times as fast; a mesh that is being edited has none.
    """
    if (attribute := mesh.attributes.get("position")) is None:
        return coordinates(mesh.vertices, len(mesh.vertices))
    values = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
    attribute.data.foreach_get("vector", values)
    return values.reshape(-1, 3).astype(np.float64)


def coordinates(collection: Any, count: int) -> Points:
    """Return the (V, 3) ``co`` of the vertices or key points of a collection."""
    values = np.empty(count * 3, dtype=np.float32)
    collection.foreach_get("co", values)
    return values.reshape(-1, 3).astype(np.float64)


def triangles(mesh: bpy.types.Mesh) -> Triangles:
    """(T, 3) vertex indices."""
    mesh.calc_loop_triangles()
    indices = np.empty(len(mesh.loop_triangles) * 3, dtype=np.int32)
    mesh.loop_triangles.foreach_get("vertices", indices)
    return indices.reshape(-1, 3)


def _changed_count(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> SuppleError:
    """The error that names the first modifier that changes the number of vertices."""
    shown = [modifier for modifier in driving.drivers(obj) if modifier.show_viewport]
    frame, culprit = depsgraph.scene.frame_float, shown[-1]
    try:
        for modifier in reversed(shown):
            modifier.show_viewport = False
            depsgraph.update()
            with evaluated_mesh(obj, depsgraph) as mesh:
                if len(mesh.vertices) == len(obj.data.vertices):
                    culprit = modifier
                    break
    finally:
        for modifier in shown:
            modifier.show_viewport = True
    return SuppleError(
        f"{obj.name}: the modifier {culprit.name} changes the number of vertices (frame "
        f"{frame:g}) before the simulated frames. Such vertices cannot be pinned or played. "
        f"Move it behind the modifier {MODIFIER} and those that deform, or apply it."
    )


def _check_time(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """Refuses absolute keys of the user's whose time is among the baked ones, which come last."""
    keys = obj.data.shape_keys
    if not shape_keys.has_bake(obj) or keys.use_relative or obj.show_only_shape_key:
        return
    last = max(block.frame for block in keys.key_blocks if not shape_keys.is_supple_key(block))
    if keys.evaluated_get(depsgraph).eval_time > last:
        raise SuppleError(
            f"The time of {obj.name}'s absolute shape keys is after their last key, where the "
            "bake begins. Press Free, then simulate."
        )


def _key_shape(block: bpy.types.ShapeKey) -> Points:
    return coordinates(block.points, len(block.points))


def _relative_mix(obj: bpy.types.Object, keys: bpy.types.Key) -> Points:
    shape = _key_shape(keys.reference_key)
    for block in keys.key_blocks[1:]:
        if block.mute or block.value == 0.0:
            continue
        shape += block.value * key_offset(obj, block)
    return shape


def key_offset(obj: bpy.types.Object, block: bpy.types.ShapeKey) -> Points:
    """Return the (V, 3) offsets by which a relative key of the value 1 moves the vertices of an
    object."""
    offset = _key_shape(block) - _key_shape(block.relative_key)
    group = obj.vertex_groups.get(block.vertex_group)
    return offset if group is None else group_weights(obj, group)[:, None] * offset


def _absolute_mix(keys: bpy.types.Key) -> Points:
    """A spline through the keys around the current time, as each of them is set."""
    users = (block for block in keys.key_blocks if not shape_keys.is_supple_key(block))
    blocks = sorted(users, key=lambda block: block.frame)
    if len(blocks) == 1:
        return _key_shape(blocks[0])
    time = min(max(keys.eval_time, blocks[0].frame), blocks[-1].frame)
    after = next(k for k, block in enumerate(blocks) if k > 0 and block.frame >= time)
    first, second = blocks[after - 1], blocks[after]
    factor = (time - first.frame) / (second.frame - first.frame)
    weights = (1.0 - factor) * _spline_weights(first, factor) + factor * _spline_weights(
        second, factor
    )
    around = (max(after - 2, 0), after - 1, after, min(after + 1, len(blocks) - 1))
    return sum(weight * _key_shape(blocks[k]) for weight, k in zip(weights, around, strict=True))


def _spline_weights(block: bpy.types.ShapeKey, factor: float) -> Points:
    """Return the (4,) weights of the keys around, for a cardinal spline or a uniform cubic
    B-spline."""
    powers = np.array([1.0, factor, factor**2, factor**3])
    if block.interpolation == "KEY_LINEAR":
        return np.array([0.0, 1.0 - factor, factor, 0.0])
    if block.interpolation == "KEY_BSPLINE":
        sixths = np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]])
        return sixths / 6.0 @ powers
    # Blender's own tension; a Catmull-Rom spline is a cardinal one with a half.
    c = 0.71 if block.interpolation == "KEY_CARDINAL" else 0.5
    rows = [[0, -c, 2 * c, -c], [1, 0, c - 3, 2 - c], [0, c, 3 - 2 * c, c - 2], [0, 0, -c, c]]
    return np.array(rows) @ powers
