# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of points with the ground, beside those between surfaces."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..compiled import compiled
from .contact_constraints import GROUND, add_point, finish, height_at


class GroundLaws(NamedTuple):
    """The contact laws of S points: weights in newtons, d̂ in metres, coefficients of friction;
    and the height of the ground in metres.
    """

    weights: Any
    distances: Any
    static: Any
    kinetic: Any
    height: float


@compiled()
def find_ground(
    interpolation: Any,
    laws: Any,
    nodes: Any,
    moves: Any,
    displacements: Any,
    mobility: Any,
    out: Any,
    count: int,
) -> int:
    """Adds the contacts with the ground to ``count`` others; how many there are then.

    Args:
        interpolation: of the S points.
        nodes, moves: (N, 3) where nodes are, and the moves they are about to make.
    """
    for point in range(len(laws.weights)):
        height = height_at(interpolation, nodes, point) - laws.height
        ahead = height + height_at(interpolation, moves, point)
        dhat = laws.distances[point]
        if min(height, ahead) >= dhat:
            continue
        if count < len(out.forces):
            out.normals[count, 0] = out.normals[count, 1] = 0.0
            out.normals[count, 2] = 1.0
            out.distances[count], out.dhats[count] = height, dhat
            out.scales[count] = laws.weights[point] * dhat
            out.kinds[count] = GROUND
            out.static[count], out.kinetic[count] = laws.static[point], laws.kinetic[point]
            used = add_point(interpolation, point, 1.0, out, count, 0)
            finish(out, count, used, displacements, mobility)
        count += 1
    return count
