# SPDX-License-Identifier: GPL-3.0-or-later
"""The lattice of cells, and the cells that a surface fills.

Two interleaved cubic grids of the same shape: corners at (i, j, k) and centres half a cell
further along each axis. Node numbers run over the corners first, then over the centres.

Inside is where the generalized winding number exceeds one half, so the surface may be open,
intersect itself, consist of several shells or be inside out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..geometry.surface_tets import barycentric_maps
from ..geometry.triangle_loops import clip_all, measure_windings
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
