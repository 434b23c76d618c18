# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the volume inside triangles, see ``EnclosedVolume``."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..math3.vectors import cross, dot


@compiled()
def add_area_vectors(factor: float, triangles: Any, sixths: Any, positions: Any, out: Any) -> None:
    """Adds a factor times the gradient of the volume, in m², to (3, N).

    Args:
        triangles: (3, S) vertices.
        sixths: (S,) weights of triangles, over 6.
        positions: (3, N) in metres.
    """
    for s in range(len(sixths)):
        a, b, c = triangles[0, s], triangles[1, s], triangles[2, s]
        area = cross(_edge(positions, a, b), _edge(positions, a, c))
        for i in range(3):
            share = factor * sixths[s] * area[i]
            out[i, a] += share
            out[i, b] += share
            out[i, c] += share


@compiled()
def volume_inside(triangles: Any, sixths: Any, positions: Any) -> float:
    """The volume in m³, by tets from one of the corners, so that rounding is that of the body's
    size. Arguments as for ``add_area_vectors``."""
    origin, volume = triangles[0, 0], 0.0
    for s in range(len(sixths)):
        a, b, c = triangles[0, s], triangles[1, s], triangles[2, s]
        area = cross(_edge(positions, origin, b), _edge(positions, origin, c))
        volume += sixths[s] * dot(_edge(positions, origin, a), area)
    return volume


@compiled()
def _edge(positions: Any, start: int, end: int) -> Any:
    """The vector between two of (3, N)."""
    return (
        positions[0, end] - positions[0, start],
        positions[1, end] - positions[1, start],
        positions[2, end] - positions[2, start],
    )
