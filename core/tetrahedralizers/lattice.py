# SPDX-License-Identifier: GPL-3.0-or-later
"""Tetrahedralizes any triangles: a lattice clipped to the surface, thin parts thickened.

Inside is where the generalized winding number exceeds one half, so the surface may be open,
intersect itself, consist of several shells or be inside out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..tet_mesh import TetMesh
from .bcc_lattice import BccLattice
from .isosurface_stuffing import stuff
from .orientation import orient_consistently
from .point_grid import PointGrid
from .smoothing import smooth
from .subdivision import split_long_triangles
from .tet_budget import check_budget
from .triangle_distance import distance_to_triangles
from .winding_number import winding_number

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

_TETS_PER_CUBE = 12.0
_MAX_TETS = 3_000_000

# All in units of the edge length.
_LONGEST_TRIANGLE = 0.75
_BAND = 1.05  # no lattice edge is longer
_PROBE = 0.5  # so far below the surface it should be solid
_SOLID = 0.0
_THICKNESS = 0.25  # on each side of a thin part
_COVERED = 1.0  # a piece of surface is lost if it is farther than this from every vertex
_UNSNAPPED = _BAND  # no node outside is farther, so all cuts are beyond the middle
_GENEROUS_THICKNESS = 0.6  # a lattice node is never farther than 0.56


def mesh_lattice(vertices: FloatArray, triangles: IndexArray, edge_length: float) -> TetMesh:
    """Tets of about `edge_length` (m) in triangles (T, 3) over vertices (V, 3) (m).

    Parts thinner than the lattice become about one edge length thick.

    Raises:
        SceneError: `edge_length` is longer than the mesh, or so short that millions of tets fit.
    """
    check_budget(vertices, edge_length, _TETS_PER_CUBE, _MAX_TETS)
    _check_not_coarse(vertices, edge_length)
    centre = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    corners = ((vertices - centre) / edge_length)[orient_consistently(triangles)]
    surface = split_long_triangles(corners, _LONGEST_TRIANGLE)
    points = surface.reshape(-1, 3)
    lattice = BccLattice.around(points.min(axis=0), points.max(axis=0))
    positions, tets = _fill(lattice, surface)
    rough = TetMesh(positions, tets)
    return TetMesh(smooth(positions, rough.tets, rough.surface) * edge_length + centre, tets)


def _check_not_coarse(vertices: FloatArray, edge_length: float) -> None:
    longest = float(np.ptp(vertices, axis=0).max())
    if edge_length > longest:
        raise SceneError(
            f"An edge length of {edge_length:.3g} m is longer than the mesh itself "
            f"({longest:.3g} m); use {0.25 * longest:.2g} m or less."
        )


def _fill(lattice: BccLattice, surface: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Thicken the parts too thin for the lattice, stuff it, and see that nothing got lost."""
    nodes = lattice.nodes()
    depth = _depth(nodes, surface)
    thin = _is_thin(lattice, depth, surface)
    if thin.any():
        depth = _thicken(depth, _distance(nodes, surface[thin]), _THICKNESS)
    positions, tets = stuff(lattice, depth)
    lost = _nearest(surface.mean(axis=1), positions, _COVERED) > _COVERED
    if lost.any():
        depth = _thicken(depth, _distance(nodes, surface[lost]), _GENEROUS_THICKNESS)
        positions, tets = stuff(lattice, depth)
    return positions, tets


def _thicken(depth: FloatArray, distance: FloatArray, half_thickness: float) -> FloatArray:
    """Make solid what is within `half_thickness`, so deep that stuffing cannot snap it away."""
    thicker = np.maximum(depth, half_thickness - distance)
    within = distance < half_thickness
    thicker[within] = np.maximum(thicker[within], _UNSNAPPED)
    return thicker


def _is_thin(lattice: BccLattice, depth: FloatArray, surface: FloatArray) -> NDArray[np.bool_]:
    """Whether the lattice sees nothing solid below each triangle, on neither side of it."""
    normal = np.cross(surface[:, 1] - surface[:, 0], surface[:, 2] - surface[:, 0])
    length = np.sqrt((normal**2).sum(axis=1, keepdims=True))
    step = _PROBE * normal / np.maximum(length, np.finfo(np.float64).tiny)
    centre = surface.mean(axis=1)
    below = np.maximum(
        lattice.interpolate(depth, centre - step), lattice.interpolate(depth, centre + step)
    )
    thin: NDArray[np.bool_] = below < _SOLID
    return thin


def _depth(nodes: FloatArray, surface: FloatArray) -> FloatArray:
    """Distance of nodes (N, 3) to the surface, cut off beyond the band; negative outside.

    Across a hole, where there is no surface to be near, it follows the winding number.
    """
    numbers, faces = surface.reshape(-1, 3), np.arange(3 * len(surface)).reshape(-1, 3)
    inside = np.abs(winding_number(nodes, numbers, faces)) - 0.5
    across = np.minimum(2.0 * np.abs(inside), 1.0) * _BAND
    depth: FloatArray = np.sign(inside) * np.minimum(_distance(nodes, surface), across)
    return depth


def _distance(nodes: FloatArray, surface: FloatArray) -> FloatArray:
    faces = np.arange(3 * len(surface)).reshape(-1, 3)
    return distance_to_triangles(nodes, surface.reshape(-1, 3), faces, _BAND)


def _nearest(points: FloatArray, others: FloatArray, cutoff: float) -> FloatArray:
    """Distance from points (P, 3) to the nearest of others (Q, 3); infinite beyond `cutoff`."""
    distance = np.full(len(points), np.inf)
    if len(points) == 0 or len(others) == 0:
        return distance
    for point, other in PointGrid(others, cutoff).pairs(points - cutoff, points + cutoff):
        apart = np.sqrt(((points[point] - others[other]) ** 2).sum(axis=1))
        np.minimum.at(distance, point, apart)
    distance[distance > cutoff] = np.inf
    return distance
