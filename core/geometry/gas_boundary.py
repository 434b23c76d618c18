# SPDX-License-Identifier: GPL-3.0-or-later
"""Where gas inside of a body presses: on the walls of its hollows, or, where it has none, as if all
of it were gas."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .components import components
from .groups import numbered_pairs
from .tet_mesh import FACES, TetMesh

# Of the volume around it: what is smaller is a bubble of the mesh rather than a hollow.
MIN_HOLLOW_VOLUME_RATIO = 1e-3

Triangles = NDArray[np.int32]
Weights = NDArray[np.float64]


def gas_boundary(mesh: TetMesh) -> tuple[Triangles, Weights]:
    """The (S, 3) triangles around the gas of a body, seen counter-clockwise from outside of the
    gas, and their (S,) weights: the volume of the gas is that of the weighted triangles.

    A hollow is a connected part of the boundary whose inside is not of the body. Without any, the
    volume is that of the material: between tets that are not filled alike triangles have a weight.
    """
    hollows = _hollows(mesh)
    if hollows is not None:
        return hollows
    return _boundary(mesh.tets, np.ones(len(mesh.tets)) if mesh.fill is None else mesh.fill)


def enclosed_volumes(vertices: NDArray[np.float64], triangles: Triangles) -> Weights:
    """(S,) in m³ between each triangle and the mean vertex, negative seen from its back."""
    a, b, c = (vertices - vertices.mean(axis=0))[triangles].swapaxes(0, 1)
    volumes: Weights = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    return volumes


def _hollows(mesh: TetMesh) -> tuple[Triangles, Weights] | None:
    triangles, weights = _boundary(mesh.tets, np.ones(len(mesh.tets)))
    parts = _parts(triangles)
    volumes = np.bincount(parts, weights * enclosed_volumes(mesh.vertices, triangles))
    outer = volumes[volumes > 0.0].sum()
    chosen = (volumes < -MIN_HOLLOW_VOLUME_RATIO * outer)[parts]
    if not chosen.any():
        return None
    return np.ascontiguousarray(triangles[chosen, ::-1]), weights[chosen]


def _boundary(tets: NDArray[np.int32], amounts: Weights) -> tuple[Triangles, Weights]:
    """Of tets that count by (M,) amounts: the faces at which the sum of these changes.

    It is closed whatever tets overlap.
    """
    faces = tets[:, FACES].reshape(-1, 3)
    order = np.argsort(faces, axis=1)
    corners = np.take_along_axis(faces, order, axis=1)
    # An even permutation of the corners turns a triangle, an odd one flips it.
    is_even = (order[:, 1] - order[:, 0]) % 3 == 1
    signed = np.where(is_even, 1.0, -1.0) * np.repeat(amounts, len(FACES))
    unique, which = np.unique(corners, axis=0, return_inverse=True)
    net = np.bincount(which.ravel(), signed)
    kept = np.abs(net) > 1e-9 * amounts.max()
    triangles, weights = unique[kept], net[kept]
    triangles[weights < 0.0] = triangles[weights < 0.0][:, ::-1]
    return np.ascontiguousarray(triangles, dtype=np.int32), np.abs(weights)


def _parts(triangles: Triangles) -> NDArray[np.intp]:
    """(S,) which part each triangle belongs to; those with an edge in common belong together."""
    count = len(triangles)
    edges = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edge = numbered_pairs(edges)[1] + count
    links = np.stack([np.repeat(np.arange(count), 3), edge], axis=1)
    # Each edge is that of a triangle, so that these come first in every component.
    return components(int(edge.max()) + 1, links)[:count]
