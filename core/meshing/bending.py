# SPDX-License-Identifier: GPL-3.0-or-later
"""How much too stiffly tetrahedra bend in the thin parts of a solid.

A linear tetrahedron has one strain, so that a part with few of them across bends by shearing them.
That adds as much to its bending stiffness as the square of their edges over its thickness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.triangles import orient_consistently
from ..geometry.winding_number import winding_number
from .surface import signed_volume

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

#: What is bent more stiffly than by this factor is reported.
MAX_BENDING_RATIO = 1.5
# What the square of the edge length over the thickness adds to the stiffness of a round bar, as
# measured in the lattice from a sixth of an edge to two edges across; of a slab a quarter less.
_SHEAR_FACTOR = 1.25
# Of the surface, how much has to be thin.
_THIN_SHARE = 0.1
_MAX_SAMPLES, _MIN_SAMPLES, _MAX_PAIRS = 256, 32, 4_000_000
# Of the size of the surface: what a ray begins below it.
_BEGIN_RATIO = 1e-6
_INSIDE = 0.5
# Of the angle between two sides that are across from each other.
_ACROSS_COSINE = 0.7
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)


def bending_ratio(edge_length: float, thickness: float) -> float:
    """The bending stiffness of a part of a thickness, in units of that with short edges."""
    return 1.0 + _SHEAR_FACTOR * (edge_length / thickness) ** 2


def thin_thickness(vertices: FloatArray, triangles: IndexArray) -> float:
    """The thickness in metres that a tenth of a surface does not reach; infinite where the solid
    has no part with two sides.

    It is measured by rays along the normals. Sides that meet in a wedge, as at the tip of a cone,
    are none of a part that bends.

    Args:
        vertices: (V, 3) in metres.
        triangles: (T, 3).
    """
    triangles = orient_consistently(triangles)
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    corners, normals, areas = corners[areas > 0.0], normals[areas > 0.0], areas[areas > 0.0]
    if len(areas) == 0:
        return float("inf")
    outwards = 1.0 if signed_volume(vertices, triangles) >= 0.0 else -1.0
    normals = outwards * normals / areas[:, None]
    count = int(np.clip(_MAX_PAIRS // len(corners), _MIN_SAMPLES, _MAX_SAMPLES))
    # As many in each part of the surface as its area demands.
    steps = (np.arange(count) + 0.5) / count * areas.sum()
    which = np.minimum(np.searchsorted(np.cumsum(areas), steps), len(areas) - 1)
    first = np.sqrt((np.arange(count) * _GOLDEN + 0.25) % 1.0)
    second = (np.arange(count) + 0.5) * 7.0 / count % 1.0
    weights = np.stack([1.0 - first, first * (1.0 - second), first * second], axis=1)
    begin = _BEGIN_RATIO * float(np.ptp(vertices, axis=0).max()) * normals[which]
    origins = np.einsum("sc,sci->si", weights, corners[which]) - begin
    depths = np.array(
        [
            _depth(origin, -normal, corners, normals)
            for origin, normal in zip(origins, normals[which], strict=True)
        ]
    )
    middles = origins - 0.5 * np.where(np.isfinite(depths), depths, 0.0)[:, None] * normals[which]
    is_solid = np.abs(winding_number(middles, vertices, triangles)) > _INSIDE
    depths[~is_solid] = np.inf
    return float(np.sort(depths)[int(_THIN_SHARE * count)])


def _depth(
    origin: FloatArray, direction: FloatArray, corners: FloatArray, normals: FloatArray
) -> float:
    """How far a ray goes to the next triangle through which it leaves the solid; infinite where
    that is not across from where it begins.

    Source: Möller and Trumbore, "Fast, minimum storage ray/triangle intersection", 1997.
    """
    leaves = normals @ direction > 0.0
    corners, normals = corners[leaves], normals[leaves]
    a, b, c = corners.swapaxes(0, 1)
    one, other = b - a, c - a
    across = np.cross(direction, other)
    determinant = np.einsum("ti,ti->t", one, across)
    away = origin - a
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("ti,ti->t", away, across) / determinant
        turned = np.cross(away, one)
        v = turned @ direction / determinant
        along = np.einsum("ti,ti->t", other, turned) / determinant
        hit = np.flatnonzero((u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (along > 0.0))
    if len(hit) == 0:
        return float("inf")
    first = hit[along[hit].argmin()]
    return float(along[first]) if normals[first] @ direction > _ACROSS_COSINE else float("inf")
