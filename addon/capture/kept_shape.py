# SPDX-License-Identifier: GPL-3.0-or-later
"""The rest shape of tetrahedra as a mesh of Blender's, which the .blend file keeps.

Its vertices are those of the tetrahedra as they fill the body, in the object's own space, and its
faces of four corners are the tets; an attribute has where they are at rest.
"""

from __future__ import annotations

import bpy
import numpy as np

from ...core.scene.rest_shape import TetRestShape
from ..new_mesh import new_mesh
from .motion import Matrices, transform
from .rest_shape import KEPT
from .surfaces import Points, corner_vertices, vertex_coordinates

_REST = "rest"


def keep(obj: bpy.types.Object, shape: TetRestShape, matrix: Matrices, unit: float) -> None:
    """Lets a body have a rest shape from now on.

    Args:
        matrix: (4, 4) object to world when that was captured, in Blender units.
        unit: metres in a Blender unit.
    """
    inverse = np.linalg.inv(matrix)
    own = [transform(inverse, places / unit) for places in (shape.vertices, shape.rest)]
    mesh = new_mesh(f"{obj.name} at rest", own[0], shape.tets)
    rest = mesh.attributes.new(_REST, "FLOAT_VECTOR", "POINT")
    rest.data.foreach_set("vector", own[1].astype(np.float32).ravel())
    obj.supple.kept_shape, obj.supple.rest_shape = mesh, KEPT


def is_kept(obj: bpy.types.Object) -> bool:
    """Whether a body rests in a shape that was found for it."""
    mesh = obj.supple.kept_shape
    return obj.supple.rest_shape == KEPT and mesh is not None and _REST in mesh.attributes


def kept_shape(obj: bpy.types.Object, matrix: Matrices, unit: float) -> TetRestShape | None:
    """That of a body; None where it has none. Arguments as of ``keep``."""
    if not is_kept(obj):
        return None
    mesh = obj.supple.kept_shape
    tets = corner_vertices(mesh).reshape(-1, 4)
    filled, rest = (
        unit * transform(matrix, places) for places in (vertex_coordinates(mesh), _rest(mesh))
    )
    return TetRestShape(filled, tets, rest)


def values(obj: bpy.types.Object) -> list[Points]:
    """The arrays of a kept rest shape; empty where there is none."""
    mesh = obj.supple.kept_shape
    return [vertex_coordinates(mesh), _rest(mesh)] if is_kept(obj) else []


def _rest(mesh: bpy.types.Mesh) -> Points:
    values = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.attributes[_REST].data.foreach_get("vector", values)
    return values.reshape(-1, 3).astype(np.float64)
