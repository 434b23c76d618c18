# SPDX-License-Identifier: GPL-3.0-or-later
"""The boundary of the lattice, drawn in close to the surface and smoothed.

The longest stable explicit time step is proportional to the shortest altitude of a tet.

Each vertex of the boundary moves towards the point of the surface nearest to it, of those that run
through its own tets; where a point of the surface is left outside, its target moves out again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.groups import equal_rows, first_of_each
from ..geometry.surface_tets import TetsAround, barycentric_coordinates, barycentric_maps
from ..geometry.tet_mesh import FACES
from ..geometry.triangles import closest_in_triangle
from .cells import VirtualMesh
from .lattice_loops import measure, write_descent

FloatArray = NDArray[np.float64]
Corners = NDArray[np.integer[Any]]

_MIN_STEP_SIZE = 1e-3


def smooth(
    vertices: FloatArray, tets: Corners, targets: FloatArray, normals: FloatArray, iterations: int
) -> FloatArray:
    """Better positions for vertices (N, 3) of tets (M, 4) of positive volume.

    All lengths are in units of the typical edge. Minimize, by a number of damped Newton steps with
    a block-diagonal Hessian,

        sum over altitudes of (target / altitude)^(2 p) + stiffness * sum over vertices of (n . d)^2

    with d the displacement of a vertex from its target (N, 3) and n its normal (N, 3), of length 1
    for one that is drawn to the plane through its target and may slide along it, zero for one that
    is free. The first term grows without bound as a tet flattens: no step inverts one.
    """
    positions, step_size = vertices, 1.0
    energy = measure(positions, tets, targets, normals)
    direction = np.empty_like(vertices)
    limits, diagonals = np.empty(len(vertices)), np.empty(len(vertices))
    for _ in range(iterations):
        write_descent(positions, tets, targets, normals, limits, diagonals, direction)
        while True:
            trial = positions + step_size * direction
            trial_energy = measure(trial, tets, targets, normals)
            if trial_energy < energy:
                break
            step_size *= 0.5
            if step_size < _MIN_STEP_SIZE:
                return positions
        positions, energy = trial, trial_energy
        step_size = min(1.0, 2.0 * step_size)
    return positions


IndexArray = NDArray[np.intp]

# All in units of the cubic edge of a cell.
_BOUNDARY_DISTANCE = 0.0  # of the boundary from the surface
_SHEET_HALF_THICKNESS = 0.5
_MAX_OUTSIDE = 0.04  # of the allowed distance outside
# The displacement of vertices around a point relative to its distance outside; they are also held
# back.
_RELAXATION_RATIO = 1.5
# Newton steps in each round.
_ITERATIONS = (12, 6, 4, 4, 4)
_PAIRS_PER_CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class Anchors:
    """The points of the surface that vertices of the boundary move towards.

    Attributes:
        vertex: (B,) indices of them.
        points: (B, 3) the nearest of the surface.
        normals: (B, 3) directions from there to the vertex.
        row: (B,) of the triangle that the point lies on.
    """

    vertex: IndexArray
    points: FloatArray
    normals: FloatArray
    row: IndexArray


def shrink_wrap(
    mesh: VirtualMesh,
    row_tet: IndexArray,
    triangles: FloatArray,
    is_sheet: NDArray[np.bool_],
    points: FloatArray,
    owner: IndexArray,
) -> FloatArray:
    """Better positions (N, 3) for the vertices of a mesh.

    Args:
        mesh: that encloses the surface.
        row_tet, triangles: (K,) tets and (K, 3, 3) the triangles that run through them.
        is_sheet: (K,) whether a triangle has no inside.
        points: (P, 3) of the surface, to be kept inside.
        owner: (P,) tets that they lie in.
    """
    anchors = _anchors(mesh, row_tet, triangles)
    distance = np.where(is_sheet[anchors.row], _SHEET_HALF_THICKNESS, _BOUNDARY_DISTANCE)
    normals = np.zeros_like(mesh.vertices)
    normals[anchors.vertex] = anchors.normals
    around = TetsAround(mesh.tets, len(mesh.vertices))
    place = np.full(len(mesh.vertices), -1)
    place[anchors.vertex] = np.arange(len(anchors.vertex))
    positions = mesh.vertices
    for iterations in _ITERATIONS:
        targets = positions.copy()
        targets[anchors.vertex] = anchors.points + distance[:, None] * anchors.normals
        positions = smooth(positions, mesh.tets, targets, normals, iterations)
        if not _relax_targets(positions, mesh.tets, around, points, owner, place, distance):
            break
    return positions


def _anchors(mesh: VirtualMesh, row_tet: IndexArray, triangles: FloatArray) -> Anchors:
    on_boundary = np.zeros(len(mesh.vertices), dtype=bool)
    on_boundary[boundary(mesh.tets)] = True
    row = np.repeat(np.arange(len(row_tet)), 4)
    vertex = mesh.tets[row_tet].ravel()
    is_boundary = on_boundary[vertex]
    row, vertex = row[is_boundary], vertex[is_boundary]
    nearest, squared = np.empty((len(row), 3)), np.empty(len(row))
    for start in range(0, len(row), _PAIRS_PER_CHUNK):
        part = slice(start, start + _PAIRS_PER_CHUNK)
        corners = triangles[row[part]]
        weights, squared[part] = closest_in_triangle(mesh.vertices[vertex[part]], corners)
        nearest[part] = np.einsum("ka,kai->ki", weights, corners)
    first = first_of_each(vertex, squared, row)
    vertex, row, nearest = vertex[first], row[first], nearest[first]
    offset = mesh.vertices[vertex] - nearest
    length = np.linalg.norm(offset, axis=1, keepdims=True)
    return Anchors(vertex, nearest, offset / np.maximum(length, 1e-12), row)


def boundary(tets: IndexArray) -> IndexArray:
    """(S, 3) faces that belong to one tet only."""
    faces = tets[:, FACES].reshape(-1, 3)
    order, starts = equal_rows(faces)
    return faces[order[starts[np.diff(starts, append=len(order)) == 1]]]


def _relax_targets(
    positions: FloatArray,
    tets: IndexArray,
    around: TetsAround,
    points: FloatArray,
    owner: IndexArray,
    place: IndexArray,
    distance: FloatArray,
) -> bool:
    """Moves the targets of vertices outwards where points lie outside; whether any does."""
    maps = barycentric_maps(positions, tets)
    tet, least, _ = around.locate(maps, tets, points, owner)
    maps = maps[tet]
    coordinates = barycentric_coordinates(maps, points)
    worst = coordinates.argmin(axis=1)
    gradient_norm = np.linalg.norm(maps[np.arange(len(points)), worst, :3], axis=1)
    beyond = -least / gradient_norm
    outside = np.flatnonzero(beyond > _MAX_OUTSIDE)
    if len(outside) == 0:
        return False
    corner = np.arange(4)[None, :] != worst[outside, None]
    vertex = tets[tet[outside]][corner].reshape(-1, 3)
    rows = place[vertex]
    offset = np.repeat(_RELAXATION_RATIO * beyond[outside, None], 3, axis=1)
    extra = np.zeros(len(distance))
    np.maximum.at(extra, rows[rows >= 0], offset[rows >= 0])
    distance += extra
    return True
