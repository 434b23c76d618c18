# SPDX-License-Identifier: GPL-3.0-or-later
"""What the closest points of candidate pairs are between."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .closest_features import FACE_INSIDE
from .closest_points import closest_points
from .collision_keys import POINT_EDGE, POINT_FACE, POINTS
from .detection import stencil
from .pair_weights import pair_weight, within_step
from .vectors import four_points

SHARED, WHOLE_NOW, WHOLE_AHEAD = 0, 1, 2


@compiled()
def pair_features(
    pairs: Any,
    stencils: Any,
    mesh: Any,
    laws: Any,
    points: Any,
    ends: Any,
    vertices: Any,
    features: Any,
    held: Any,
) -> None:
    """Fills them in as ``NormalCollisions`` has them.

    Args:
        pairs: (K,) among candidates.
        stencils, mesh, laws, points, ends: as for ``contact_constraints.write_pairs``.
        vertices: (K, 4) in the order that the feature is of.
        features: (K,) codes of two edges, or else ``POINTS``, ``POINT_EDGE`` or ``POINT_FACE``.
        held: (K,) ``SHARED`` where pairs count their share, ``WHOLE_NOW`` and ``WHOLE_AHEAD`` where
            they count in whole since they would else meet within the step, and are made linear by
            the closest points of its start or its end.
    """
    for k in range(len(pairs)):
        a, b, c, d, are_edges = stencil(stencils, pairs[k])
        x = four_points(points, a, b, c, d)
        closest = closest_points(are_edges, x)
        held[k] = SHARED
        if pair_weight(stencils, mesh, laws, points, pairs[k], x, closest)[1] == 0.0:
            then, share = within_step(stencils, mesh, laws, ends, pairs[k], x, closest)
            if share > 0.0:
                held[k] = WHOLE_NOW if then[0] == closest[0] else WHOLE_AHEAD
                closest = then
        place = closest[5]
        if are_edges:
            features[k] = place
        elif place == FACE_INSIDE:
            features[k] = POINT_FACE
        else:
            features[k] = POINTS if place < 3 else POINT_EDGE
            # That corner comes first, or the one that the edge begins at.
            if place % 3 == 1:
                b, c, d = c, d, b
            elif place % 3 == 2:
                b, c, d = d, b, c
        vertices[k, 0], vertices[k, 1], vertices[k, 2], vertices[k, 3] = a, b, c, d
