# SPDX-License-Identifier: GPL-3.0-or-later
"""Penetration depths of bodies into each other and into a bowl."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.core.geometry.triangles import closest_points
from supple.core.geometry.winding_number import winding_number

Positions = NDArray[np.float64]
Triangles = NDArray[np.integer[Any]]

_ON_EDGE = 1e-9


def deepest_in_each_other(bodies: Positions, surface: Triangles) -> float:
    """The farthest that a surface vertex of one body lies below the surface of another, in metres.

    Args:
        bodies: (B, N, 3), all with the same triangles.
        surface: (F, 3), closed, seen counter-clockwise from outside.
    """
    used = np.unique(surface)
    deepest = 0.0
    for one, body in enumerate(bodies):
        low, high = body[used].min(axis=0), body[used].max(axis=0)
        others = np.delete(bodies[:, used], one, axis=0).reshape(-1, 3)
        near = others[((others > low) & (others < high)).all(axis=1)]
        if len(near) == 0:
            continue
        inside = near[winding_number(near, body, surface) > 0.5]
        if len(inside):
            deepest = max(deepest, float(_distances(inside, body, surface)[0].max()))
    return deepest


def depths_below(points: Positions, vertices: Positions, triangles: Triangles) -> Positions:
    """Return the (P,) depths of points (P, 3) below an open surface that curves up everywhere, in
    metres.

    Negative above it. What is closest to its rim is beside it, and nan: it may have come there
    without going through.

    Args:
        vertices, triangles: (V, 3) and (F, 3), seen counter-clockwise from above.
    """
    distances, nearest, weights = _distances(points, vertices, triangles)
    a, b, c = vertices[triangles[nearest]].swapaxes(0, 1)
    above = np.einsum("pi,pi->p", points - a, np.cross(b - a, c - a)) >= 0.0
    at_edge = (weights < _ON_EDGE) & _opposite_of_rim(triangles)[nearest]
    beside = at_edge.any(axis=1)
    return np.where(beside, np.nan, np.where(above, -distances, distances))


def _distances(
    points: Positions, vertices: Positions, triangles: Triangles
) -> tuple[Positions, NDArray[np.intp], Positions]:
    """Return the (P,) distances to the closest points, the (P,) triangles of these, and their
    (P, 3) weights there.
    """
    nearest, weights = closest_points(points, vertices, triangles)
    closest = np.einsum("pc,pci->pi", weights, vertices[triangles[nearest]])
    return np.linalg.norm(points - closest, axis=1), nearest, weights


def _opposite_of_rim(triangles: Triangles) -> NDArray[np.bool_]:
    """(F, 3) whether the edge opposite of a corner belongs to one triangle only."""
    edges = np.sort(triangles[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2), axis=1)
    _, edge_of, uses = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    rim: NDArray[np.bool_] = uses[edge_of.ravel()].reshape(-1, 3) == 1
    return rim
