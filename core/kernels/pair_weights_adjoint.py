# SPDX-License-Identifier: GPL-3.0-or-later
"""How what pairs count changes with where the surfaces are.

That is a product of ramps over all that adjoins a pair: its derivatives are central differences of
it, by the few points that it hangs on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import compiled
from .closest_points import closest_points
from .detection import stencil
from .pair_features import SHARED
from .pair_weights import pair_weight
from .vectors import dot, four_points

# How far points are moved to either side, over the distance of a pair: ramps are linear in sines,
# and rounding is less than this square even where coordinates are a thousand distances.
STEP_RATIO = 1e-4


@compiled()
def _weight_at(stencils: Any, mesh: Any, laws: Any, points: Any, pair: int, held: int) -> Any:
    """Of a pair, whether it can change there, and the distance."""
    a, b, c, d, are_edges = stencil(stencils, pair)
    x = four_points(points, a, b, c, d)
    closest = closest_points(are_edges, x)
    weight, share, is_whole = pair_weight(stencils, mesh, laws, points, pair, x, closest)
    distance = math.sqrt(dot(closest[0], closest[0]))
    if held != SHARED:
        return weight, not is_whole, distance
    return weight * share, not (is_whole and (share == 0.0 or share == 1.0)), distance


@compiled()
def _around(stencils: Any, mesh: Any, pair: int) -> Any:
    """The points of a pair, and those at the other ends of edges there."""
    a, b, c, d, _ = stencil(stencils, pair)
    count = 4
    for corner in (a, b, c, d):
        count += mesh.vertex_offsets[corner + 1] - mesh.vertex_offsets[corner]
    found, used = np.empty(count, np.int64), 0
    for corner in (a, b, c, d):
        found[used] = corner
        used += 1
        for place in range(mesh.vertex_offsets[corner], mesh.vertex_offsets[corner + 1]):
            edge = mesh.vertex_edges[place]
            found[used] = mesh.edges[edge, 0] + mesh.edges[edge, 1] - corner
            used += 1
    return np.unique(found)


@compiled()
def weights_back(
    pairs: Any,
    stencils: Any,
    mesh: Any,
    laws: Any,
    points: Any,
    held: Any,
    wanted: Any,
    out: Any,
) -> None:
    """Adds to (V, 3) gradients by points those that come of (P,) gradients by what pairs count.

    Args:
        pairs, stencils, mesh, laws: as for ``contact_constraints.write_pairs``.
        points: (V, 3) of the surfaces; as before in the end.
        held: as ``pair_features`` has it.
    """
    for k in range(len(pairs)):
        pair = pairs[k]
        _, varies, distance = _weight_at(stencils, mesh, laws, points, pair, held[k])
        if wanted[k] == 0.0 or not varies:
            continue
        step = STEP_RATIO * distance
        for point in _around(stencils, mesh, pair):
            for axis in range(3):
                kept = points[point, axis]
                points[point, axis] = kept + step
                above = _weight_at(stencils, mesh, laws, points, pair, held[k])[0]
                points[point, axis] = kept - step
                below = _weight_at(stencils, mesh, laws, points, pair, held[k])[0]
                points[point, axis] = kept
                out[point, axis] += wanted[k] * (above - below) / (2.0 * step)
