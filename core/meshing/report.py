# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on tetrahedra, with how stiff thin parts are when they bend."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..geometry.groups import components
from ..geometry.tet_mesh import TetMesh
from ..geometry.triangle_loops import measure_exits
from ..geometry.triangles import orient_consistently
from ..geometry.winding_number import winding_number
from .surface import MAX_BENDING_RATIO, bending_ratio, is_closed, signed_volume

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# The least thin part of a reported surface.
_THIN_SHARE = 0.1
_MAX_SAMPLES, _MIN_SAMPLES, _MAX_PAIRS = 256, 32, 4_000_000
# The start of rays below the surface, relative to its size.
_BEGIN_RATIO = 1e-6
_INSIDE = 0.5
# The least cosine between the directions of two opposite sides.
_ACROSS_COSINE = 0.7
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)


def thin_thickness(vertices: FloatArray, triangles: IndexArray) -> float:
    """The thickness in metres that a tenth of a surface does not reach; infinite where the solid
    has no part with two sides.

    It is measured by rays along the normals. The sides of a wedge, as at the tip of a cone, do not
    belong to a bending part.

    Args:
        vertices: (V, 3) in metres.
        triangles: (T, 3).
    """
    triangles = orient_consistently(triangles)
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    corners, normals, areas = corners[areas > 0.0], normals[areas > 0.0], areas[areas > 0.0]
    if len(areas) == 0:
        return float("inf")
    outwards = 1.0 if signed_volume(vertices, triangles) >= 0.0 else -1.0
    normals = outwards * normals / areas[:, None]
    count = int(np.clip(_MAX_PAIRS // len(corners), _MIN_SAMPLES, _MAX_SAMPLES))
    # As many in each part of the surface as its area demands.
    steps = (np.arange(count) + 0.5) / count * areas.sum()
    which = np.minimum(np.searchsorted(np.cumsum(areas), steps), len(areas) - 1)
    first = np.sqrt((np.arange(count) * _GOLDEN + 0.25) % 1.0)
    second = (np.arange(count) + 0.5) * 7.0 / count % 1.0
    weights = np.stack([1.0 - first, first * (1.0 - second), first * second], axis=1)
    begin = _BEGIN_RATIO * float(np.ptp(vertices, axis=0).max()) * normals[which]
    origins = np.einsum("sc,sci->si", weights, corners[which]) - begin
    depths = _depths(origins, -normals[which], corners, normals, outwards)
    middles = origins - 0.5 * np.where(np.isfinite(depths), depths, 0.0)[:, None] * normals[which]
    is_solid = np.abs(winding_number(middles, vertices, triangles)) > _INSIDE
    depths[~is_solid] = np.inf
    return float(np.sort(depths)[int(_THIN_SHARE * count)])


def _depths(
    origins: FloatArray,
    directions: FloatArray,
    corners: FloatArray,
    normals: FloatArray,
    outwards: float,
) -> FloatArray:
    """Return the (R,) lengths of rays to the next triangle through which they leave the solid;
    infinite where that is not across from the origin.

    Args:
        origins, directions: (R, 3).
        corners: (T, 3, 3) of the triangles.
        normals: (T, 3), outwards.
        outwards: 1 where the triangles are oriented so, else -1.
    """
    length = 2.0 * float(np.linalg.norm(np.ptp(corners.reshape(-1, 3), axis=0)))
    along, hit = np.empty(len(origins)), np.empty(len(origins), dtype=np.intp)
    measure_exits(origins, origins + length * directions, corners, outwards, along, hit)
    is_across = (normals[hit] * directions).sum(axis=1) > _ACROSS_COSINE
    return np.where((hit >= 0) & is_across, length * along, np.inf)


@dataclass(frozen=True)
class MeshReport:
    """Figures of a tet mesh; `str` of it is one line in plain words.

    Attributes:
        tets: the number of tets.
        vertices: the number of vertices.
        minimum_quality: the worst tet's mean ratio, 1 for a regular tet, 0 for a flat one.
        minimum_dihedral: the smallest angle between two faces of a tet, in degrees.
        shortest_altitude: of any tet, in metres; the explicit time step is proportional to it.
        volume: of the material in all tets, in cubic metres.
        surface_volume: inside the surface the tets were made from, in cubic metres; None where
            the surface is open.
        bending_ratio: the bending stiffness of thin parts relative to the right one.
        loose_parts: the number of surface parts without a common vertex or point.
        pieces: the number of parts of the tets without a common vertex. Overlapping parts of the
            surface are one part, and so is a hollow with the surface around it.
    """

    tets: int
    vertices: int
    minimum_quality: float
    minimum_dihedral: float
    shortest_altitude: float
    volume: float
    surface_volume: float | None
    bending_ratio: float
    loose_parts: int
    pieces: int

    def __str__(self) -> str:
        return (
            f"{self.tets} tets, {self.vertices} vertices; {self._compare()}; worst tet: quality "
            f"{self.minimum_quality:.2f}, angle {self.minimum_dihedral:.0f}°, altitude "
            f"{self.shortest_altitude:.3g} m{self._bending()}{self._parts()}"
        )

    def _parts(self) -> str:
        if self.loose_parts == 1 and self.pieces == 1:
            return ""
        return f"; {_counted(self.loose_parts, 'loose part')}, {_counted(self.pieces, 'piece')}"

    def _bending(self) -> str:
        if self.bending_ratio <= MAX_BENDING_RATIO:
            return ""
        return f"; thin parts bend {self.bending_ratio:.2g} times too stiffly"

    def _compare(self) -> str:
        text = f"volume {self.volume:.3g} m³"
        if not self.surface_volume:
            return f"{text} in an open surface"
        percent = round(100.0 * (self.volume / self.surface_volume - 1.0))
        if percent == 0:
            return f"{text}, as the surface"
        return f"{text}, {abs(percent)} % {'more' if percent > 0 else 'less'} than the surface"


def report(
    mesh: TetMesh, vertices: ArrayLike, triangles: ArrayLike, edge_length: float | None = None
) -> MeshReport:
    """Figures of `mesh`, made from triangles (T, 3) over vertices (V, 3) in metres.

    Args:
        edge_length: that it was made with, in metres; None is the mean.
    """
    edge_length = float(mesh.mean_edges.mean()) if edge_length is None else edge_length
    points, faces = np.asarray(vertices, dtype=np.float64), np.asarray(triangles, dtype=np.intp)
    return MeshReport(
        tets=len(mesh.tets),
        vertices=len(mesh.vertices),
        minimum_quality=float(mean_ratios(mesh).min()),
        minimum_dihedral=float(dihedral_angles(mesh).min()),
        shortest_altitude=float(altitudes(mesh).min()),
        volume=float(mesh.material_volumes.sum()),
        surface_volume=_surface_volume(points, faces),
        bending_ratio=bending_ratio(edge_length, thin_thickness(points, faces)),
        loose_parts=_loose_parts(points, faces),
        pieces=_component_count(mesh.tets),
    )


def altitudes(mesh: TetMesh) -> FloatArray:
    """(M, 4) distances in metres from each corner to the face opposite."""
    return 1.0 / np.linalg.norm(mesh.shape_gradients, axis=2)


def dihedral_angles(mesh: TetMesh) -> FloatArray:
    """(M, 6) angles between the faces of each tet, in degrees."""
    normals = mesh.shape_gradients * altitudes(mesh)[:, :, None]
    cosines = [-(normals[:, a] * normals[:, b]).sum(axis=1) for a, b in combinations(range(4), 2)]
    return np.degrees(np.arccos(np.clip(np.stack(cosines, axis=1), -1.0, 1.0)))


def mean_ratios(mesh: TetMesh) -> FloatArray:
    """(M,) 12 (3 V)^(2/3) over the sum of the six squared edge lengths.

    Liu and Joe, "On the shape of tetrahedra from bisection", Mathematics of Computation 63, 1994.
    """
    corners = mesh.vertices[mesh.tets]
    squared = sum(
        ((corners[:, a] - corners[:, b]) ** 2).sum(axis=1) for a, b in combinations(range(4), 2)
    )
    return 12.0 * (3.0 * mesh.rest_volumes) ** (2 / 3) / squared


def _loose_parts(vertices: FloatArray, triangles: NDArray[np.intp]) -> int:
    _, place = np.unique(vertices, axis=0, return_inverse=True)
    return _component_count(place.ravel()[triangles])


def _component_count(cells: NDArray[np.integer[Any]]) -> int:
    """Count the connected parts of (C, K) cells; cells with a common vertex are connected."""
    ends = np.stack([np.repeat(cells[:, 0], cells.shape[1] - 1), cells[:, 1:].ravel()], axis=1)
    labels = components(int(cells.max()) + 1, ends)
    return len(np.unique(labels[cells[:, 0]]))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _surface_volume(vertices: FloatArray, triangles: NDArray[np.intp]) -> float | None:
    oriented = orient_consistently(triangles)
    return abs(signed_volume(vertices, oriented)) if is_closed(oriented) else None
