# SPDX-License-Identifier: GPL-3.0-or-later
"""The lattice of cells, and the cells that a surface fills.

Two interleaved cubic grids of the same shape: corners at (i, j, k) and centres half a cell
further along each axis. Node numbers run over the corners first, then over the centres.

Inside is where the generalized winding number exceeds one half, so the surface may be open,
intersect itself, consist of several shells or be inside out.

A cell that holds several fragments of material has a copy for each. Copies share a node where their
material is connected through a common face, so that parts which are near each other but not joined
stay apart. Molino, Bao and Fedkiw, "A virtual node algorithm for changing mesh topology during
simulation", 2004; Sifakis, Der and Fedkiw, "Arbitrary cutting of deformable tetrahedralized
objects", 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..geometry.groups import components, first_of_each, numbered_pairs
from ..geometry.surface_tets import barycentric_maps
from ..geometry.triangle_loops import clip_all, measure_windings
from ..geometry.triangles import compact_indices
from ..geometry.winding_number import PointGrid, winding_number
from .lattice_loops import INSIDE_WINDING_NUMBER, label_cells

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# The offset that keeps faces of cells out of those of a body.
_OFF_CENTRE = np.array([1.3e-3, 0.7e-3, 1.1e-3])
# A cell face normal to axis 0, 1, 2: its corners in cyclic order.
_FACE_CORNERS = [
    [(1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)],
    [(0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)],
    [(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
]


@dataclass(frozen=True)
class BccLattice:
    """`shape` corner nodes along each axis, the first at `origin` (3,)."""

    origin: NDArray[np.float64]
    shape: tuple[int, int, int]

    @classmethod
    def around(cls, low: NDArray[np.float64], high: NDArray[np.float64]) -> BccLattice:
        """Return the lattice that covers a box (3,), (3,) with a cell to spare, nearly centred on
        it."""
        half = np.ceil(0.5 * (high - low)).astype(int) + 1
        shape = (int(2 * half[0] + 1), int(2 * half[1] + 1), int(2 * half[2] + 1))
        return cls(0.5 * (low + high) - half + _OFF_CENTRE, shape)

    def nodes(self) -> NDArray[np.float64]:
        """(N, 3) node positions, N twice the product of `shape`."""
        corners = np.indices(self.shape).reshape(3, -1).T + self.origin
        return np.concatenate([corners, corners + 0.5])

    def tets(self, is_chosen: NDArray[np.bool_]) -> IndexArray:
        """(M, 4) tets with a chosen (N,) node: two centres, then an edge of the face between."""
        tets = []
        for axis in range(3):
            step = tuple(np.eye(3, dtype=int)[axis])
            span = tuple(np.maximum(step, 1))
            reach = (span[0] + step[0], span[1] + step[1], span[2] + step[2])
            ring = _FACE_CORNERS[axis]
            for first, second in zip(ring, ring[1:] + ring[:1], strict=True):
                corners = [(1, (0, 0, 0)), (1, step), (0, first), (0, second)]
                use = np.zeros(1, dtype=bool)
                for grid, offset in corners:
                    use = use | self._window(is_chosen, grid, offset, reach)
                cell = np.flatnonzero(np.broadcast_to(use, self._extent(reach)))
                base = self._number(cell, reach)
                tets.append(np.stack([base + self._shift(*corner) for corner in corners], axis=1))
        return np.concatenate(tets)

    def _extent(self, reach: tuple[int, int, int]) -> tuple[int, ...]:
        return tuple(size - extra for size, extra in zip(self.shape, reach, strict=True))

    def _window(
        self,
        values: NDArray[np.bool_],
        grid: int,
        offset: tuple[int, int, int],
        reach: tuple[int, int, int],
    ) -> NDArray[np.bool_]:
        """Values of one grid, shifted by `offset`, over the cells whose stencil stays inside."""
        block = values.reshape(2, *self.shape)[grid]
        extent = self._extent(reach)
        i, j, k = (slice(o, o + e) for o, e in zip(offset, extent, strict=True))
        return block[i, j, k]

    def _number(self, cell: IndexArray, reach: tuple[int, int, int]) -> IndexArray:
        """Node numbers of the corners of cells counted within a window."""
        return np.ravel_multi_index(np.unravel_index(cell, self._extent(reach)), self.shape)

    def _shift(self, grid: int, offset: tuple[int, ...]) -> int:
        _, rows, columns = self.shape
        within = (offset[0] * rows + offset[1]) * columns + offset[2]
        return int(within + grid * np.prod(self.shape))


# The half width of a cell's bounding box.
_HALF_WIDTH = 0.5
# The largest distance of a closed surface's winding number from a whole number. That of an open
# surface also changes between triangles, and is computed at every point.
_WHOLE_TOLERANCE = 0.3
# Beside a sheet, that near to one half on both sides.
_SHEET_TOLERANCE = 0.08
_SIDE_OFFSET = 1e-3
_ON_FACE = (0.62, 0.27, 0.11)
SAMPLES_PER_FACE = 6
SAMPLES_INSIDE = 24
CELL_VOLUME = 1.0 / 12.0
#: Corners of the face across from each corner.
FACE_CORNERS = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a lattice: first the cut ones, then the full ones.

    Attributes:
        nodes: (N, 3) of the lattice.
        tets: (C, 4) nodes of each cell.
        cut: the number of cut cells.
        first: (cut + 1,) where the triangles of each begin among the rows.
        triangle: (K,) of each row, among all.
        triangles: (K, 3, 3).
        centres: (K, 3) a point of each in its cell.
        samples: (cut, S, 3) on the faces and inside.
        labels: (K,) fragment of its cell that each triangle belongs to.
        is_sheet: (K,) whether a triangle is inside on neither side.
        sample_labels: (cut, S), -1 outside.
        counts: (C,) fragments of each cell.
    """

    nodes: FloatArray
    tets: IndexArray
    cut: int
    first: IndexArray
    triangle: IndexArray
    triangles: FloatArray
    centres: FloatArray
    samples: FloatArray
    is_sheet: NDArray[np.bool_]
    labels: IndexArray
    sample_labels: IndexArray
    counts: IndexArray

    @property
    def row_cell(self) -> IndexArray:
        """(K,)."""
        return np.repeat(np.arange(self.cut), np.diff(self.first))


def find_cells(lattice: BccLattice, triangles: FloatArray, corners: IndexArray) -> Cells:
    """Cells with something in them, and the fragments of material in each.

    Args:
        lattice: the lattice, which gives the unit of lengths.
        triangles: (T, 3, 3), none much longer than a cell.
        corners: (T, 3) numbers of their corners, equal where they share one.
    """
    nodes = lattice.nodes()
    at_nodes = _winding(nodes, triangles)
    inside = np.abs(at_nodes) > INSIDE_WINDING_NUMBER
    near = _near(nodes, triangles)
    tets = lattice.tets(inside | near)
    cells = np.flatnonzero(near[tets].all(axis=1))
    cell, triangle, centres = _pairs(nodes, tets[cells], triangles)
    cell = cells[cell]
    solid = inside[tets].sum(axis=1)
    is_cut = (solid > 0) & (solid < 4)
    is_cut[cell] = True
    number = np.cumsum(is_cut) - 1
    cut, full = tets[is_cut], tets[~is_cut & (solid == 4)]
    first = np.searchsorted(number[cell], np.arange(len(cut) + 1))
    samples = _samples(nodes, cut)
    windings, in_front = _windings(
        nodes[cut[:, 0]], at_nodes[cut[:, 0]], first, triangles, triangle, centres, samples
    )
    labels, sample_labels = np.empty(len(triangle), np.intp), np.empty(samples.shape[:2], np.intp)
    counts = np.ones(len(cut) + len(full), dtype=np.intp)
    label_cells(
        *(first, triangles[triangle], corners[triangle], centres, in_front),
        *(barycentric_maps(nodes, cut), samples, windings, labels, sample_labels, counts),
    )
    both = np.concatenate([cut, full])
    is_sheet = np.maximum(np.abs(in_front), np.abs(in_front + 1.0)) <= INSIDE_WINDING_NUMBER
    return Cells(
        nodes,
        both,
        len(cut),
        first,
        triangle,
        triangles[triangle],
        centres,
        samples,
        is_sheet,
        labels,
        sample_labels,
        counts,
    )


def points_in_tets(first: int, count: int, each: int) -> FloatArray:
    """(count, each, 4) barycentric coordinates that fill tets evenly, others in each tet.

    A low-discrepancy sequence (Roberts, "The unreasonable effectiveness of quasirandom sequences",
    2018), folded from the cube into the tet (Rocchini and Cignoni, "Generating random points in a
    tetrahedron", 2000).
    """
    steps = 1.2207440846057596 ** -np.arange(1.0, 4.0)
    index = np.arange(first * each, (first + count) * each)[:, None]
    s, t, u = ((0.5 + index * steps) % 1.0).T
    fold = s + t > 1.0
    s, t = np.where(fold, 1.0 - s, s), np.where(fold, 1.0 - t, t)
    high, over = t + u > 1.0, s + t + u > 1.0
    s, t, u = (
        np.where(~high & over, 1.0 - t - u, s),
        np.where(high, 1.0 - u, t),
        np.where(high, 1.0 - s - t, np.where(over, s + t + u - 1.0, u)),
    )
    return np.stack([1.0 - s - t - u, s, t, u], axis=1).reshape(count, each, 4)


def _winding(points: FloatArray, triangles: FloatArray) -> FloatArray:
    corners = triangles.reshape(-1, 3)
    return winding_number(points, corners, np.arange(len(corners)).reshape(-1, 3))


def _near(nodes: FloatArray, triangles: FloatArray) -> NDArray[np.bool_]:
    """Whether a node may belong to a cell that a triangle runs through."""
    near = np.zeros(len(nodes), dtype=bool)
    low, high = triangles.min(axis=1) - 1.0, triangles.max(axis=1) + 1.0
    for _, node in PointGrid(nodes, 1.0).pairs(low, high):
        near[node] = True
    return near


def _pairs(
    nodes: FloatArray, tets: IndexArray, triangles: FloatArray
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """(K,) cells and (K,) triangles that run through them, by cell, and (K, 3) where."""
    middle, maps = nodes[tets].mean(axis=1), barycentric_maps(nodes, tets)
    low, high = triangles.min(axis=1) - _HALF_WIDTH, triangles.max(axis=1) + _HALF_WIDTH
    hits = []
    for triangle, cell in PointGrid(middle, 1.0).pairs(low, high):
        areas, centres = np.zeros(len(cell)), np.zeros((len(cell), 3))
        clip_all(triangles[triangle], maps[cell], areas, centres)
        mask = areas > 0.0
        hits.append((cell[mask], triangle[mask], centres[mask]))
    cell, triangle, centres = (np.concatenate(part) for part in zip(*hits, strict=True))
    order = np.lexsort((triangle, cell))
    return cell[order], triangle[order], centres[order]


def _samples(nodes: FloatArray, tets: IndexArray) -> FloatArray:
    """(C, S, 3) points on the faces, the same in both cells of a face, then inside."""
    orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]]
    weights = np.array(_ON_FACE)[orders]
    faces = np.sort(tets[:, FACE_CORNERS], axis=2)
    on_faces = np.einsum("sk,cfki->cfsi", weights, nodes[faces]).reshape(len(tets), -1, 3)
    inside = points_in_tets(0, len(tets), SAMPLES_INSIDE) @ nodes[tets]
    return np.concatenate([on_faces, inside], axis=1)


def _windings(
    bases: FloatArray,
    at_bases: FloatArray,
    first: IndexArray,
    triangles: FloatArray,
    triangle: IndexArray,
    centres: FloatArray,
    samples: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """(C, S) winding numbers of the samples and (K,) just in front of each triangle, from those at
    one point (C, 3) of each cell."""
    corners = triangles[triangle]
    windings, in_front = np.empty(samples.shape[:2]), np.empty(len(triangle))
    whole = np.round(at_bases)
    measure_windings(first, corners, centres, bases, whole, samples, windings, in_front)
    is_open = np.abs(at_bases - whole) > _WHOLE_TOLERANCE
    if is_open.any():
        rows = np.repeat(is_open, np.diff(first))
        normals = np.cross(corners[rows, 1] - corners[rows, 0], corners[rows, 2] - corners[rows, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        asked = samples[is_open].reshape(-1, 3)
        numbers = _winding(
            np.concatenate([asked, centres[rows] + _SIDE_OFFSET * normals]), triangles
        )
        windings[is_open] = numbers[: len(asked)].reshape(-1, samples.shape[1])
        beside = numbers[len(asked) :]
        in_front[rows] = np.where(np.abs(beside + 0.5) < _SHEET_TOLERANCE, -0.5, beside)
    return windings, in_front


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
    face."""
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
