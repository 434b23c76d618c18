# SPDX-License-Identifier: GPL-3.0-or-later
"""The soft bodies that stand on another one, by the boxes around them."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.preparation.self_weight import EARTH, Load
from ..capture.objects import is_soft_body
from ..capture.surfaces import Points
from ..units import exact_float, gravity, metres_per_unit
from .rest_boxes import mesh_volume, rest_box

# Of the lower one of two heights: what is farther from the top of a body does not stand on it.
_GAP_RATIO = 0.02
# Of the smaller one of two footprints, the part on the other: what has less on it leans on it.
_OVERLAP_RATIO = 0.1


def load_on(scene: bpy.types.Scene, obj: bpy.types.Object) -> Load:
    """The bodies that stand on a soft body, and on those that do."""
    return loads(scene).get(obj, Load())


def loads(scene: bpy.types.Scene) -> dict[bpy.types.Object, Load]:
    """The load on each soft body; what stands on several is shared by the area on each."""
    bodies = [obj for obj in scene.objects if is_soft_body(obj) and obj.visible_get()]
    if len(bodies) < 2:
        return {}
    frame, unit = _upright(scene), metres_per_unit(scene)
    corners = np.array([unit * rest_box(obj) @ frame for obj in bodies])
    low, high = corners.min(axis=1), corners.max(axis=1)
    shares = _shares(low, high)
    shares[[_is_held(obj) for obj in bodies]] = 0.0
    carried, tops = np.zeros(len(bodies)), high[:, 2].copy()
    for upper in np.argsort(-low[:, 2], kind="stable"):
        below = np.flatnonzero(shares[upper])
        if len(below) == 0:
            continue
        density, volume = exact_float(bodies[upper].supple.density), mesh_volume(bodies[upper])
        mass = carried[upper] + density * unit**3 * volume
        carried[below] += shares[upper, below] / shares[upper].sum() * mass
        tops[below] = np.maximum(tops[below], tops[upper])
    heights = tops - high[:, 2]
    return {
        obj: Load(float(mass), float(height))
        for obj, mass, height in zip(bodies, carried, heights, strict=True)
    }


def _shares(low: Points, high: Points) -> Points:
    """(N, N) the area in m² with which a body, the row, stands on another, the column; 0 where it
    does not.

    Args:
        low, high: (N, 3) corners of the boxes around the bodies in metres, the last axis up.
    """
    heights = (high - low)[:, 2]
    gaps = np.abs(low[:, None, 2] - high[None, :, 2])
    is_near = gaps <= _GAP_RATIO * np.minimum(heights[:, None], heights[None])
    ends, starts = np.minimum(high[:, None], high[None]), np.maximum(low[:, None], low[None])
    areas = np.maximum(ends - starts, 0.0)[:, :, :2].prod(axis=2)
    footprints = (high - low)[:, :2].prod(axis=1)
    smaller = np.minimum(footprints[:, None], footprints[None])
    is_on = is_near & (areas > _OVERLAP_RATIO * smaller)
    np.fill_diagonal(is_on, False)
    return np.where(is_on, areas, 0.0)


def _is_held(obj: bpy.types.Object) -> bool:
    """Whether pins or an attachment carry a body, so that it rests on no other."""
    props = obj.supple
    return bool(props.pin_group or props.jiggle_group or props.attach_to is not None)


def _upright(scene: bpy.types.Scene) -> Points:
    """(3, 3) orthonormal columns, the last one up."""
    pull = np.array(gravity(scene))
    up = -(pull if pull.any() else np.array(EARTH))
    frame, _ = np.linalg.qr(np.column_stack([up, np.eye(3)]))
    frame[:, 0] *= np.sign(frame[:, 0] @ up)
    return np.asarray(np.roll(frame, -1, axis=1))
