# SPDX-License-Identifier: GPL-3.0-or-later
"""A rest shape of tetrahedra, carried over to those that a body is filled with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.embedding import Embedding, embed
from ..geometry.tet_mesh import TetMesh, signed_volumes
from ..scene.soft_body import SoftBody
from ..scene.start_shape import tet_mesh_of

# Of the edges of tets: as far apart, vertices are the same but for single precision.
SAME_EDGES = 1e-3


def with_tet_rest_shape(body: SoftBody) -> SoftBody:
    """A body that rests as it was given, and starts as it is filled unless it starts elsewhere.

    Raises:
        SceneError: when that would turn tets inside out.
    """
    if body.tet_rest_shape is None:
        return body
    filled, mesh, skin = tet_mesh_of(body), rest_mesh(body), body.skin
    start = filled.vertices if body.initial_positions is None else body.initial_positions
    if skin is not None and skin.embedding is not None:
        skin = replace(skin, points=skin.embedding.interpolate(mesh.vertices))
    return replace(body, mesh=mesh, initial_positions=start, skin=skin, tet_rest_shape=None)


def rest_mesh(body: SoftBody) -> TetMesh:
    """The tetrahedra of a body at rest; errors as above."""
    filled, given = tet_mesh_of(body), body.tet_rest_shape
    if given is None:
        return filled
    rest = given.rest
    if (places := places_in(given.vertices, given.tets, filled)) is not None:
        rest = filled.vertices + places.interpolate(rest - given.vertices)
    turned = int((signed_volumes(rest, filled.tets) <= 0.0).sum())
    if turned:
        raise SceneError(
            f"{body.name}: the rest shape that was found for it turns {turned} of its tets inside "
            "out, since its mesh or resolution has changed; press Keep This Shape again, or choose "
            "Modelled as Rest Shape."
        )
    return filled.with_vertices(rest)


def places_in(
    vertices: NDArray[np.float64], tets: NDArray[np.int32], filled: TetMesh
) -> Embedding | None:
    """The vertices of a mesh in (M, 4) tets of (N, 3) vertices; None where these are its own."""
    is_same = np.array_equal(tets, filled.tets) and np.allclose(
        vertices, filled.vertices, rtol=0.0, atol=SAME_EDGES * filled.edge_length
    )
    # Tets of another filling may overlap, as if they were not full.
    other = None if is_same else TetMesh(vertices, tets, np.ones(len(tets)))
    return None if other is None else embed(other, filled.vertices)
