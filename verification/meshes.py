# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that are the same everywhere: no mesher has a part in what is verified."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from supple.core import TetMesh

# Interior vertices move by up to this share of a cell.
IRREGULARITY = 0.25


def block(
    cells: tuple[int, int, int] = (2, 2, 2),
    size: tuple[float, float, float] = (1.0, 1.0, 1.0),
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> TetMesh:
    """A box of cells, each split into the six tets around its diagonal (Kuhn, 1960)."""
    axes = [np.linspace(0.0, length, n + 1) for length, n in zip(size, cells, strict=True)]
    vertices = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return TetMesh(vertices + origin, _kuhn_tets(cells))


def irregular_block(cells: tuple[int, int, int] = (3, 3, 3), seed: int = 0) -> TetMesh:
    """A unit cube whose inner vertices are off the grid."""
    mesh = block(cells)
    vertices = mesh.vertices.copy()
    inside = np.setdiff1d(np.arange(len(vertices)), mesh.surface)
    random = np.random.default_rng(seed)
    vertices[inside] += random.uniform(-IRREGULARITY, IRREGULARITY, (len(inside), 3)) / cells
    return mesh.with_vertices(vertices)


def on_faces(mesh: TetMesh, axis: int) -> NDArray[np.int32]:
    """The vertices on the two faces of a box across an axis."""
    along = mesh.vertices[:, axis]
    return _where((along == along.min()) | (along == along.max()))


def at_start(mesh: TetMesh, axis: int) -> NDArray[np.int32]:
    """The vertices on the first face of a box across an axis."""
    along = mesh.vertices[:, axis]
    return _where(along == along.min())


def _where(chosen: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.flatnonzero(chosen).astype(np.int32)


def _kuhn_tets(cells: tuple[int, int, int]) -> NDArray[np.int64]:
    counts = np.array(cells) + 1
    index = np.arange(counts.prod()).reshape(counts)
    tets = []
    for order in itertools.permutations(range(3)):
        corner = np.zeros(3, dtype=int)
        path = [corner.copy()]
        for axis in order:
            corner[axis] += 1
            path.append(corner.copy())
        tets.append(np.stack([_shifted(index, c, cells) for c in path], axis=1))
    return np.concatenate(tets)


def _shifted(
    index: NDArray[np.int64], corner: NDArray[np.int64], cells: tuple[int, int, int]
) -> NDArray[np.int64]:
    where = tuple(slice(c, c + n) for c, n in zip(corner, cells, strict=True))
    return index[where].ravel()


def graded_ball(radius: float, shells: int, grading: float) -> TetMesh:
    """A ball about the origin, finest at its south pole.

    Eight Kuhn simplices make an octahedron, which is blown up to a ball; then a Möbius map of the
    ball to itself moves everything towards the south pole. It is conformal: tets keep their shapes.

    Args:
        radius: in metres.
        shells: of tets between centre and surface.
        grading: how many times smaller than before the tets at the south pole become.
    """
    points, tets = _octahedron(shells)
    length = np.linalg.norm(points, axis=1)
    points *= (np.abs(points).sum(axis=1) / np.where(length > 0.0, length, 1.0))[:, None]
    shift = (grading - 1.0) / (grading + 1.0)
    return TetMesh(radius * _moebius(points, np.array([0.0, 0.0, shift])), tets)


def _moebius(points: NDArray[np.float64], a: NDArray[np.float64]) -> NDArray[np.float64]:
    """((1 − |a|²)(x − a) − |x − a|² a) / (1 − 2 a·x + |a|²|x|²), of the unit ball.

    Source: Ahlfors, "Möbius Transformations in Several Dimensions", 1981.
    """
    apart = points - a
    along = (apart**2).sum(axis=1, keepdims=True)
    below = 1.0 - 2.0 * points @ a + (a @ a) * (points**2).sum(axis=1)
    moved: NDArray[np.float64] = ((1.0 - a @ a) * apart - along * a) / below[:, None]
    return moved


def _octahedron(shells: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """|x| + |y| + |z| ≤ 1, the same in every octant."""
    grid = np.stack(np.meshgrid(*[np.arange(shells + 1)] * 3, indexing="ij"), axis=-1).reshape(
        -1, 3
    )
    tets = _kuhn_tets((shells, shells, shells))
    p, q, r = grid.T
    # The simplex p ≥ q ≥ r of the grid of cells is an octant, without a cut through a tet.
    tets = tets[((p >= q) & (q >= r))[tets].all(axis=1)]
    octant = np.stack([p - q, q - r, r], axis=1)
    corners = np.concatenate(
        [(octant * signs)[tets] for signs in itertools.product((1, -1), repeat=3)]
    )
    points, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return points / shells, index.reshape(-1, 4)


def hollow_ball(inner: float, outer: float, divisions: int = 2, layers: int = 2) -> TetMesh:
    """A ball about the origin with a hollow: an icosahedron whose faces are split into four
    ``divisions`` times, in layers of prisms of three tets each."""
    directions, triangles = icosphere(divisions)
    count = len(directions)
    radii = np.linspace(inner, outer, layers + 1)
    vertices = (radii[:, None, None] * directions).reshape(-1, 3)
    # Diagonals start at the corner of the lower number, so that neighbours agree.
    a, b, c = np.sort(triangles, axis=1).T
    d, e, f = a + count, b + count, c + count
    prism = [(a, b, c, f), (a, b, e, f), (a, d, e, f)]
    one = np.concatenate([np.stack(tet, axis=1) for tet in prism])
    return TetMesh(vertices, np.concatenate([one + k * count for k in range(layers)]))


def icosphere(divisions: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The points of a sphere of radius 1 and its triangles, in any orientation."""
    ratio = (1.0 + 5.0**0.5) / 2.0
    corners = [(0.0, s, t * ratio) for s in (-1.0, 1.0) for t in (-1.0, 1.0)]
    points = np.array([np.roll(corner, k) for k in range(3) for corner in corners])
    triangles = ConvexHull(points).simplices.astype(np.int64)
    for _ in range(divisions):
        points, triangles = _split(points, triangles)
    return points / np.linalg.norm(points, axis=1, keepdims=True), triangles


def _split(
    points: NDArray[np.float64], triangles: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Each triangle as four, their new corners on the sphere."""
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    edges = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    unique, which = np.unique(edges, axis=0, return_inverse=True)
    a, b, c = triangles.T
    ab, bc, ca = which.reshape(-1, 3).T + len(points)
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    middles = points[unique].mean(axis=1)
    return np.concatenate([points, middles]), np.concatenate(
        [np.stack(part, axis=1) for part in parts]
    )
