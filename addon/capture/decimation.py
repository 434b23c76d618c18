# SPDX-License-Identifier: GPL-3.0-or-later
"""A simpler surface in place of a fine one, by Blender's Decimate modifier."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
import numpy as np

from ..new_mesh import new_mesh
from .surfaces import Points, Triangles, evaluated_surface

_NAME = "Supple Proxy"


def decimated(points: Points, faces: Triangles, ratio: float) -> tuple[Points, Triangles]:
    """Collapses edges of a surface until about this part of its faces is left.

    Args:
        points, faces: (V, 3) and (T, 3).
        ratio: 0 … 1.
    """
    # Blender keeps single precision: it counts from the middle, not from far away.
    center = points.mean(axis=0)
    with _temporary_object(points - center, faces) as (obj, layer):
        modifier = obj.modifiers.new(_NAME, "DECIMATE")
        modifier.decimate_type, modifier.ratio = "COLLAPSE", ratio
        layer.update()
        simpler, left = evaluated_surface(obj, layer.depsgraph)
    return simpler + center, left


@contextmanager
def _temporary_object(
    points: Points, faces: Triangles
) -> Iterator[tuple[bpy.types.Object, bpy.types.ViewLayer]]:
    """The surface as an object of a scene of its own, where nobody sees it; gone afterwards."""
    mesh = new_mesh(_NAME, points.astype(np.float32), faces)
    obj = bpy.data.objects.new(_NAME, mesh)
    scene = bpy.data.scenes.new(_NAME)
    try:
        scene.collection.objects.link(obj)
        yield obj, scene.view_layers[0]
    finally:
        bpy.data.scenes.remove(scene)
        bpy.data.objects.remove(obj)
        bpy.data.meshes.remove(mesh)
