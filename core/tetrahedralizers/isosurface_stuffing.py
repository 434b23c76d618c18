# SPDX-License-Identifier: GPL-3.0-or-later
"""Tetrahedra inside an isosurface, by clipping a body-centred-cubic lattice to it.

Labelle and Shewchuk, "Isosurface stuffing: fast tetrahedral meshes with good dihedral angles",
ACM Transactions on Graphics 26(3), 2007, with a lattice of uniform size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..strays import without_strays
from ..tet_mesh import signed_volumes
from .bcc_lattice import BccLattice

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# A node closer than these fractions of a short and a long edge to a cut point is moved onto it.
# The first pair gives the longest altitudes once smoothed but can invert tets; the last one
# cannot (Labelle and Shewchuk 2007, table 2).
SNAP_FRACTIONS = ((0.49, 0.45), (0.45, 0.35), (0.41, 0.2499))
_SMALLEST_VOLUME = 1e-4
_DIGITS = 6  # so that rounding does not decide between equals


def stuff(lattice: BccLattice, depth: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Tets (M, 4) and their vertices (N, 3) that fill where `depth`, given at the nodes, is > 0.

    `depth` (lattice nodes,) is the distance to the surface, positive inside, and all lengths are
    in units of the lattice's cubic edge. All tets have positive volume.
    """
    for fractions in SNAP_FRACTIONS:
        vertices, tets = _stuff(lattice, depth, *fractions)
        volumes = signed_volumes(vertices, tets)
        if (volumes > _SMALLEST_VOLUME).all():
            return vertices, tets
    return without_strays(vertices, tets[volumes > _SMALLEST_VOLUME])


def _stuff(
    lattice: BccLattice, depth: FloatArray, snap_short: float, snap_long: float
) -> tuple[FloatArray, IndexArray]:
    depth = np.round(depth, _DIGITS)
    nodes = lattice.nodes()
    cuts = _cut(lattice, nodes, depth, snap_short, snap_long)
    nodes[cuts.node] = cuts.snap_to
    sign = np.sign(depth).astype(int)
    sign[cuts.node] = 0
    keep = (sign[cuts.edges] != 0).all(axis=1)
    points = np.concatenate([nodes, cuts.points[keep]])
    numbers = _EdgeNumbers(cuts.edges[keep], len(nodes))
    tets = _clip(lattice.tets(sign > 0), sign, depth, numbers, points)
    return without_strays(points, tets)


@dataclass(frozen=True)
class _Cuts:
    """Where the surface cuts the lattice's edges, and the nodes to move onto it."""

    edges: IndexArray  # (E, 2) solid end first
    points: FloatArray  # (E, 3)
    node: IndexArray  # (S,)
    snap_to: FloatArray  # (S, 3)


def _cut(
    lattice: BccLattice, nodes: FloatArray, depth: FloatArray, snap_short: float, snap_long: float
) -> _Cuts:
    solid = depth > 0.0
    short, long = lattice.short_edges(solid), lattice.long_edges(solid)
    edges = np.concatenate([short, long])
    snap_within = np.repeat([snap_short, snap_long], [len(short), len(long)])
    flip = ~solid[edges[:, 0]]
    edges[flip] = edges[flip, ::-1]
    inner, outer = edges.T
    fraction = depth[inner] / (depth[inner] - depth[outer])
    points = nodes[inner] + fraction[:, None] * (nodes[outer] - nodes[inner])
    # Of the cut points too close to a node, the closest one is where the node goes.
    node = np.concatenate([inner, outer])
    close = np.concatenate([fraction, 1.0 - fraction]) < np.tile(snap_within, 2)
    node, target = node[close], np.concatenate([points, points])[close]
    distance = np.round(((target - nodes[node]) ** 2).sum(axis=1), _DIGITS)
    order = np.lexsort((distance, node))
    snapped, first = np.unique(node[order], return_index=True)
    return _Cuts(edges, points, snapped, target[order[first]])


class _EdgeNumbers:
    """Vertex number of the cut point on a lattice edge, given its two ends in any order."""

    def __init__(self, edges: IndexArray, first: int) -> None:
        self._base = first
        keys = self._key(edges[:, 0], edges[:, 1])
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def _key(self, a: IndexArray, b: IndexArray) -> IndexArray:
        return np.minimum(a, b) * self._base + np.maximum(a, b)

    def __call__(self, a: IndexArray, b: IndexArray) -> IndexArray:
        return self._base + self._order[np.searchsorted(self._keys, self._key(a, b))]


def _clip(
    tets: IndexArray,
    sign: NDArray[np.int_],
    depth: FloatArray,
    cut: _EdgeNumbers,
    points: FloatArray,
) -> IndexArray:
    """The solid part of each lattice tet, as tets of the same orientation.

    Corners are sorted solid first, deepest first among them. A quadrilateral face is split from
    its first corner in that order, so two tets that share it agree and a prism can always be
    split in three (Dompierre et al., "How to subdivide pyramids, prisms and hexahedra into
    tetrahedra", 1999, who sort by vertex number).
    """
    order = np.lexsort((tets, -depth[tets], -sign[tets]), axis=1)
    tets = np.take_along_axis(tets, order, axis=1)
    odd = _is_odd(order)
    inside = (sign[tets] > 0).sum(axis=1)
    outside = (sign[tets] < 0).sum(axis=1)
    pieces: list[IndexArray] = []

    def add(mirrored: NDArray[np.bool_], *corners: IndexArray) -> None:
        a, b, c, d = corners
        c, d = np.where(mirrored, d, c), np.where(mirrored, c, d)
        pieces.append(np.stack([a, b, c, d], axis=1))

    def case(solid: int | None, void: int) -> tuple[NDArray[np.bool_], IndexArray]:
        which = (outside == void) & ((inside == solid) | (solid is None))
        return odd[which], tets[which].T

    flip, (a, b, c, d) = case(None, 0)
    add(flip, a, b, c, d)
    flip, (a, b, c, d) = case(1, 1)
    add(flip, a, b, c, cut(a, d))
    flip, (a, b, c, d) = case(1, 2)
    add(flip, a, b, cut(a, c), cut(a, d))
    flip, (a, b, c, d) = case(1, 3)
    add(flip, a, cut(a, b), cut(a, c), cut(a, d))
    flip, (a, b, c, d) = case(2, 1)  # a pyramid
    add(flip, a, b, c, cut(b, d))
    add(flip, a, c, cut(a, d), cut(b, d))
    flip, (a, b, c, d) = case(3, 1)  # a prism
    add(flip, a, b, c, cut(c, d))
    add(flip, a, b, cut(c, d), cut(b, d))
    add(flip, a, cut(a, d), cut(b, d), cut(c, d))
    flip, (a, b, c, d) = case(2, 2)  # a prism
    ac, ad, bc, bd = cut(a, c), cut(a, d), cut(b, c), cut(b, d)
    add(flip, a, b, bc, bd)
    # Its third quadrilateral lies on the surface: free to take its shorter diagonal.
    gain = ((points[ad] - points[bc]) ** 2).sum(axis=1) - ((points[ac] - points[bd]) ** 2).sum(
        axis=1
    )
    shorter = np.round(gain, _DIGITS) > 0.0
    add(flip, a, ac, ad, np.where(shorter, bd, bc))
    add(flip, a, np.where(shorter, ac, ad), bd, bc)
    return np.concatenate(pieces)


def _is_odd(permutations: IndexArray) -> NDArray[np.bool_]:
    """Whether each row of (M, 4) permutations is odd: mirrors a tet."""
    inversions = np.zeros(len(permutations), dtype=int)
    for first in range(4):
        for second in range(first + 1, 4):
            inversions += permutations[:, first] > permutations[:, second]
    odd: NDArray[np.bool_] = inversions % 2 == 1
    return odd
