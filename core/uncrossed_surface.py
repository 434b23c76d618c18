# SPDX-License-Identifier: GPL-3.0-or-later
"""A surface that touches, without what of it crosses itself at rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .contact_settings import ContactSurface
from .embedding import Embedding
from .tet_mesh import TetMesh


def without_crossings(surface: ContactSurface) -> ContactSurface:
    """The surface without the triangles that cross others, and those around them.

    Parts that overlap at rest are one body: where they do, there is nothing to keep apart.
    """
    # It loads ipctk, which takes a moment that scenes without contact need not wait.
    from .contact.degenerate import without_degenerate
    from .contact.intersections import Surfaces, find_intersections

    triangles = without_degenerate(surface.points, surface.triangles).astype(np.int32)
    while len(triangles):
        owner = np.zeros(len(surface.points), dtype=np.int32)
        found = find_intersections(Surfaces(surface.points, triangles, owner))
        if len(found) == 0:
            break
        triangles = triangles[~_around(triangles, np.unique(found.triangles))]
    return replace(surface, triangles=triangles)


def boundary_surface(mesh: TetMesh) -> ContactSurface:
    """The boundary of tetrahedra, as a surface embedded in them."""
    corners, inverse = np.unique(mesh.surface, return_inverse=True)
    weights = np.zeros((len(corners), 4))
    weights[:, 0] = 1.0
    indices = np.repeat(corners[:, None], 4, axis=1).astype(np.int32)
    return ContactSurface(
        mesh.vertices[corners],
        inverse.reshape(mesh.surface.shape).astype(np.int32),
        Embedding(indices, weights),
    )


def _around(triangles: NDArray[np.int32], which: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(F,) whether triangles share a point with some of them."""
    near: NDArray[np.bool_] = np.isin(triangles, triangles[which]).any(axis=1)
    return near
