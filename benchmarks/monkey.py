# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's monkey, smooth, as triangles and as tetrahedra."""

from __future__ import annotations

from functools import cache

import bpy
import numpy as np
from numpy.typing import NDArray

from supple.core import TetMesh, tetrahedralize


@cache
def triangles() -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """16 K triangles: two levels of subdivision."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.mesh.primitive_monkey_add()
    monkey = bpy.context.object
    modifier = monkey.modifiers.new("Subdivision", "SUBSURF")
    modifier.levels = 2
    mesh = monkey.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    mesh.calc_loop_triangles()
    vertices = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    corners = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    mesh.vertices.foreach_get("co", vertices)
    mesh.loop_triangles.foreach_get("vertices", corners)
    return vertices.reshape(-1, 3).astype(np.float64), corners.reshape(-1, 3)


def tetrahedra(edge_length: float) -> TetMesh:
    return tetrahedralize(*triangles(), edge_length=edge_length)
