# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins and attached vertices of the tetrahedra, and pins that teleport. No torch here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.embedding import Embedding, nearest_weights
from ..geometry.rigid_fit import rigid_fits
from ..geometry.triangles import closest_points, have_area, without_degenerate
from ..scene import checks
from ..scene.channel import Channel
from ..scene.contact_settings import Attachment, Collider
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody, skin_embedding_of, start_positions, tet_mesh_of
from ..scene.stitches import Release

# A corner carries less of a point that lies on the face across from it.
NEGLIGIBLE_WEIGHT = 1e-9


def pinned_tet_vertices(embedding: Embedding, pinned: NDArray[np.int32]) -> NDArray[np.int32]:
    """The tet corners that carry a pinned point: with them, the point itself stands still.

    Args:
        embedding: of the skin.
        pinned: (P,) indices of skin points.

    Returns:
        (Q,) sorted indices of tet vertices.
    """
    carried = np.abs(embedding.weights[pinned]) > NEGLIGIBLE_WEIGHT
    return np.unique(embedding.indices[pinned][carried]).astype(np.int32)


def transfer_path(
    rest: NDArray[np.float64], path: NDArray[np.float64], vertices: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The paths of tet vertices, from the paths of the pinned points beside them.

    The rigid motion that fits the points best is followed exactly; the remaining motion is
    interpolated from the nearest points by inverse distance.

    Args:
        rest: (P, 3) pinned points at rest.
        path: (T, P, 3) where they go.
        vertices: (Q, 3) tet vertices at rest.

    Returns:
        (T, Q, 3).
    """
    rotations, offsets = rigid_fits(rest, path)
    residual = path - (np.einsum("tij,pj->tpi", rotations, rest) + offsets[:, None])
    rigid = np.einsum("tij,qj->tqi", rotations, vertices) + offsets[:, None]
    nearest, weights = nearest_weights(rest, vertices)
    return rigid + np.einsum("qk,tqki->tqi", weights, residual[:, nearest])


Points = NDArray[np.float64]

# Pins of a body that are looked at, spread over all of them.
_PINS = 64
# Frames before and after one that say how it would go without a jump.
_AROUND = 5
# A jump, and one that passes through a collider, relative to the longest side of a body.
_JUMP_RATIO, _THROUGH_RATIO = 1.0, 0.25
# A turn within a frame that differs from those around, and one with an ambiguous sense.
_TURN, _WIDEST_TURN = np.radians(60.0), np.radians(120.0)
# Pins thinner than this ratio of the farthest one's distance from their centre lie on a line.
_FLAT_RATIO = 1e-3
# Ends of a path within a triangle's plane, of the path's length.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PinJump:
    """A frame in which pins of a body teleport.

    Args:
        body: the name of the body.
        frame: in which they do, counted from the start, which is 0.
        distance: in metres, by which a pin misses where it was going.
        angle: in radians, by which the pins turn.
        through: the name of a collider that lies between; empty where none does.
    """

    body: str
    frame: int
    distance: float
    angle: float
    through: str = ""

    @property
    def turns(self) -> bool:
        """Whether it is a turn."""
        return self.angle >= _TURN


def pin_jumps(scene: Scene) -> list[PinJump]:
    """Jumps of the pins and goals of all bodies of a scene, body by body, frame by frame."""
    colliders = [each for each in scene.colliders if isinstance(each, Collider)]
    return [jump for body in scene.bodies for jump in _body_jumps(body, colliders)]


def _body_jumps(body: SoftBody, colliders: list[Collider]) -> Iterator[PinJump]:
    skin = body.skin
    rest = body.mesh.vertices if skin is None else skin.points
    paths = [body.pin_path, *(goals.targets for goals in (body.goals,) if goals is not None)]
    if skin is not None:
        paths += [skin.pin_path, *(each.targets for each in (skin.goals,) if each is not None)]
    release = body.release or Release()
    jumps: dict[int, PinJump] = {}
    for path in paths:
        for jump in [] if path is None else path_jumps(body.name, path, rest, colliders):
            if release.holds_at(jump.frame - 1):
                jumps.setdefault(jump.frame, jump)
    yield from (jumps[frame] for frame in sorted(jumps))


def path_jumps(
    name: str, path: Channel, rest: Points, colliders: list[Collider]
) -> Iterator[PinJump]:
    """The jumps of one path.

    Args:
        name: of the body.
        path: channel of (P, 3) places, in metres.
        rest: (V, 3) points of the body at rest, in metres.
        colliders: that may lie between.
    """
    size = float(np.ptp(rest, axis=0).max())
    samples = path.samples[:: path.per_frame]
    if len(samples) < 2 or samples.shape[1] == 0:
        return
    chosen = np.unique(np.linspace(0, samples.shape[1] - 1, _PINS).astype(int))
    points = samples[:, chosen]
    steps, angles = np.diff(points, axis=0), _angles(points)
    # A steady spin changes the direction of each pin, but neither its speed nor their centre's.
    centre, speeds = steps.mean(axis=1), np.linalg.norm(steps, axis=2)
    off = np.maximum(
        np.abs(speeds - _usual(speeds)).max(axis=1), np.linalg.norm(centre - _usual(centre), axis=1)
    )
    turn = angles - _usual(angles)
    is_wide = angles >= (_WIDEST_TURN if path.per_frame == 1 else np.inf)
    for index in np.flatnonzero((off > _THROUGH_RATIO * size) | (turn >= _TURN) | is_wide):
        through = _passed(points[index], points[index + 1], int(index), colliders)
        is_turn = turn[index] >= _TURN or is_wide[index]
        if is_turn or off[index] > _JUMP_RATIO * size or through:
            angle = float(angles[index]) if is_turn else 0.0
            yield PinJump(name, int(index) + 1, float(off[index]), angle, through)


def _usual(steps: Points) -> Points:
    """(F, ...) the median of the steps around each, itself left out."""
    medians = np.zeros_like(steps)
    for index in range(len(steps)):
        before = steps[max(index - _AROUND, 0) : index]
        around = np.concatenate([before, steps[index + 1 : index + 1 + _AROUND]])
        if len(around):
            medians[index] = np.median(around, axis=0)
    return medians


def _angles(points: Points) -> Points:
    """(F - 1,) radians by which points turn from frame to frame, (F, P, 3), as a rigid body
    (Kabsch); 0 where they lie in one place."""
    centred = points - points.mean(axis=1, keepdims=True)
    reach = np.linalg.norm(centred, axis=2).max(axis=1)
    widths = np.linalg.svd(centred, compute_uv=False)
    angles = np.zeros(len(points) - 1)
    for index, (before, after) in enumerate(pairwise(centred)):
        if min(reach[index], reach[index + 1]) == 0.0:
            continue
        thin = widths[index : index + 2, 1].min() < _FLAT_RATIO * widths[index : index + 2, 0].min()
        if thin:  # on a line, or one pin alone
            far = np.linalg.norm(before, axis=1).argmax()
            cosine = before[far] @ after[far]
            cosine /= max(np.linalg.norm(before[far]) * np.linalg.norm(after[far]), 1e-300)
        else:
            left, _, right = np.linalg.svd(before.T @ after)
            mirrored = np.linalg.det(left @ right) < 0.0
            rotation = right.T @ np.diag([1.0, 1.0, -1.0 if mirrored else 1.0]) @ left.T
            cosine = (np.trace(rotation) - 1.0) / 2.0
        angles[index] = np.arccos(np.clip(cosine, -1.0, 1.0))
    return angles


def _passed(before: Points, after: Points, frame: int, colliders: list[Collider]) -> str:
    """The name of the first collider that lies on the way of a pin, where it is at a frame."""
    low, high = np.minimum(before, after).min(axis=0), np.maximum(before, after).max(axis=0)
    for collider in colliders:
        corners = collider.at(frame)[collider.triangles]
        near = (corners.min(axis=1) <= high).all(axis=1) & (corners.max(axis=1) >= low).all(axis=1)
        for first, last in zip(before, after, strict=True):
            if near.any() and _crosses(first, last - first, corners[near]):
                return collider.name
    return ""


def _crosses(first: Points, way: Points, corners: Points) -> bool:
    """Whether a path crosses any of (F, 3, 3) triangles (Möller and Trumbore, 1997)."""
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(way, two)
    scale = np.einsum("fi,fi->f", one, normal)
    is_steep = np.abs(scale) > _ROUNDING * np.linalg.norm(way) * np.linalg.norm(
        np.cross(one, two), axis=1
    )
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=is_steep)
    start = first - corners[:, 0]
    u = inverse * np.einsum("fi,fi->f", start, normal)
    across = np.cross(start, one)
    v, time = inverse * (across @ way), inverse * np.einsum("fi,fi->f", two, across)
    inside = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (time > 0.0) & (time < 1.0)
    return bool((is_steep & inside).any())


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
    load."""
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
    if len(vertices) == 0:
        return body
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
    none where one is only a line."""
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
