# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays as a mesh of Blender's."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray


def new_mesh(name: str, points: NDArray[np.floating], faces: NDArray[np.integer]) -> bpy.types.Mesh:
    """A mesh in bpy.data of (V, 3) points and (T, K) faces of K corners, which may share points."""
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(len(points))
    mesh.vertices.foreach_set("co", points.astype(np.float32).ravel())
    mesh.loops.add(faces.size)
    mesh.loops.foreach_set("vertex_index", faces.astype(np.int32).ravel())
    mesh.polygons.add(len(faces))
    starts = np.arange(0, faces.size, faces.shape[1], dtype=np.int32)
    mesh.polygons.foreach_set("loop_start", starts)
    mesh.update(calc_edges=True)
    return mesh
