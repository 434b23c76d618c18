# SPDX-License-Identifier: GPL-3.0-or-later
"""Tetrahedralizes any triangles: all cells of a lattice that hold something, drawn in close to the
surface, each with the fraction of it that is material."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.groups import distinct_pairs
from ..geometry.orientation import orient_consistently
from ..geometry.surface_tets import SurfaceTets
from ..geometry.tet_mesh import TetMesh
from ..geometry.tets_around import barycentric_coordinates, barycentric_maps
from .bcc_lattice import BccLattice
from .cell_fill import fill_fractions
from .cells import Cells, find_cells
from .gas_fill import with_gas
from .joined_copies import join_copies
from .shrink_wrap import shrink_wrap
from .subdivision import split_long_triangles
from .tet_budget import check_budget
from .virtual_nodes import VirtualMesh, copy_cells

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# The cubic edge of a cell whose six edges, two of length 1 and four of sqrt(3)/2, have the mean 1.
_CUBIC_EDGE = 6.0 / (2.0 + 4.0 * 0.75**0.5)
_TETS_PER_CUBE = 12.0 / _CUBIC_EDGE**3
_MAX_TETS = 3_000_000
_MAX_EDGE_RATIO = 0.75  # of a cell
_FACE_TOLERANCE = -1e-9


def mesh_lattice(vertices: FloatArray, triangles: IndexArray, edge_length: float) -> TetMesh:
    """Tets of about `edge_length` (m) around triangles (T, 3) over vertices (V, 3) (m).

    Parts that are near but not joined get tets of their own, thin ones tets that are partly filled.
    A surface without an inside becomes a sheet about one edge length thick.

    Raises:
        SceneError: `edge_length` is longer than the mesh, or so short that millions of tets fit.
    """
    check_budget(vertices, edge_length, _TETS_PER_CUBE, _MAX_TETS)
    _check_not_coarse(vertices, edge_length)
    scale = _CUBIC_EDGE * edge_length
    centre = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    points = (vertices - centre) / scale
    pieces = split_long_triangles(points[orient_consistently(triangles)], _MAX_EDGE_RATIO)
    pieces = pieces[_have_area(pieces)]
    if len(pieces) == 0:
        raise SceneError("No face of the mesh has an area, so there is nothing to fill.")
    number, corners = _number_corners(points, pieces)
    lattice = BccLattice.around(points.min(axis=0), points.max(axis=0))
    cells, mesh = copy_cells(find_cells(lattice, pieces, corners), corners)
    mesh, positions = _drawn_in(cells, mesh, points, number, corners)
    fill = fill_fractions(cells, mesh, positions)
    solid = TetMesh(positions * scale + centre, mesh.tets, fill)
    solid.surface_tets = SurfaceTets(
        cells.centres * scale + centre,
        cells.triangles * scale + centre,
        _row_tets(cells, mesh),
    )
    return with_gas(solid, vertices, triangles)


def _check_not_coarse(vertices: FloatArray, edge_length: float) -> None:
    longest = float(np.ptp(vertices, axis=0).max())
    if edge_length > longest:
        raise SceneError(
            f"An edge length of {edge_length:.3g} m is longer than the mesh itself "
            f"({longest:.3g} m); use {0.25 * longest:.2g} m or less."
        )


def _have_area(triangles: FloatArray) -> NDArray[np.bool_]:
    edges = triangles[:, 1:] - triangles[:, :1]
    normals = np.cross(edges[:, 0], edges[:, 1])
    solid: NDArray[np.bool_] = (normals**2).sum(axis=1) > 1e-24
    return solid


def _number_corners(points: FloatArray, triangles: FloatArray) -> tuple[IndexArray, IndexArray]:
    """(P,) number of the place of each point and (T, 3) of each corner: one a place."""
    places = np.concatenate([points, triangles.reshape(-1, 3)])
    _, number = np.unique(places, axis=0, return_inverse=True)
    number = number.ravel()
    return number[: len(points)], number[len(points) :].reshape(-1, 3)


def _drawn_in(
    cells: Cells, mesh: VirtualMesh, points: FloatArray, number: IndexArray, corners: IndexArray
) -> tuple[VirtualMesh, FloatArray]:
    """The mesh, with copies joined that the surface joins, and positions (N, 3) of its vertices.

    Args:
        points: (V, 3) of the surface.
        number, corners: of the places of these and of the corners of triangles.
    """
    row = _own_rows(cells, corners, number)
    owned = np.flatnonzero(row >= 0)
    points, row = points[owned], row[owned]

    def drawn_in(mesh: VirtualMesh) -> FloatArray:
        row_tet = _row_tets(cells, mesh)
        near = row_tet[row]
        return shrink_wrap(mesh, row_tet, cells.triangles, cells.is_sheet, points, near)

    positions = drawn_in(mesh)
    if len(np.unique(mesh.cell)) == len(mesh.cell):
        return mesh, positions
    ways = SurfaceTets(cells.centres, cells.triangles, _row_tets(cells, mesh))
    owner, _ = ways.followed(points, positions, mesh.tets)
    joined = join_copies(mesh, positions, points, owner, _edges(corners, number[owned]))
    # Once: what the next copies along a gap hold are its sides, not its end.
    return (mesh, positions) if joined is mesh else (joined, drawn_in(joined))


def _row_tets(cells: Cells, mesh: VirtualMesh) -> IndexArray:
    """(K,) the tet that each triangle runs through in its cell."""
    return mesh.tet_of[cells.row_cell, cells.labels]


def _own_rows(cells: Cells, corners: IndexArray, number: IndexArray) -> IndexArray:
    """(P,) the row, a triangle in a cell, that each point lies in; -1 for those of no triangle."""
    maps = barycentric_maps(cells.nodes, cells.tets[: cells.cut])[cells.row_cell]
    row = np.full(max(int(corners.max()), int(number.max())) + 1, -1)
    for corner in (2, 1, 0):
        place = cells.triangles[:, corner]
        coordinates = barycentric_coordinates(maps, place)
        inside = np.flatnonzero(coordinates.min(axis=1) >= _FACE_TOLERANCE)
        row[corners[cells.triangle[inside], corner]] = inside
    return row[number]


def _edges(corners: IndexArray, number: IndexArray) -> IndexArray:
    """(E, 2) points at the ends of edges of triangles, of those at places with numbers (P,)."""
    point = np.full(int(corners.max()) + 1, -1)
    point[number] = np.arange(len(number))
    ends = point[np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2)]
    return distinct_pairs(np.sort(ends[(ends >= 0).all(axis=1)], axis=1))
