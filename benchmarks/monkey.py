# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's monkey, smooth, as triangles and as tetrahedra."""

from __future__ import annotations

from functools import cache

import bpy
import numpy as np
from numpy.typing import NDArray

from supple.core import SurfaceMesh, TetMesh, tetrahedralize
from supple.core.geometry.tet_mesh import FACES


@cache
def triangles(levels: int = 2) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """16 K triangles by two levels of subdivision, 968 without."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.mesh.primitive_monkey_add()
    monkey = bpy.context.object
    modifier = monkey.modifiers.new("Subdivision", "SUBSURF")
    modifier.levels = levels
    mesh = monkey.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    mesh.calc_loop_triangles()
    vertices = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    corners = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    mesh.vertices.foreach_get("co", vertices)
    mesh.loop_triangles.foreach_get("vertices", corners)
    return vertices.reshape(-1, 3).astype(np.float64), corners.reshape(-1, 3)


def surface(edge_length: float, height: float, levels: int = 2) -> SurfaceMesh:
    """As add-on and scripts take it, its lowest point at a height in metres: the lattice is made of
    it, and what is seen meets the ground."""
    vertices, corners = triangles(levels)
    raised = vertices + np.array([0.0, 0.0, height - vertices[:, 2].min()])
    return SurfaceMesh(raised, corners, edge_length=edge_length)


def tetrahedra(edge_length: float, method: str = "lattice") -> TetMesh:
    return tetrahedralize(*triangles(), method=method, edge_length=edge_length)


def full_tetrahedra(edge_length: float, method: str = "lattice") -> TetMesh:
    """As any engine takes them: all full, and no face between three.

    Where three meet, because the lattice holds parts of the body on top of each other, those that
    hold the least of it are left out.
    """
    mesh = tetrahedra(edge_length, method)
    tets, fill = mesh.tets, mesh.material_volumes / mesh.rest_volumes
    while True:
        faces = np.sort(tets[:, FACES].reshape(-1, 3), axis=1)
        _, face_of, counts = np.unique(faces, axis=0, return_inverse=True, return_counts=True)
        shared = np.flatnonzero(counts[face_of.ravel()] > 2)
        if len(shared) == 0:
            break
        least = shared[fill[shared // len(FACES)].argmin()] // len(FACES)
        tets, fill = np.delete(tets, least, axis=0), np.delete(fill, least)
    used, corners = np.unique(tets, return_inverse=True)
    return TetMesh(mesh.vertices[used], corners.reshape(-1, 4))
