# SPDX-License-Identifier: GPL-3.0-or-later
"""What brings a body through its keys as a mesh of Blender's, which the .blend file keeps.

Its vertices are those of the tetrahedra, in the object's own space, its faces of four corners are
the tets, and an attribute a frame has what drives them.
"""

from __future__ import annotations

import bpy
import numpy as np

from ...core.scene.channel import Channel
from ...core.scene.tet_control import ControlKind, TetControl
from ..new_mesh import new_mesh
from .motion import Matrices, transform
from .surfaces import Points, corner_vertices, vertex_coordinates

_BY, _FRAME = "supple_by", "control "


def keep(obj: bpy.types.Object, control: TetControl, matrix: Matrices, unit: float) -> None:
    """Lets a body be driven from now on.

    Args:
        matrix: (4, 4) object to world when that was captured, in Blender units.
        unit: metres in a Blender unit.
    """
    inverse = np.linalg.inv(matrix)
    vertices = transform(inverse, control.vertices / unit)
    mesh = new_mesh(f"{obj.name} follows its keys", vertices, control.tets)
    for frame, sample in enumerate(control.channel.samples):
        own = sample / unit @ inverse[:3, :3].T
        attribute = mesh.attributes.new(f"{_FRAME}{frame}", "FLOAT_VECTOR", "POINT")
        attribute.data.foreach_set("vector", own.astype(np.float32).ravel())
    mesh[_BY] = control.by
    obj.supple.kept_control = mesh


def kept_by(obj: bpy.types.Object) -> str:
    """``forces`` or ``pins``, by which a body follows its keys; empty where by neither."""
    mesh = obj.supple.kept_control
    by = "" if mesh is None else str(mesh.get(_BY, ""))
    return by if by and f"{_FRAME}0" in mesh.attributes else ""


def acts(obj: bpy.types.Object) -> bool:
    """Whether it is driven: pins that it has not cannot move."""
    by = kept_by(obj)
    return by == "forces" or (by == "pins" and bool(obj.supple.pin_group))


def kept_control(obj: bpy.types.Object, matrix: Matrices, unit: float) -> TetControl | None:
    """That of a body; None where it has none. Arguments as of ``keep``."""
    if not acts(obj):
        return None
    mesh = obj.supple.kept_control
    by: ControlKind = "pins" if kept_by(obj) == "pins" else "forces"
    vertices = unit * transform(matrix, vertex_coordinates(mesh))
    samples = unit * _samples(mesh) @ matrix[:3, :3].T
    return TetControl(vertices, corner_vertices(mesh).reshape(-1, 4), by, Channel(samples))


def remove(obj: bpy.types.Object) -> None:
    """Lets a body be driven no more."""
    obj.supple.kept_control = None


def values(obj: bpy.types.Object) -> list[Points]:
    """The arrays of a kept control; empty where there is none."""
    mesh = obj.supple.kept_control
    return [vertex_coordinates(mesh), _samples(mesh)] if acts(obj) else []


def _samples(mesh: bpy.types.Mesh) -> Points:
    """(T, N, 3) as they are kept."""
    count = sum(attribute.name.startswith(_FRAME) for attribute in mesh.attributes)
    values = np.empty((count, 3 * len(mesh.vertices)), dtype=np.float32)
    for frame, row in enumerate(values):
        mesh.attributes[f"{_FRAME}{frame}"].data.foreach_get("vector", row)
    return values.reshape(count, -1, 3).astype(np.float64)
