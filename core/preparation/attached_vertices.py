# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tet vertices an attachment holds. No torch here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.triangles import closest_points, have_area, without_degenerate
from ..scene import checks
from ..scene.channel import Channel
from ..scene.contact_settings import Attachment, Collider
from ..scene.soft_body import SoftBody
from ..scene.start_shape import skin_embedding_of, start_positions, tet_mesh_of
from .pins import pinned_tet_vertices, transfer_path


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
    """Count the tet vertices that share a tet with vertices outside of the set, and so can bear a
    load.
    """
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
    """Return the (V, 3) positions at the start, in metres: the points of its skin, or its tet
    vertices without one.

    Raises:
        SceneError: when the body is not made of tetrahedra yet.
    """
    start = start_positions(body)
    return start if body.skin is None else skin_embedding_of(body).interpolate(start)


FloatArray = NDArray[np.float64]


def pin_to_collider(body: SoftBody, points: NDArray[np.int32], collider: Collider) -> SoftBody:
    """Return the body with the vertices that carry the points pinned to the collider's motion.

    Vertices that are pinned already stay as they are.

    Args:
        body: of tetrahedra, its skin embedded in them.
        points: (P,) indices of its skin's points, or of its tet vertices where it has no skin.
        collider: which they keep their place on.

    Raises:
        SceneError: when a point is not there, or nothing of the body is left to move.
    """
    old_pins = np.zeros(0, dtype=np.int32) if body.pinned is None else body.pinned
    vertices = np.setdiff1d(attached_vertices(body, points), old_pins).astype(np.int32)
    start = start_positions(body)
    is_still = body.pin_path is None and collider.vertices.is_constant
    prescribed = Channel.constant(start[vertices])
    if not collider.vertices.is_constant:
        anchors = point_positions(body)[points]
        prescribed = Channel(
            transfer_path(anchors, anchored_paths(anchors, collider), start[vertices]),
            collider.vertices.per_frame,
        )
    path = Channel.side_by_side([body.pin_path or Channel.constant(start[old_pins]), prescribed])
    pinned = np.concatenate([old_pins, vertices])
    return replace(body, pinned=pinned, pin_path=None if is_still else path)


def anchored_paths(points: FloatArray, collider: Collider) -> FloatArray:
    """(T, P, 3) paths of points (P, 3) that are anchored to a collider with T samples.

    Each follows the point of the collider that is closest to it at the start, at an offset that
    turns with the triangle there: with the frame of its first edge and its normal.

    Raises:
        SceneError: when no triangle of the collider has an area at the start.
    """
    triangles = without_degenerate(collider.at(0), collider.triangles)
    if len(triangles) == 0:
        raise SceneError(
            f"{collider.name}: no triangle has an area, so nothing can be attached to it; choose "
            "another object."
        )
    triangle, weights = closest_points(points, collider.at(0), triangles)
    corners = collider.vertices.samples[:, triangles[triangle]]
    closest = np.einsum("pa,tpai->tpi", weights, corners)
    rotations = _rotations_since_start(corners)
    return closest + np.einsum("tpij,pj->tpi", rotations, points - closest[0])


def _rotations_since_start(corners: FloatArray) -> FloatArray:
    """Return the (T, P, 3, 3) rotations of the frames of triangles (T, P, 3, 3) since the start;
    none where one is only a line.
    """
    has_area = have_area(corners)
    frames = _frames(np.where(has_area[..., None, None], corners, np.eye(3)))
    rotations = np.einsum("tpki,pkj->tpij", frames, frames[0])
    return np.where(has_area[..., None, None], rotations, np.eye(3))


def _frames(corners: FloatArray) -> FloatArray:
    """Orthonormal rows: the first edge, the direction across it in the plane, the normal."""
    edge = _unit(corners[..., 1, :] - corners[..., 0, :])
    normal = _unit(np.cross(edge, corners[..., 2, :] - corners[..., 0, :]))
    return np.stack([edge, np.cross(normal, edge), normal], axis=-2)


def _unit(vectors: FloatArray) -> FloatArray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
