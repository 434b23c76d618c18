# SPDX-License-Identifier: GPL-3.0-or-later
"""From where goals and pins have points of a body to where all of its tets are at rest.

Inside, and where few points prescribe the motion, the body is bent as smoothly as possible: the
displacements u of tet vertices minimize Σ |W u − d|² + ε h² Σ |∇u₁ − ∇u₂|², where W u are the
displacements of points, d the prescribed ones, and ∇u₁ and ∇u₂ the gradients in two tets that
share a face. Every affine motion of the points is followed exactly. Undetermined motion, such as
that across the plane of coplanar points, follows the rigid motion that fits the points best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.embedding import Embedding
from ..geometry.groups import components
from ..geometry.rigid_fit import rigid_fits
from ..geometry.tet_mesh import FACES, TetMesh
from ..geometry.triangles import closest_among_near
from ..scene.channel import Channel
from ..scene.goals import Goals
from ..scene.skin import Skin
from ..scene.soft_body import SoftBody

FloatArray = NDArray[np.float64]


def with_held_core(body: SoftBody, pose: Channel) -> SoftBody:
    """The body with goals and pins of tet vertices where its skin's goals fall off with the depth.

    Args:
        pose: channel of all (N, 3) tet vertices in metres.

    Raises:
        SceneError: when no tet vertex lies below the surface, or tet vertices have goals already.
    """
    skin, mesh = body.skin, body.mesh
    if skin is None or skin.goals is None or skin.goals.falloff_depth is None:
        return body
    assert isinstance(mesh, TetMesh)
    if body.goals is not None:
        raise SceneError(
            f"{body.name}: goals of its skin with a falloff by depth replace the goals of its tet "
            "vertices, and it has both. Leave one of them out."
        )
    depth = depths(mesh)
    if depth.max() <= 0.0:
        raise SceneError(
            f"{body.name}: all vertices of its tetrahedra lie on their surface, so there is no "
            "core to hold; use a finer resolution, or no falloff from the surface."
        )
    stiffness = _falling_off(_weights(skin, mesh), depth / (skin.goals.falloff_depth * depth.max()))
    if body.pinned is not None:
        stiffness[body.pinned] = 1.0
    held = np.flatnonzero(stiffness >= 1.0).astype(np.int32)
    drawn = np.flatnonzero((stiffness > 0.0) & (stiffness < 1.0)).astype(np.int32)
    goals = None
    if len(drawn):
        goals = replace(
            skin.goals,
            vertices=drawn,
            targets=pose.mapped(lambda samples: samples[:, drawn]),
            weights=stiffness[drawn],
            falloff_depth=None,
        )
    pin_path = pose.mapped(lambda samples: samples[:, held])
    without = replace(skin, goals=None)
    return replace(body, pinned=held, pin_path=pin_path, goals=goals, skin=without)


def depths(mesh: TetMesh) -> FloatArray:
    """Return the (N,) depths of tet vertices below the surface of the tets, in metres."""
    inside = np.ones(len(mesh.vertices), dtype=bool)
    inside[mesh.surface] = False
    points, depth = mesh.vertices[inside], np.zeros(len(mesh.vertices))
    if len(points):
        triangle, shares = closest_among_near(points, mesh.vertices, mesh.surface)
        closest = np.einsum("pc,pci->pi", shares, mesh.vertices[mesh.surface[triangle]])
        depth[inside] = np.linalg.norm(points - closest, axis=1)
    return depth


def _weights(skin: Skin, mesh: TetMesh) -> FloatArray:
    """Return the (N,) weights of the skin's goals, 1 where it is pinned, each from its closest
    point.
    """
    # It loads scipy.spatial, which takes a moment that other scenes need not wait.
    from scipy.spatial import cKDTree

    assert skin.goals is not None
    weights = np.zeros(len(skin.points))
    weights[skin.goals.vertices] = skin.goals.weights
    if skin.pinned is not None:
        weights[skin.pinned] = 1.0
    nearest: FloatArray = weights[cKDTree(skin.points).query(mesh.vertices)[1]]
    return nearest


def _falling_off(weights: FloatArray, depth: FloatArray) -> FloatArray:
    """Return (N,) weights below 1 raised by the depth, in units of the depth that is held
    wholly."""
    share = np.clip(1.0 - depth * depth * (3.0 - 2.0 * depth), 0.0, 1.0)
    share[depth >= 1.0] = 0.0
    raised: FloatArray = np.where(weights >= share, 1.0, weights / np.maximum(share, 1e-300))
    return raised


#: ε is small, since the visible mesh also shows the motion that tets do not follow
#: (``with_detail``).
SMOOTHNESS = 1e-3
# The least eigenvalue of pieces with points; pieces without any point stay where they are.
_MIN_EIGENVALUE_RATIO = 1e-12


def with_pose(body: SoftBody) -> SoftBody:
    """The body with a pose where it is to be free of sag, and with goals and pins in it."""
    mesh = body.mesh
    if body.pose is not None or not body.is_sag_free or not isinstance(mesh, TetMesh):
        return body
    pose = _pose(mesh, [*_known_vertices(body), *_known_skin(body)])
    body = with_held_core(body, pose)
    if body.pinned is not None:
        pinned = body.pinned
        body = replace(body, pin_path=pose.mapped(lambda samples: samples[:, pinned]))
    if body.goals is not None:
        vertices = body.goals.vertices
        targets = pose.mapped(lambda samples: samples[:, vertices])
        body = replace(body, goals=replace(body.goals, targets=targets))
    skin = body.skin
    if skin is not None and skin.goals is not None and skin.embedding is not None:
        carriers = skin.embedding.of(skin.goals.vertices)
        targets = pose.mapped(lambda samples: _carried(carriers, samples))
        body = replace(body, skin=replace(skin, goals=replace(skin.goals, targets=targets)))
    return replace(body, pose=pose)


def with_detail(body: SoftBody, before: SoftBody) -> SoftBody:
    """The body whose visible mesh is exactly where its animation has it, in its pose; refined
    meshes are not, and are left out.

    Args:
        before: the body as it was before ``with_pose``.
    """
    skin, pose = body.skin, body.pose
    if pose is None or skin is None or skin.embedding is None or before.skin is None:
        return body
    parts = _prescribed_points(before.skin)
    if not parts:
        return body
    points = np.concatenate([indices for indices, _ in parts])
    path = Channel.side_by_side([targets for _, targets in parts])
    seen = skin.phong or skin.embedding
    count = len(pose.samples[:: pose.per_frame])
    detail = np.zeros((count, len(skin.points), 3))
    for frame in range(count):
        detail[frame, points] = path.at(frame) - seen.interpolate(pose.at(frame))[points]
    return replace(body, skin=replace(skin, detail=Channel(detail), refined=[]))


@dataclass(frozen=True, eq=False)
class _Known:
    """Points that are known to be somewhere.

    Args:
        carriers: (P, K) vertices and weights that make the points.
        rest: (P, 3) in metres.
        path: channel of (P, 3).
    """

    carriers: Embedding
    rest: FloatArray
    path: Channel


def _known_vertices(body: SoftBody) -> list[_Known]:
    """Return the motion of tet vertices that a script pinned or gave goals."""
    mesh, parts = body.mesh, []
    assert isinstance(mesh, TetMesh)
    if body.goals is not None:
        parts.append((body.goals.vertices, body.goals.targets))
    has_own_pins = body.skin is None or body.skin.pinned is None or len(body.skin.pinned) == 0
    if body.pinned is not None and has_own_pins:
        parts.append((body.pinned, body.pin_path or Channel.constant(mesh.vertices[body.pinned])))
    return [
        _Known(
            Embedding(np.asarray(indices)[:, None], np.ones((len(indices), 1))),
            mesh.vertices[indices],
            path,
        )
        for indices, path in parts
    ]


def _known_skin(body: SoftBody) -> list[_Known]:
    skin = body.skin
    if skin is None or skin.embedding is None:
        return []
    return [
        _Known(skin.embedding.of(indices), skin.points[indices], path)
        for indices, path in _prescribed_points(skin)
    ]


def _prescribed_points(skin: Skin) -> list[tuple[NDArray[np.int32], Channel]]:
    """Points of a skin that goals or pins have, and where."""
    parts = []
    goals: Goals | None = skin.goals
    if goals is not None:
        parts.append((goals.vertices, goals.targets))
    if skin.pinned is not None and len(skin.pinned):
        rest = Channel.constant(skin.points[skin.pinned])
        parts.append((skin.pinned, skin.pin_path or rest))
    return parts


def _pose(mesh: TetMesh, known: list[_Known]) -> Channel:
    """Return the pose of all (N, 3) tet vertices."""
    # It loads scipy, which takes a moment that other scenes need not wait.
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import splu

    count = len(mesh.vertices)
    path = Channel.side_by_side([part.path for part in known])
    rest = np.concatenate([part.rest for part in known])
    rows, columns, values = [], [], []
    first = 0
    for part in known:
        size, corners = part.carriers.indices.shape
        rows.append(np.repeat(np.arange(first, first + size), corners))
        columns.append(part.carriers.indices.ravel())
        values.append(part.carriers.weights.ravel())
        first += size
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    carried = csr_array(entries, shape=(first, count))
    bends = _bends(mesh)
    matrix = (
        carried.T @ carried
        + SMOOTHNESS * (bends.T @ bends)
        + _MIN_EIGENVALUE_RATIO * eye_array(count)
    )
    solver = splu(matrix.tocsc())
    first_carriers = np.concatenate([part.carriers.indices[:, 0] for part in known])
    rigid, displacements = _rigid_motion(mesh, first_carriers, rest, path.samples)
    moved = solver.solve(carried.T @ displacements.swapaxes(0, 1).reshape(first, -1))
    samples = rigid + moved.reshape(count, -1, 3).swapaxes(0, 1)
    for part in (part for part in known if part.carriers.indices.shape[1] == 1):
        # Vertices themselves are at their targets.
        places = part.path.resampled(path.per_frame).samples
        last = np.minimum(np.arange(len(samples)), len(places) - 1)
        samples[:, part.carriers.indices[:, 0]] = places[last]
    return Channel(samples, path.per_frame)


def _rigid_motion(
    mesh: TetMesh, carriers: NDArray[np.integer[Any]], rest: FloatArray, path: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the (T, N, 3) positions of tet vertices by the rigid motion of the points of their
    piece, and the (T, P, 3) remaining displacements of points.

    Args:
        carriers: (P,) a tet vertex of the piece that each point belongs to.
        rest: (P, 3) in metres.
        path: (T, P, 3).
    """
    links = np.concatenate([mesh.tets[:, [0, corner]] for corner in (1, 2, 3)])
    pieces = components(len(mesh.vertices), links)
    moved = np.repeat(mesh.vertices[None], len(path), axis=0)
    remainder = np.empty_like(path)
    for piece in np.unique(pieces[carriers]):
        points, vertices = pieces[carriers] == piece, pieces == piece
        rotations, offsets = rigid_fits(rest[points], path[:, points])
        turned, shift = rotations.swapaxes(1, 2), offsets[:, None]
        moved[:, vertices] = mesh.vertices[vertices] @ turned + shift
        remainder[:, points] = path[:, points] - (rest[points] @ turned + shift)
    return moved, remainder


def _bends(mesh: TetMesh) -> Any:
    """Return (3F, N) differences of linear functions' gradients across the F inner faces, times an
    edge length."""
    from scipy.sparse import coo_array

    faces = np.sort(mesh.tets[:, FACES].reshape(-1, 3), axis=1)
    owner = np.repeat(np.arange(len(mesh.tets)), len(FACES))
    order = np.lexsort(faces.T)
    faces, owner = faces[order], owner[order]
    shared = np.flatnonzero((faces[1:] == faces[:-1]).all(axis=1))
    gradients = mesh.edge_length * mesh.shape_gradients
    entries, rows, columns = [], [], []
    for tets, sign in ((owner[shared], 1.0), (owner[shared + 1], -1.0)):
        entries.append(sign * gradients[tets].transpose(0, 2, 1).ravel())
        columns.append(np.repeat(mesh.tets[tets], 3, axis=0).ravel())
        rows.append(np.repeat(np.arange(3 * len(shared)), 4))
    coordinates = np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
    return coo_array(coordinates, shape=(3 * len(shared), len(mesh.vertices))).tocsr()


def _carried(carriers: Embedding, samples: FloatArray) -> FloatArray:
    """(T, P, 3) points from (T, N, 3) vertices."""
    return np.stack([carriers.interpolate(sample) for sample in samples])
