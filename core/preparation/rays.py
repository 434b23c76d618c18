# SPDX-License-Identifier: GPL-3.0-or-later
"""Where short segments go through triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.box_pairs import Boxes, pairs_between
from ..geometry.groups import distinct_pairs
from ..geometry.triangle_pairs import pierced_at

Points = NDArray[np.float64]
Indices = NDArray[np.int64]


def segment_hits(
    begin: Points,
    end: Points,
    vertices: Points,
    triangles: NDArray[np.int32],
    owners: NDArray[np.int32] | None = None,
    vertex_owners: NDArray[np.int32] | None = None,
) -> tuple[Indices, Indices, NDArray[np.float64]]:
    """Each crossing of a segment and a triangle.

    Args:
        begin, end: (S, 3) of the segments.
        vertices, triangles: (V, 3) and (F, 3).
        owners, vertex_owners: (S,) and (V,), where segments pass through triangles of their owner.

    Returns:
        The segments, the triangles, and the shares of the way from begin to end.
    """
    ways = Boxes.around(np.stack([begin, end], axis=1))
    found = [np.empty((0, 2), dtype=np.int64)]
    for segment, triangle in pairs_between(ways, Boxes.around(vertices[triangles])):
        pairs = np.stack([segment, triangle], axis=1)
        if owners is not None and vertex_owners is not None:
            pairs = pairs[owners[segment] != vertex_owners[triangles[triangle, 0]]]
        found.append(pairs)
    pairs = distinct_pairs(np.concatenate(found))
    segment, triangle = pairs.T
    fraction = pierced_at(begin[segment], end[segment], vertices[triangles[triangle]])
    hit = np.isfinite(fraction)
    return segment[hit], triangle[hit], fraction[hit]
