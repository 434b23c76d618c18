# SPDX-License-Identifier: GPL-3.0-or-later
"""Where short segments go through triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.triangle_pairs import pierced_at
from .ipctk import ipctk

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
    count, total = len(begin), len(vertices)
    segments = total + np.stack([np.arange(count), count + np.arange(count)], axis=1)
    broad = ipctk().LBVH()
    if owners is not None and vertex_owners is not None:
        labels = np.concatenate([vertex_owners, owners, owners])
        broad.can_vertices_collide = ipctk().make_vertex_patches_filter(labels)
    broad.build(
        np.asfortranarray(np.concatenate([vertices, begin, end])),
        np.asfortranarray(segments.astype(np.int32)),
        np.asfortranarray(triangles),
    )
    found = [(each.edge_id, each.face_id) for each in broad.detect_edge_face_candidates()]
    segment, triangle = np.array(sorted(found), dtype=np.int64).reshape(-1, 2).T
    fraction = pierced_at(begin[segment], end[segment], vertices[triangles[triangle]])
    hit = np.isfinite(fraction)
    return segment[hit], triangle[hit], fraction[hit]
