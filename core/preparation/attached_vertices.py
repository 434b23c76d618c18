# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tet vertices an attachment holds. No torch here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scene import checks
from ..scene.contact_settings import Attachment
from ..scene.soft_body import SoftBody
from ..scene.start_shape import skin_embedding_of, start_positions, tet_mesh_of
from .pin_transfer import pinned_tet_vertices


def attached_vertices(body: SoftBody, points: NDArray[np.int32]) -> NDArray[np.int32]:
    """(Q,) indices of the tet vertices that carry attached points (P,).

    Raises:
        SceneError: when the body has no such point, or it is named twice.
    """
    points = checks.indices(points, len(point_positions(body)), f"{body.name}: an attached point")
    return points if body.skin is None else pinned_tet_vertices(skin_embedding_of(body), points)


def held_vertices(body: SoftBody, attachment: Attachment) -> NDArray[np.int32]:
    """(Q,) indices of the tet vertices that an attachment still holds.

    Raises:
        SceneError: when the body has no such point, or it is named twice.
    """
    if attachment.vertices is not None:
        return attachment.vertices
    return attached_vertices(body, attachment.points)


def bearing_count(body: SoftBody, vertices: NDArray[np.int32]) -> int:
    """How many of some tet vertices share a tet with others: those that bear what pulls at all."""
    mesh = tet_mesh_of(body)
    is_held = np.zeros(len(mesh.vertices), dtype=bool)
    is_held[vertices] = True
    held = is_held[mesh.tets]
    return len(np.unique(mesh.tets[held & ~held.all(axis=1, keepdims=True)]))


def carriers(
    body: SoftBody, points: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(P, 4) tet vertices that carry points of a body, and (P, 4) their shares; points that are tet
    vertices have (P, 1) of either.

    Args:
        points: (P,) of its skin, or tet vertices where it has none.
    """
    if body.skin is None:
        return points[:, None].astype(np.int64), np.ones((len(points), 1))
    embedding = skin_embedding_of(body)
    return embedding.indices[points].astype(np.int64), embedding.weights[points]


def point_positions(body: SoftBody) -> NDArray[np.float64]:
    """(V, 3) at the start, in metres: the points of its skin, or its tet vertices without one.

    Raises:
        SceneError: when the body is not made of tetrahedra yet.
    """
    start = start_positions(body)
    return start if body.skin is None else skin_embedding_of(body).interpolate(start)
