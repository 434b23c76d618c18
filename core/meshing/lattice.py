# SPDX-License-Identifier: GPL-3.0-or-later
"""Fills any surface with a lattice of tetrahedra."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.gas_boundary import MIN_HOLLOW_VOLUME_RATIO, gas_volume
from ..geometry.groups import components, distinct_pairs
from ..geometry.surface_tets import (
    SurfaceTets,
    TetsAround,
    barycentric_coordinates,
    barycentric_maps,
)
from ..geometry.tet_mesh import TetMesh, signed_volumes
from ..geometry.triangles import orient_consistently
from ..geometry.winding_number import winding_number
from .cells import (
    CELL_VOLUME,
    SAMPLES_INSIDE,
    BccLattice,
    Cells,
    VirtualMesh,
    copy_cells,
    find_cells,
    joined,
    points_in_tets,
)
from .shrink_wrap import boundary, shrink_wrap
from .surface import check_budget, is_closed, signed_volume, split_long_triangles

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

_INSIDE, _SAMPLES = 0.5, 8
# Each time some tets are full, and none is afterwards, as a rule, after a few.
_MAX_SCALINGS = 30


def with_gas(mesh: TetMesh, vertices: FloatArray, triangles: IndexArray) -> TetMesh:
    """The mesh with the fraction of each tet that lies in hollows of a surface, where it has any.

    A hollow is inside of a closed shell that is seen from the other side than the shell around it.
    All its gas counts for tets of any size: the gas in tets is scaled to the missing volume.

    Args:
        mesh: that encloses the surface.
        vertices, triangles: (V, 3) in metres and (T, 3) of the surface.
    """
    triangles = orient_consistently(triangles)
    hollow = triangles[_are_hollow(vertices, triangles)]
    if len(hollow) == 0:
        return mesh
    volume = abs(signed_volume(vertices, hollow))
    mesh.gas = _fractions(mesh, vertices, triangles, hollow)
    missing = volume - (gas_volume(mesh) - float(mesh.gas @ mesh.rest_volumes))
    mesh.gas = _scaled(mesh.gas, mesh.rest_volumes, missing)
    return mesh


def _scaled(fractions: FloatArray, volumes: FloatArray, total: float) -> FloatArray:
    """(M,) fractions of (M,) volumes that add up to a total, in proportion to some fractions.

    No fraction exceeds one; the others take the rest then. If all are one, the total is less.
    """
    result = np.zeros_like(fractions)
    left = fractions > 0.0
    for _ in range(_MAX_SCALINGS):
        amount = float(fractions[left] @ volumes[left])
        rest = total - float(volumes[result == 1.0].sum())
        if amount <= 0.0:
            break
        result[left] = np.clip(fractions[left] * (rest / amount), 0.0, 1.0)
        is_full = left & (result == 1.0)
        if not is_full.any():
            break
        left &= ~is_full
    return result


def _fractions(
    mesh: TetMesh, vertices: FloatArray, triangles: IndexArray, hollow: IndexArray
) -> FloatArray:
    """(M,) fractions by samples. If tets of several parts of the surface overlap, gas is in the
    tet of the closest part.

    Args:
        triangles, hollow: (T, 3) and (H, 3) of the surface, and those of them around hollows.
    """
    assert mesh.fill is not None and mesh.surface_tets is not None
    shell = vertices[np.unique(hollow)]
    pieces = components(len(mesh.vertices), mesh.tets[:, [0, 1, 1, 2, 2, 3]].reshape(-1, 2))
    pieces = pieces[mesh.tets[:, 0]]
    beside, _ = mesh.surface_tets.followed(shell, mesh.vertices, mesh.tets)
    # Tets that are full hold no gas, nor those of another part that lies in the hollow.
    tets = np.flatnonzero((mesh.fill != 1.0) & np.isin(pieces, pieces[beside]))
    points = points_in_tets(0, len(tets), _SAMPLES) @ mesh.vertices[mesh.tets[tets]]
    points, tet = points.reshape(-1, 3), np.repeat(tets, _SAMPLES)
    low, high = shell.min(axis=0), shell.max(axis=0)
    gas = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
    gas = gas[np.abs(winding_number(points[gas], vertices, hollow)) > _INSIDE]
    gas = gas[np.abs(winding_number(points[gas], vertices, triangles)) <= _INSIDE]
    owner, least = mesh.surface_tets.followed(points[gas], mesh.vertices, mesh.tets)
    counted = tet[gas][(owner == tet[gas]) | (least < 0.0)]
    return np.bincount(counted, minlength=len(mesh.tets)) / _SAMPLES


def _are_hollow(vertices: FloatArray, triangles: IndexArray) -> NDArray[np.bool_]:
    """(T,) whether triangles are of a closed shell around a hollow of the others."""
    _, place = np.unique(vertices, axis=0, return_inverse=True)
    welded = place.ravel()[triangles]
    shell = components(int(welded.max()) + 1, welded[:, [0, 1, 1, 2]].reshape(-1, 2))[welded[:, 0]]
    shell = np.unique(shell, return_inverse=True)[1]
    alike = [np.flatnonzero(shell == number) for number in range(int(shell.max()) + 1)]
    volumes = np.array(
        [
            signed_volume(vertices, triangles[rows]) if is_closed(welded[rows]) else 0.0
            for rows in alike
        ]
    )
    sign = np.sign(volumes[np.abs(volumes).argmax()])
    is_outer, outermost = sign * volumes > 0.0, np.abs(volumes).max()
    outer = triangles[is_outer[shell]]
    is_hollow = np.zeros(len(triangles), dtype=bool)
    for rows, volume in zip(alike, sign * volumes, strict=True):
        if volume < -MIN_HOLLOW_VOLUME_RATIO * outermost:
            anchor = vertices[triangles[rows[0]]].mean(axis=0)[None]
            is_hollow[rows] = np.abs(winding_number(anchor, vertices, outer)) > _INSIDE
    return is_hollow


# In units of one over the cubic edge of a cell. An edge across which shares step that fast is three
# times as long as at rest once the copies are a third of a cell apart.
_MAX_STEP_RATE = 6.0


def join_copies(
    mesh: VirtualMesh,
    positions: FloatArray,
    points: FloatArray,
    owner: IndexArray,
    edges: IndexArray,
) -> VirtualMesh:
    """The mesh with those copies made one between which the surface would be torn; itself where
    there are none.

    Args:
        mesh: copies of cells.
        positions: (N, 3) of its vertices.
        points: (P, 3) of the surface.
        owner: (P,) tets that they follow.
        edges: (E, 2) points that the surface joins.
    """
    one, two = owner[edges.T]
    crosses = (mesh.cell[one] == mesh.cell[two]) & (one != two)
    edges, one, two = edges[crosses], one[crosses], two[crosses]
    # Copies have their corners in the order of the cell.
    is_apart = mesh.tets[one] != mesh.tets[two]
    maps = barycentric_maps(positions, mesh.tets)
    shares = [
        np.abs(barycentric_coordinates(maps[tet], points[end]))
        for tet, end in zip((one, two), edges.T, strict=True)
    ]
    step = ((shares[0] + shares[1]) * is_apart).sum(axis=1)
    length = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    is_torn = step > _MAX_STEP_RATE * length
    if not is_torn.any():
        return mesh
    return joined(
        mesh, np.stack([mesh.tets[one[is_torn]].ravel(), mesh.tets[two[is_torn]].ravel()])
    )


# The least filled part relative to the fullest tet around, so that all have some mass and
# stiffness; and how often the others around are made to hold as much less.
MIN_FILL, MAX_ROUNDS = 0.05, 4


def fill_fractions(cells: Cells, mesh: VirtualMesh, positions: FloatArray) -> FloatArray:
    """(M,) fraction of each tet that is material.

    Args:
        cells: the cells with samples of their content.
        mesh: copies of them.
        positions: (N, 3) where its vertices are in the end.
    """
    is_sheet = np.zeros(len(mesh.tets), dtype=bool)
    is_sheet[mesh.tet_of[cells.row_cell, cells.labels][cells.is_sheet]] = True
    is_partial = _partial(cells, mesh) & ~is_sheet
    points, near, inside = _samples(cells, mesh, is_partial)
    around, maps = TetsAround(mesh.tets, len(positions)), barycentric_maps(positions, mesh.tets)
    tet, least, _ = around.locate(maps, mesh.tets, points, near)
    within, count = least >= 0.0, len(mesh.tets)
    held = np.bincount(tet[within & inside], minlength=count)
    asked = np.bincount(tet[within], minlength=count)
    beside = np.bincount(tet[~within & inside], minlength=count)
    volumes = signed_volumes(positions, mesh.tets)
    per_sample = CELL_VOLUME / SAMPLES_INSIDE
    fill = held / np.maximum(asked, 1) + beside * per_sample / volumes
    fill = _with_min_fill(np.where(is_partial, fill, 1.0), volumes, mesh, is_partial)
    return fill * _correction(cells, fill, volumes, is_partial)


def _with_min_fill(
    fill: FloatArray, volumes: FloatArray, mesh: VirtualMesh, is_partial: NDArray[np.bool_]
) -> FloatArray:
    """Return (M,) fills of at least ``MIN_FILL`` of the fullest tet around where tets are
    partial, with as much material around each vertex as before, as nearly as may be: thin parts
    are made of such tets."""

    def around(fill: FloatArray) -> FloatArray:
        held = np.repeat(fill * volumes, 4)
        return np.bincount(mesh.tets.ravel(), held, len(mesh.vertices)).astype(np.float64)

    fullest = np.zeros(len(mesh.vertices))
    np.maximum.at(fullest, mesh.tets, fill[:, None])
    least = MIN_FILL * np.clip(fullest[mesh.tets].max(axis=1), MIN_FILL, 1.0)
    target, fill = around(fill), np.maximum(fill, least)
    for _ in range(MAX_ROUNDS):
        factor = (target / around(fill))[mesh.tets].mean(axis=1)
        fill = np.where(is_partial, np.maximum(fill * factor, least), fill)
    return fill


def _correction(
    cells: Cells, fill: FloatArray, volumes: FloatArray, is_partial: NDArray[np.bool_]
) -> FloatArray:
    """(M,) factor that gives all tets together the volume that their cells held."""
    samples = cells.sample_labels[:, -SAMPLES_INSIDE:]
    full = len(cells.tets) - cells.cut
    held = CELL_VOLUME * (full + float((samples >= 0).sum()) / SAMPLES_INSIDE)
    partial = float((fill * volumes)[is_partial].sum())
    target = held - float(volumes[~is_partial].sum())
    if not 0.5 * partial < target < 2.0 * partial:  # of sheets, which hold nothing
        return np.ones(len(fill))
    return np.where(is_partial, target / partial, 1.0)


def _partial(cells: Cells, mesh: VirtualMesh) -> NDArray[np.bool_]:
    """Whether a tet is a copy of a cell that is cut, or at the boundary."""
    at_boundary = np.zeros(len(mesh.vertices), dtype=bool)
    at_boundary[boundary(mesh.tets)] = True
    return (mesh.cell < cells.cut) | at_boundary[mesh.tets].any(axis=1)


def _samples(
    cells: Cells, mesh: VirtualMesh, is_partial: NDArray[np.bool_]
) -> tuple[FloatArray, IndexArray, NDArray[np.bool_]]:
    """Points (Q, 3) in the copies of cells, the copy (Q,), and whether they are in its material."""
    near = np.zeros(len(mesh.vertices), dtype=bool)
    near[mesh.tets[is_partial]] = True
    tet = np.flatnonzero(near[mesh.tets].any(axis=1))
    full = tet[mesh.cell[tet] >= cells.cut]
    fragments = np.stack([cells.row_cell, mesh.tet_of[cells.row_cell, cells.labels]])
    fragments = np.unique(fragments, axis=1)
    cell, cut = fragments[:, np.isin(fragments[1], tet)]
    labels = cells.sample_labels[cell][:, -SAMPLES_INSIDE:]
    fragment = np.where(labels >= 0, mesh.tet_of[cell[:, None], np.maximum(labels, 0)], -1)
    weights = points_in_tets(cells.cut, len(full), SAMPLES_INSIDE)
    points = [
        cells.samples[cell][:, -SAMPLES_INSIDE:].reshape(-1, 3),
        (weights @ cells.nodes[cells.tets[mesh.cell[full]]]).reshape(-1, 3),
    ]
    inside = [(fragment == cut[:, None]).ravel(), np.ones(weights.shape[0] * SAMPLES_INSIDE, bool)]
    return (
        np.concatenate(points),
        np.repeat(np.concatenate([cut, full]), SAMPLES_INSIDE),
        np.concatenate(inside),
    )


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
        cells.centres * scale + centre, cells.triangles * scale + centre, _row_tets(cells, mesh)
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
    return (normals**2).sum(axis=1) > 1e-24


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
    # Only once: the next copies along a gap hold its sides, not its end.
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
