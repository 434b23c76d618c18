# SPDX-License-Identifier: GPL-3.0-or-later
"""Tets from cells that hold several fragments of material each: one copy of a cell a fragment.

Copies share a node where their material is connected through a common face, so that parts which
are near each other but not joined stay apart. Molino, Bao and Fedkiw, "A virtual node algorithm for
changing mesh topology during simulation", 2004; Sifakis, Der and Fedkiw, "Arbitrary cutting of
deformable tetrahedralized objects", 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..geometry.groups import components, first_of_each, numbered_pairs
from ..geometry.triangles import compact_indices
from .cells import FACE_CORNERS, SAMPLES_PER_FACE, Cells

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

_FACE_SAMPLES = 4 * SAMPLES_PER_FACE


@dataclass(frozen=True, eq=False)
class VirtualMesh:
    """Copies of cells.

    Attributes:
        vertices: (N, 3).
        tets: (M, 4).
        cell: (M,) that each is a copy of.
        tet_of: (C, most fragments) the tet of each fragment of each cell.
    """

    vertices: FloatArray
    tets: IndexArray
    cell: IndexArray
    tet_of: IndexArray


def copy_cells(cells: Cells, corners: IndexArray) -> tuple[Cells, VirtualMesh]:
    """The tets of all fragments; separated fragments of one shell are joined where they touch.

    Args:
        cells: of a lattice.
        corners: (T, 3) numbers of the corners of all triangles.
    """
    neighbours = _Neighbours(cells)
    mesh = _copies(cells, neighbours)
    joined = _rejoin(cells, mesh, corners)
    if joined is not cells:
        mesh = _copies(joined, neighbours)
    return joined, _with_surface(joined, mesh)


def _with_surface(cells: Cells, mesh: VirtualMesh) -> VirtualMesh:
    """Return the mesh without pieces that no triangle intersects: points beside an open surface
    with an unclear inside."""
    piece = _pieces(mesh)
    known = np.zeros(int(piece.max()) + 1, dtype=bool)
    known[piece[mesh.tet_of[cells.row_cell, cells.labels]]] = True
    mask = known[piece]
    number = np.where(mask, np.cumsum(mask) - 1, -1)
    used, tets = compact_indices(mesh.tets[mask])
    tet_of = np.where(mesh.tet_of >= 0, number[mesh.tet_of], -1)
    return VirtualMesh(mesh.vertices[used], tets, mesh.cell[mask], tet_of)


class _Neighbours:
    """Pairs of cells with a face in common."""

    def __init__(self, cells: Cells) -> None:
        faces = np.sort(cells.tets[:, FACE_CORNERS].reshape(-1, 3), axis=1)
        order = np.lexsort(faces.T)
        same = (np.diff(faces[order], axis=0) == 0).all(axis=1)
        #: (F, 2) faces, four a cell.
        self.pairs = np.stack([order[:-1][same], order[1:][same]], axis=1)
        #: (4 C,) the face on the other side, -1 where there is none.
        self.opposite = np.full(len(faces), -1)
        self.opposite[self.pairs[:, 0]] = self.pairs[:, 1]
        self.opposite[self.pairs[:, 1]] = self.pairs[:, 0]
        #: (4 C, 3) corners of each face in its cell, by number of the node.
        nodes = cells.tets[:, FACE_CORNERS]
        corner_order = np.argsort(nodes, axis=2)
        self.corners = np.take_along_axis(
            np.broadcast_to(FACE_CORNERS, nodes.shape), corner_order, axis=2
        ).reshape(-1, 3)


def _copies(cells: Cells, neighbours: _Neighbours) -> VirtualMesh:
    offset = np.concatenate([[0], np.cumsum(cells.counts)])
    faces, others, first, second = _links(cells, neighbours)
    one = 4 * (offset[faces // 4] + first)[:, None] + neighbours.corners[faces]
    two = 4 * (offset[others // 4] + second)[:, None] + neighbours.corners[others]
    count = 4 * int(offset[-1])
    vertex = components(count, np.stack([one.ravel(), two.ravel()], axis=1))
    cell = np.repeat(np.arange(len(cells.tets)), cells.counts)
    node = cells.tets[cell].ravel()
    vertices = np.empty((int(vertex.max()) + 1, 3))
    vertices[vertex] = cells.nodes[node]
    tets = vertex.reshape(-1, 4).astype(np.intp)
    tet_of = np.full((len(cells.tets), int(cells.counts.max())), -1)
    tet_of[cell, np.arange(len(cell)) - offset[cell]] = np.arange(len(cell))
    return _without_twins(VirtualMesh(vertices, tets, cell, tet_of))


def joined(mesh: VirtualMesh, ends: IndexArray) -> VirtualMesh:
    """The mesh with vertices (2, L) made one, which are the same node of the lattice."""
    vertex = components(len(mesh.vertices), ends.T)
    vertices = np.empty((int(vertex.max()) + 1, 3))
    vertices[vertex] = mesh.vertices
    return _without_twins(replace(mesh, vertices=vertices, tets=vertex[mesh.tets]))


def _without_twins(mesh: VirtualMesh) -> VirtualMesh:
    """Fragments that hang together at all corners are one."""
    _, first_tets, number = np.unique(
        np.sort(mesh.tets, axis=1), axis=0, return_index=True, return_inverse=True
    )
    tet_of = np.where(mesh.tet_of >= 0, number.ravel()[mesh.tet_of], -1)
    return VirtualMesh(mesh.vertices, mesh.tets[first_tets], mesh.cell[first_tets], tet_of)


def _links(
    cells: Cells, neighbours: _Neighbours
) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray]:
    """Faces (L,), those on their other side, and the fragments that touch through them."""
    on_faces = np.zeros((4 * len(cells.tets), SAMPLES_PER_FACE), dtype=np.intp)
    on_faces[: 4 * cells.cut] = cells.sample_labels[:, :_FACE_SAMPLES].reshape(-1, SAMPLES_PER_FACE)
    is_full = (neighbours.pairs >= 4 * cells.cut).all(axis=1)
    pairs = neighbours.pairs[~is_full]
    face, other = np.repeat(pairs, SAMPLES_PER_FACE, axis=0).T
    first, second = (on_faces[side].ravel() for side in pairs.T)
    solid = (first >= 0) & (second >= 0)
    sample_links = np.stack([face, other, first, second])[:, solid]
    cut = np.concatenate([sample_links, _links_by_triangle(cells, neighbours)], axis=1)
    full = np.concatenate([neighbours.pairs[is_full].T, np.zeros((2, int(is_full.sum())), int)])
    face, other, first, second = np.concatenate([np.unique(cut, axis=1), full], axis=1)
    return face, other, first, second


def _links_by_triangle(cells: Cells, neighbours: _Neighbours) -> IndexArray:
    """Return the (4, L) links, as ``_links`` does, by triangles that run through both cells of a
    face.
    """
    count = int(cells.triangle.max(initial=0)) + 1
    keys = cells.row_cell * count + cells.triangle  # sorted
    face = (4 * cells.row_cell[:, None] + np.arange(4)).ravel()
    row = np.repeat(np.arange(len(keys)), 4)
    other = neighbours.opposite[face]
    is_inner = (other > face) & (other < 4 * cells.cut)
    face, other, row = face[is_inner], other[is_inner], row[is_inner]
    sought = (other // 4) * count + cells.triangle[row]
    place = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    is_key = keys[place] == sought
    return np.stack([face, other, cells.labels[row], cells.labels[place]])[:, is_key]


def _rejoin(cells: Cells, mesh: VirtualMesh, corners: IndexArray) -> Cells:
    """Fragments of a shell that are no part of its largest piece of tets, joined to those in their
    cells that are: between the samples, a connection of the two can be missed."""
    piece = _pieces(mesh)
    row_piece = piece[mesh.tet_of[cells.row_cell, cells.labels]]
    shell = _shells(corners)[cells.triangle]
    main = _most_frequent(shell, row_piece)
    astray = row_piece != main[shell]
    if not astray.any():
        return cells
    labels, sample_labels = cells.labels.copy(), cells.sample_labels.copy()
    for row in np.flatnonzero(astray):
        cell, separate = cells.row_cell[row], labels[row]
        members = slice(cells.first[cell], cells.first[cell + 1])
        there = np.flatnonzero(
            (row_piece[members] == main[shell[row]]) & (labels[members] != separate)
        )
        if len(there):
            joined = labels[members][there[0]]
            labels[members] = np.where(labels[members] == separate, joined, labels[members])
            cell_labels = sample_labels[cell]
            cell_labels[cell_labels == separate] = joined
    return _renumbered(replace(cells, labels=labels, sample_labels=sample_labels))


def _renumbered(cells: Cells) -> Cells:
    """Without fragments that nothing belongs to any more."""
    used = np.zeros((cells.cut, int(cells.counts.max())), dtype=bool)
    used[cells.row_cell, cells.labels] = True
    cell, sample = np.nonzero(cells.sample_labels >= 0)
    used[cell, cells.sample_labels[cell, sample]] = True
    number = np.where(used, np.cumsum(used, axis=1) - 1, -1)
    sample_labels = cells.sample_labels.copy()
    sample_labels[cell, sample] = number[cell, cells.sample_labels[cell, sample]]
    counts = cells.counts.copy()
    counts[: cells.cut] = used.sum(axis=1)
    labels = number[cells.row_cell, cells.labels]
    return replace(cells, labels=labels, sample_labels=sample_labels, counts=counts)


def _pieces(mesh: VirtualMesh) -> IndexArray:
    """(M,) number of the piece that each tet belongs to: pieces share no vertex."""
    links = np.stack([np.repeat(mesh.tets[:, 0], 3), mesh.tets[:, 1:].ravel()], axis=1)
    return components(len(mesh.vertices), links)[mesh.tets[:, 0]]


def _shells(corners: IndexArray) -> IndexArray:
    """(T,) number of the shell of each triangle: shells share no corner."""
    links = np.stack([np.repeat(corners[:, 0], 2), corners[:, 1:].ravel()], axis=1)
    return components(int(corners.max()) + 1, links)[corners[:, 0]]


def _most_frequent(owner: IndexArray, value: IndexArray) -> IndexArray:
    """For each owner the value it has most often, the least of those."""
    pairs, number = numbered_pairs(np.stack([owner, value], axis=1))
    owners, values = pairs.T
    most = np.full(int(owner.max(initial=0)) + 1, -1)
    first = first_of_each(owners, -np.bincount(number), values)
    most[owners[first]] = values[first]
    return most
