# SPDX-License-Identifier: GPL-3.0-or-later
"""The rest shape of a body: from shape keys, or stored as a mesh of tetrahedra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np

from ...core.scene.rest_shape import RestShape, TetRestShape
from ..animated import is_animated
from ..bake import shape_keys
from ..new_mesh import new_mesh
from ..settings.object import KEPT, SHAPE_KEYS
from .captured import CaptureError
from .motion import Matrices, Recording, Samples, transform
from .surfaces import Points, corner_vertices, key_offset, vertex_coordinates


def has_shape_keys(obj: bpy.types.Object) -> bool:
    """Whether shape keys are to be the rest shape of an object's body."""
    return bool(obj.supple.rest_shape == SHAPE_KEYS)


def rest_keys(obj: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    """Return the user's relative keys without the basis; none if the keys are absolute."""
    keys = obj.data.shape_keys
    if keys is None or not keys.use_relative:
        return []
    blocks = [block for block in keys.key_blocks if not shape_keys.is_supple_key(block)]
    return [block for block in blocks if block != keys.reference_key]


@contextmanager
def basis_shown(objects: Sequence[bpy.types.Object]) -> Iterator[None]:
    """Lets the objects whose shape keys are rest shapes have the shape of their basis."""
    bodies = [obj for obj in objects if has_shape_keys(obj) and rest_keys(obj)]
    shown = [(obj.show_only_shape_key, obj.active_shape_key_index) for obj in bodies]
    try:
        for obj in bodies:
            obj.active_shape_key_index, obj.show_only_shape_key = 0, True
        yield
    finally:
        for obj, (only, active) in zip(bodies, shown, strict=True):
            obj.show_only_shape_key, obj.active_shape_key_index = only, active


class RestShapeRecording:
    """A recording of one object whose shape keys are its rest shape.

    Raises:
        CaptureError: when it has none that could be.
    """

    def __init__(self, obj: bpy.types.Object) -> None:
        blocks = rest_keys(obj)
        if not blocks:
            raise CaptureError(_no_keys_message(obj))
        self._offsets = np.stack([key_offset(obj, block) for block in blocks])
        names = [block.name for block in blocks]

        def read(depsgraph: bpy.types.Depsgraph) -> Samples:
            now = obj.data.shape_keys.evaluated_get(depsgraph).key_blocks
            return np.array([0.0 if now[name].mute else now[name].value for name in names])

        self.recording = Recording(read, is_animated(obj.data.shape_keys))

    def described(self, matrix: Matrices, unit: float) -> RestShape:
        """Describe the rest shape of an object for the solver.

        Args:
            matrix: (4, 4) object to world at the start, in Blender units.
            unit: metres in a Blender unit.
        """
        moved: Points = unit * (self._offsets @ matrix[:3, :3].T)
        return RestShape(moved, self.recording.channel())


def _no_keys_message(obj: bpy.types.Object) -> str:
    keys = obj.data.shape_keys
    if keys is not None and not keys.use_relative:
        return (
            f"{obj.name}: its shape keys are absolute and cannot be its rest shape. Tick "
            "Relative under Shape Keys, or choose Modelled as Rest Shape."
        )
    return (
        f"{obj.name}: Rest Shape is Shape Keys, and its mesh has only a basis key. Add a shape "
        "key, or choose Modelled."
    )


_REST = "rest"


def keep(obj: bpy.types.Object, shape: TetRestShape, matrix: Matrices, unit: float) -> None:
    """Lets a body have a rest shape from now on.

    Args:
        matrix: (4, 4) object to world when that was captured, in Blender units.
        unit: metres in a Blender unit.
    """
    inverse = np.linalg.inv(matrix)
    local_places = [transform(inverse, places / unit) for places in (shape.vertices, shape.rest)]
    mesh = new_mesh(f"{obj.name} at rest", local_places[0], shape.tets)
    rest = mesh.attributes.new(_REST, "FLOAT_VECTOR", "POINT")
    rest.data.foreach_set("vector", local_places[1].astype(np.float32).ravel())
    obj.supple.kept_shape, obj.supple.rest_shape = mesh, KEPT


def is_kept(obj: bpy.types.Object) -> bool:
    """Whether a body rests in a shape that was found for it."""
    mesh = obj.supple.kept_shape
    return obj.supple.rest_shape == KEPT and mesh is not None and _REST in mesh.attributes


def kept_shape(obj: bpy.types.Object, matrix: Matrices, unit: float) -> TetRestShape | None:
    """Return the rest shape that a body keeps; None for none. Arguments as of ``keep``."""
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
