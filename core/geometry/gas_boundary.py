# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the surface on which gas inside of a body presses: the walls of its hollows, or its whole
boundary where it has none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .groups import components, equal_rows
from .tet_mesh import FACES, TetMesh

# The least volume of a hollow, relative to the volume around it; a smaller one is a bubble of the
# mesh.
MIN_HOLLOW_VOLUME_RATIO = 1e-3

Triangles = NDArray[np.int32]
Weights = NDArray[np.float64]


def gas_boundary(mesh: TetMesh) -> tuple[Triangles, Weights]:
    """The (S, 3) triangles around the gas of a body, seen counter-clockwise from outside of the
    gas, and their (S,) weights: the volume of the gas is that of the weighted triangles.

    A hollow is a connected part of the boundary whose inside is not of the body, and the gas that
    the tets around it hold. Without any, the volume is that of the material. Between tets that do
    not hold alike triangles have a weight.
    """
    hollows = _hollows(mesh)
    if mesh.gas is not None:
        faces = np.concatenate([mesh.tets[:, FACES].reshape(-1, 3), hollows[0]])
        return _net_faces(faces, np.concatenate([np.repeat(mesh.gas, len(FACES)), hollows[1]]))
    if len(hollows[0]) > 0:
        return hollows
    return _boundary(mesh.tets, np.ones(len(mesh.tets)) if mesh.fill is None else mesh.fill)


def gas_volume(mesh: TetMesh) -> float:
    """The volume of the gas of a body at rest, in m³."""
    triangles, weights = gas_boundary(mesh)
    return float(weights @ enclosed_volumes(mesh.vertices, triangles))


def _hollows(mesh: TetMesh) -> tuple[Triangles, Weights]:
    """Triangles and weights as of ``gas_boundary``, around empty space within the tets."""
    triangles, weights = _boundary(mesh.tets, np.ones(len(mesh.tets)))
    parts = _parts(mesh.vertices, triangles)
    volumes = np.bincount(parts, weights * enclosed_volumes(mesh.vertices, triangles))
    outer = volumes[volumes > 0.0].sum()
    chosen = (volumes < -MIN_HOLLOW_VOLUME_RATIO * outer)[parts]
    return np.ascontiguousarray(triangles[chosen, ::-1]), weights[chosen]


def enclosed_volumes(vertices: NDArray[np.float64], triangles: Triangles) -> Weights:
    """Return the (S,) volumes in m³ between each triangle and the mean vertex, negative seen
    from its back."""
    a, b, c = (vertices - vertices.mean(axis=0))[triangles].swapaxes(0, 1)
    return np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0


def _boundary(tets: NDArray[np.int32], amounts: Weights) -> tuple[Triangles, Weights]:
    """Return the faces at which the amounts (M,) of tets change, with the change.

    It is closed, even with overlapping tets.
    """
    return _net_faces(tets[:, FACES].reshape(-1, 3), np.repeat(amounts, len(FACES)))


def _net_faces(faces: Triangles, amounts: Weights) -> tuple[Triangles, Weights]:
    """Return each of (K, 3) faces once, with the amounts (K,) from one side less those from the
    other."""
    order = np.argsort(faces, axis=1)
    corners = np.take_along_axis(faces, order, axis=1)
    # An even permutation of the corners turns a triangle, an odd one flips it.
    is_even = (order[:, 1] - order[:, 0]) % 3 == 1
    signed = np.where(is_even, 1.0, -1.0) * amounts
    unique, which = np.unique(corners, axis=0, return_inverse=True)
    net = np.bincount(which.ravel(), signed)
    mask = np.abs(net) > 1e-9 * amounts.max()
    triangles, weights = unique[mask], net[mask]
    triangles[weights < 0.0] = triangles[weights < 0.0][:, ::-1]
    return np.ascontiguousarray(triangles, dtype=np.int32), np.abs(weights)


def _parts(vertices: NDArray[np.float64], triangles: Triangles) -> NDArray[np.intp]:
    """Return the (S,) part that each triangle belongs to: triangles around the same empty space are
    one part.

    Two triangles with an edge in common are. At a pinched edge with several triangles, the empty
    space joins them.
    """
    count = len(triangles)
    ends = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    order, starts = equal_rows(ends)
    sizes = np.diff(starts, append=len(order))
    simple = sizes == 2
    links = [np.stack([order[starts[simple]], order[starts[simple] + 1]], axis=1) // 3]
    for start, size in zip(starts[sizes > 2], sizes[sizes > 2], strict=True):
        sides = np.sort(order[start : start + size])
        links.append(_joined_around_edge(vertices, triangles, ends[sides], sides))
    return components(count, np.concatenate(links))


def _joined_around_edge(
    vertices: NDArray[np.float64], triangles: Triangles, ends: Triangles, sides: NDArray[np.intp]
) -> NDArray[np.intp]:
    """(L, 2) triangles with empty space between them around an edge.

    Args:
        ends: (K, 2) vertices of the edge, in the order of each triangle.
        sides: (K,) the sides of triangles, three of each, that the edge is.
    """
    low, high = np.sort(ends[0])
    across = vertices[triangles[sides // 3, (sides % 3 + 2) % 3]] - vertices[low]
    along = vertices[high] - vertices[low]
    along /= np.linalg.norm(along)
    first = across[0] - (across[0] @ along) * along
    angles = np.arctan2(across @ np.cross(along, first), across @ first)
    # Counter-clockwise about the edge, empty space follows a triangle that runs along it.
    opens = ends[:, 0] == low
    order = np.lexsort((~opens, angles)).tolist()
    waiting: list[int] = []
    links = []
    # Twice around, since a part that is open at first closes at the end.
    for place in [*order, *order]:
        if opens[place]:
            waiting.append(place)
        elif waiting:
            links.append((sides[waiting.pop()] // 3, sides[place] // 3))
    return np.array(links, dtype=np.intp).reshape(-1, 2)
