# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft bodies so far from the origin that single precision rounds where they are."""

from __future__ import annotations

import bpy
import numpy as np

from ..units import metres_per_unit

# Of a cell.
_MAX_ROUNDING_RATIO = 1e-3


def text(scene: bpy.types.Scene, obj: bpy.types.Object) -> str:
    """What Blender rounds of a body's positions, and the cure; empty where nobody could see it.

    The solver counts in double precision, and frames are kept in the object's own space. Blender
    keeps these, and shows them in the world, in single precision.
    """
    box, matrix = np.array(obj.bound_box), np.array(obj.matrix_world)
    scale = float(np.abs(np.linalg.svd(matrix[:3, :3], compute_uv=False)).max())
    world = np.abs(box @ matrix[:3, :3].T + matrix[:3, 3]).max()
    size = float((np.ptp(box, axis=0) * np.linalg.norm(matrix[:3, :3], axis=0)).max())
    allowed = _MAX_ROUNDING_RATIO * size / obj.supple.resolution
    in_world, in_object = _rounding(world), scale * _rounding(np.abs(box).max())
    if max(in_world, in_object) <= allowed or not np.isfinite(world):
        return ""
    unit = metres_per_unit(scene)
    rounding = f"{1e3 * unit * max(in_world, in_object):.2g} mm"
    cell = f"{1e3 * unit * size / obj.supple.resolution:.2g} mm"
    cures = []
    if in_world > allowed:
        cures.append("Move the scene to the origin of the world")
    if in_object > allowed:
        cures.append("Choose Object > Set Origin > Origin to Geometry")
    return (
        f"{obj.name} is so far from the origin that Blender rounds its positions to {rounding}, "
        f"more than a thousandth of its cells of {cell}, in playback and in a bake. "
        f"{'. '.join(cures)}."
    )


def _rounding(coordinate: float) -> float:
    return float(np.spacing(np.float32(coordinate)))
