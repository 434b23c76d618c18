# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes whose flat parts are so large beside the cells of the solid that bending is not seen."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ..bake import shape_keys
from ..capture.refined import splits
from ..capture.surfaces import Points, vertex_coordinates

Values = NDArray[np.float64]

# In cells: a face with a longer edge than the first hides bending; split, none is above the second.
_LONG_EDGE_CELLS, _SPLIT_EDGE_CELLS = 4.0, 0.5
# The cosine of the angle between two faces, above which they are one flat part of the surface.
_FLAT_COSINE = 1.0 - 1e-5
# The part of the area in large faces above which bending is not seen.
_LARGE_FACES_RATIO = 0.25
# A mesh with more is fine enough somewhere, and is not looked through at every redraw.
_FEW_VERTICES, _MOST_VERTICES = 5000, 100_000


def hides_bending(obj: bpy.types.Object) -> bool:
    """Whether the mesh of a soft body is too coarse to bend visibly.

    An edge between two faces in one plane does not count: a flat part bends with its rim, however
    the part is divided into faces.
    """
    mesh = obj.data
    if obj.supple.hides_coarse_hint:
        return False
    if not 0 < len(mesh.vertices) <= _FEW_VERTICES or len(mesh.polygons) == 0:
        return False
    longest, areas = _faces(mesh, _sized(obj))
    large = longest / splits(obj) > _LONG_EDGE_CELLS * _cell(obj)
    return bool(areas[large].sum() > _LARGE_FACES_RATIO * areas.sum())


def _faces(mesh: bpy.types.Mesh, points: Points) -> tuple[Values, Values]:
    """(F,) the longest edges of the faces of (V, 3) points, and twice their areas. Edges inside a
    flat part of the surface are of length 0."""
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    edges = np.empty(len(mesh.loops), dtype=np.int32)
    starts = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    mesh.loops.foreach_get("edge_index", edges)
    mesh.polygons.foreach_get("loop_start", starts)
    ends = np.append(starts[1:], len(corners))
    following = np.arange(1, len(corners) + 1)
    following[ends - 1] = starts
    at, then = points[corners], points[corners[following]]
    areas = np.add.reduceat(np.cross(at, then), starts)
    face_of_corner = np.repeat(np.arange(len(starts)), ends - starts)
    is_flat = _flat_edges(edges, face_of_corner, areas, len(mesh.edges))
    lengths = np.where(is_flat[edges], 0.0, np.linalg.norm(then - at, axis=1))
    return np.maximum.reduceat(lengths, starts), np.linalg.norm(areas, axis=1)


def _flat_edges(
    edges: NDArray[np.int32], faces: NDArray[np.int_], areas: Points, count: int
) -> NDArray[np.bool_]:
    """(E,) whether an edge lies between two faces in one plane.

    Args:
        edges, faces: (L,) the edge and the face of each corner.
        areas: (F, 3) area vectors of the faces.
        count: the number E of edges.
    """
    normals = areas / np.maximum(np.linalg.norm(areas, axis=1, keepdims=True), 1e-300)
    order = np.argsort(edges, kind="stable")
    number, first, uses = np.unique(edges[order], return_index=True, return_counts=True)
    number, first = number[uses == 2], first[uses == 2]
    one, other = faces[order[first]], faces[order[first + 1]]
    is_flat = np.zeros(count, dtype=bool)
    is_flat[number] = (normals[one] * normals[other]).sum(axis=1) > _FLAT_COSINE
    return is_flat


def is_plain(obj: bpy.types.Object) -> bool:
    """Whether subdividing the mesh changes nothing else: no modifier and no other object uses it,
    and it is not in Edit Mode."""
    mesh = obj.data
    is_free = obj.mode == "OBJECT" and mesh.is_editable and mesh.users == 1
    return is_free and not obj.modifiers


def subdivide(obj: bpy.types.Object) -> None:
    """Splits the edges of a mesh until they are shorter than half a cell; its shape stays.

    Raises:
        SuppleError: when the mesh cannot be changed.
    """
    _check_editable(obj)
    longest, axes = _SPLIT_EDGE_CELLS * _cell(obj), obj.matrix_world.to_3x3()
    mesh = bmesh.new()
    try:
        mesh.from_mesh(obj.data)
        while len(mesh.verts) < _MOST_VERTICES:
            ends = ((edge, *edge.verts) for edge in mesh.edges)
            long = [edge for edge, a, b in ends if (axes @ (b.co - a.co)).length > longest]
            if not long:
                break
            bmesh.ops.subdivide_edges(mesh, edges=long, cuts=1, use_grid_fill=True)
        mesh.to_mesh(obj.data)
    finally:
        mesh.free()
    obj.data.update()


def _check_editable(obj: bpy.types.Object) -> None:
    if obj.mode != "OBJECT":
        raise SuppleError(f"{obj.name} is being edited. Go back to Object Mode first.")
    if not obj.data.is_editable:
        raise SuppleError(
            f"The mesh of {obj.name} is linked from another file and cannot be changed. Make it "
            "local first."
        )
    if shape_keys.has_bake(obj):
        raise SuppleError(f"{obj.name} is baked. Press Free first.")


def _sized(obj: bpy.types.Object) -> Points:
    """(V, 3) vertices of the object's own mesh, turned and scaled as the object is."""
    axes = np.array(obj.matrix_world.to_3x3())
    return vertex_coordinates(obj.data) @ axes.T


def _cell(obj: bpy.types.Object) -> float:
    """The edge length of the solid's cells, in Blender units."""
    return float(np.ptp(_sized(obj), axis=0).max()) / obj.supple.resolution
