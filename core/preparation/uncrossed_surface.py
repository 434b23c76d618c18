# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a surface that touches crosses itself at rest, and goes through its own body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..geometry.components import components
from ..geometry.embedding import Embedding
from ..geometry.folding import folded_triangles
from ..geometry.groups import expand
from ..geometry.tet_mesh import TetMesh
from ..geometry.triangles import compact_indices, have_area
from ..geometry.winding_number import winding_number
from ..scene.contact_settings import ContactSurface
from .intersections import Surfaces, find_close

# Beside a triangle is so many edge lengths from it, and inside where the surface winds so often.
SIDE_OFFSET_RATIO, INSIDE_WINDING = 1e-2, 0.5
# Of the size of a surface: what is so near to others beside where they cross lies in the seam.
SEAM_RATIO = 5e-4
# Of that size, too: what is so near crosses but for the rounding of a mesh in single precision.
ROUNDING_RATIO = 1e-6
# A piece of an open surface is inside where the most of so many of its triangles are.
SAMPLE_COUNT, MAJORITY_RATIO = 32, 0.5


def crosses_itself(surface: ContactSurface) -> bool:
    """Whether any triangles cross."""
    return bool((_nearest(surface, 0.0) == 0.0).any())


def without_crossings(surface: ContactSurface) -> ContactSurface:
    """The surface without the triangles that cross others, and those around them. The same object
    where nothing crosses.

    For the boundary of tetrahedra, of which all but empty ones stand out where parts overlap at
    rest: as what goes through its own body alone, they were caught between other bodies.
    """
    while True:
        crossing = np.flatnonzero(_nearest(surface, 0.0) == 0.0)
        if len(crossing) == 0:
            return surface
        left = surface.triangles[~_around(surface.triangles, crossing)]
        surface = replace(surface, triangles=left)


def spare_unseen(surface: ContactSurface) -> ContactSurface:
    """The surface with what crosses itself, and the pieces left of it that lie inside of the
    material, going through their own body. The same object where nothing crosses.

    Beside what crosses so does what is all but there: parts fold onto each other along their seams.
    """
    seam = SEAM_RATIO * float(np.linalg.norm(np.ptp(surface.points, axis=0)))
    nearest = _nearest(surface, seam)
    crossing = nearest == 0.0
    if not crossing.any():
        return surface
    near = np.isfinite(nearest)
    through = crossing | near & _around(surface.triangles, np.flatnonzero(crossing))
    left = np.flatnonzero(~through)
    if len(left) > 0:
        outside = replace(surface, triangles=surface.triangles[left])
        pieces = _pieces(outside)
        # A few triangles of a piece, evenly taken, speak for it: nothing crosses it.
        order = np.argsort(pieces, kind="stable")
        counts = np.bincount(pieces)
        _, rank = expand(counts)
        few = order[rank % np.repeat(-(-counts // SAMPLE_COUNT), counts) == 0]
        is_inside = _are_inside(surface, outside.triangles[few])
        inside_ratio = np.bincount(pieces[few], is_inside) / np.bincount(pieces[few])
        through[left] = inside_ratio[pieces] > MAJORITY_RATIO
    return replace(surface, through_own=through | ~surface.meets_own)


def _pieces(surface: ContactSurface) -> NDArray[np.int32]:
    """(F,) the connected piece that each triangle belongs to, numbered from 0."""
    links = surface.triangles[:, [0, 1, 1, 2]].reshape(-1, 2)
    labels = components(len(surface.points), links)[surface.triangles[:, 0]]
    pieces: NDArray[np.int32] = np.unique(labels, return_inverse=True)[1]
    return pieces


def _are_inside(surface: ContactSurface, triangles: NDArray[np.int32]) -> NDArray[np.bool_]:
    """(F,) whether there is material on both sides of triangles, where the surface encloses it."""
    a, b, c = surface.points[triangles].swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    # By the root of twice the area, which is about an edge.
    offset = SIDE_OFFSET_RATIO * normals / np.sqrt(np.linalg.norm(normals, axis=1, keepdims=True))
    centres = (a + b + c) / 3.0
    sides = np.concatenate([centres + offset, centres - offset])
    winding = np.abs(winding_number(sides, surface.points, surface.triangles)).reshape(2, -1)
    inside: NDArray[np.bool_] = (winding > INSIDE_WINDING).all(axis=0)
    return inside


def boundary_surface(mesh: TetMesh) -> ContactSurface:
    """The boundary of tetrahedra, as a surface embedded in them."""
    corners, triangles = compact_indices(mesh.surface)
    weights = np.zeros((len(corners), 4))
    weights[:, 0] = 1.0
    indices = np.repeat(corners[:, None], 4, axis=1).astype(np.int32)
    return ContactSurface(
        mesh.vertices[corners], triangles.astype(np.int32), Embedding(indices, weights)
    )


def _nearest(surface: ContactSurface, distance: float) -> NDArray[np.float64]:
    """(F,) how near triangles with an area are to others, in metres: 0 where they cross, infinite
    beyond a distance. Of those that share a point only crossing counts."""
    points, triangles = surface.points, surface.triangles.astype(np.int32)
    valid = np.flatnonzero(have_area(points[triangles]))
    objects, through_own = np.zeros(len(points), dtype=np.int32), ~surface.meets_own[valid]
    whole = Surfaces(points, triangles[valid], objects, through_own=through_own)
    rounding = ROUNDING_RATIO * whole.size
    found = find_close(whole, max(distance, rounding))
    nearest = np.full(len(triangles), np.inf)
    np.minimum.at(nearest, valid[found.triangles], found.distances[:, None])
    nearest[nearest <= rounding] = 0.0
    nearest[valid[folded_triangles(points, whole.triangles, rounding)]] = 0.0
    return nearest


def _around(triangles: NDArray[np.int32], which: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(F,) whether triangles share a point with some of them."""
    near: NDArray[np.bool_] = np.isin(triangles, triangles[which]).any(axis=1)
    return near
