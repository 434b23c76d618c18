# SPDX-License-Identifier: GPL-3.0-or-later
"""Transfer from a surface, or other tetrahedra, to the tetrahedra of a body: paint, rest shapes,
starts and driving shapes.

From where goals and pins have points of a body, all of its tets get a rest shape. Inside, and where
few points prescribe the motion, the body is bent as smoothly as possible: the displacements u of
tet vertices minimize Σ |W u − d|² + ε h² Σ |∇u₁ − ∇u₂|², where W u are the displacements of points,
d the prescribed ones, and ∇u₁ and ∇u₂ the gradients in two tets that share a face. Every affine
motion of the points is followed exactly. Undetermined motion, such as that across the plane of
coplanar points, follows the rigid motion that fits the points best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.cage_fit import harmonic_extension
from ..geometry.embedding import Embedding, embed, nearest_weights
from ..geometry.groups import components, distinct_pairs, first_of_each
from ..geometry.posed_tets import posed_vertices
from ..geometry.rigid_fit import rigid_fits
from ..geometry.tet_mesh import FACES, TetMesh, signed_volumes
from ..geometry.triangles import closest_among_near, closest_in_triangle
from ..scene.channel import Channel
from ..scene.goals import Goals
from ..scene.paint import SurfacePaint
from ..scene.rest_shape import RestShape
from ..scene.skin import Skin, SurfaceMesh
from ..scene.soft_body import SoftBody, skin_embedding_of, start_positions, tet_mesh_of
from ..scene.start import RunStart
from .pins import NEGLIGIBLE_WEIGHT

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.integer[Any]]

# The approximate distance between embedded points of the surface, in edges of the tets.
_SPACING_EDGES = 0.5


def with_painted_settings(
    body: SoftBody, surface: SurfaceMesh, mesh: TetMesh, filled: SurfaceMesh | None = None
) -> SoftBody:
    """A body of tetrahedra, with one value a tet of each setting painted on its surface; friction
    stays painted on that.

    Args:
        body: with the settings that factors are on.
        surface: that is painted.
        filled: the same surface where ``mesh`` fills it; None where that is where it stands.
    """
    filled = surface if filled is None else filled
    if not surface.paint:
        return replace(body, mesh=mesh)
    settings: dict[str, Any] = {}
    inside = [paint for paint in surface.paint if paint.setting != "friction"]
    for paint in surface.paint:
        if paint.setting == "friction":
            surface_paint = surface.vertices, surface.triangles, paint.factors
            settings["friction_paint"] = SurfacePaint(*surface_paint)
    if not inside:
        return replace(body, mesh=mesh, **settings)
    painted = np.stack([paint.factors for paint in inside], axis=1)
    for paint, factors in zip(inside, tet_factors(mesh, filled, painted).T, strict=True):
        if paint.setting == "young":
            settings["material"] = replace(body.material, young=body.material.young * factors)
        elif paint.setting == "yield_stress":
            assert body.plasticity is not None
            stress = body.plasticity.yield_stress * factors
            settings["plasticity"] = replace(body.plasticity, yield_stress=stress)
        elif paint.setting == "drag":
            settings["drag_factors"] = body.drag_factors * factors
        elif np.any(value := getattr(body, paint.setting)):
            settings[paint.setting] = value * factors
    return replace(body, mesh=mesh, **settings)


def tet_factors(mesh: TetMesh, surface: SurfaceMesh, painted: FloatArray) -> FloatArray:
    """Return the (M, K) factors of the tets, from (V, K) of the surface's vertices.

    Each boundary vertex of the tets takes the paint at the closest point of the surface in the
    tets around it; inside, values are harmonic; a tet has the mean of its corners.
    """
    vertices, triangles, weights = _closest(mesh, surface)
    values = np.einsum("bc,bck->bk", weights, painted[triangles])
    return harmonic_extension(mesh, vertices, values)[mesh.tets].mean(axis=1)


def _samples(surface: SurfaceMesh, spacing: float) -> tuple[IndexArray, FloatArray]:
    """Points in triangles, about as far apart as ``spacing``: (S,) which one each lies in, and
    (S, 3) where."""
    corners = surface.vertices[surface.triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    parts = np.maximum(1, np.ceil(longest / (2.0 * spacing))).astype(int)
    triangles, points = [], []
    for count in np.unique(parts):
        weights = _centroids(int(count))
        alike = np.flatnonzero(parts == count)
        triangles.append(np.repeat(alike, len(weights)))
        points.append(np.einsum("sc,tci->tsi", weights, corners[alike]).reshape(-1, 3))
    triangle, point = np.concatenate(triangles), np.concatenate(points)
    # One of many small triangles in a place is enough, but each side of a gap needs one.
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[triangle]
    places = np.concatenate([np.floor(point / spacing), np.sign(normals)], axis=1)
    _, rows = np.unique(places, axis=0, return_index=True)
    return triangle[rows], point[rows]


def _centroids(count: int) -> FloatArray:
    """(count², 3) barycentric coordinates of the centroids of the triangles that one is cut into by
    ``count`` strips along each side."""
    along, across = (part.ravel() for part in np.indices((count, count)))
    upright = along + across < count
    turned = along + across < count - 1
    first = np.concatenate([3 * along[upright] + 1, 3 * along[turned] + 2])
    second = np.concatenate([3 * across[upright] + 1, 3 * across[turned] + 2])
    return np.stack([3 * count - first - second, first, second], axis=1) / (3.0 * count)


def _closest(mesh: TetMesh, surface: SurfaceMesh) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Find the closest surface point of each boundary vertex, among the triangles that run through
    tets around it.

    Returns:
        (B,) these vertices, (B, 3) the vertices of the triangle that each is closest to, and (B, 3)
        barycentric coordinates in it.
    """
    triangle, points = _samples(surface, _SPACING_EDGES * mesh.edge_length)
    pairs = np.stack([embed(mesh, points).indices, np.tile(triangle[:, None], 4)], axis=2)
    on_boundary = np.zeros(len(mesh.vertices), dtype=bool)
    on_boundary[mesh.surface] = True
    vertex, near = distinct_pairs(pairs[on_boundary[pairs[..., 0]]]).T
    corners = surface.triangles[near]
    weights, squared = closest_in_triangle(mesh.vertices[vertex], surface.vertices[corners])
    first = first_of_each(vertex, squared, near)
    return vertex[first], corners[first], weights[first]


# Sweeps in which tet vertices take the remaining errors of skin points.
FIT_SWEEPS = 20
# The fractions between two samples at which rest shapes are checked.
_CHECKED_FRACTIONS = (0.0, 0.25, 0.5, 0.75)
# The least rest volume of a tet, relative to its modelled one; flatter tets are inverted up to
# rounding.
MIN_VOLUME_RATIO = 1e-9


def transferred(
    rest_shape: RestShape, points: FloatArray, embedding: Embedding, mesh: TetMesh
) -> RestShape:
    """The rest shape of tet vertices, from that of (V, 3) points of the skin.

    The affine map that fits a displacement best is followed exactly. The rest is taken by the tet
    vertices around points so that the skin shows it, as far as the tets are fine enough, and is
    harmonic between.
    """
    keys, count = rest_shape.displacements, len(rest_shape.displacements)
    design, tet_design = _affine(points, points), _affine(mesh.vertices, points)
    # All displacements side by side: (V, 3K).
    displaced = keys.swapaxes(0, 1).reshape(len(points), 3 * count)
    fit = np.linalg.lstsq(design, displaced, rcond=1e-9)[0]
    left = displaced - design @ fit
    fitted = tet_design @ fit + _extended(left, points, embedding, mesh)
    moved = fitted.reshape(len(mesh.vertices), count, 3).swapaxes(0, 1)
    return RestShape(np.ascontiguousarray(moved), rest_shape.amounts)


def _affine(points: FloatArray, around: FloatArray) -> FloatArray:
    """(P, 4) coordinates and a one, from the middle of the points ``around``."""
    offsets = (points - around.mean(axis=0)) / max(float(np.ptp(around, axis=0).max()), 1e-300)
    return np.concatenate([offsets, np.ones((len(points), 1))], axis=1)


def _extended(
    left: FloatArray, points: FloatArray, embedding: Embedding, mesh: TetMesh
) -> FloatArray:
    """Return the (N, C) values of all tet vertices, from (V, C) of the skin."""
    count = len(mesh.vertices)
    if not left.any():
        return np.zeros((count, left.shape[1]))
    carrying = embedding.indices[np.abs(embedding.weights) > NEGLIGIBLE_WEIGHT]
    is_known = np.zeros(count, dtype=bool)
    is_known[mesh.surface] = is_known[carrying] = True
    known = np.flatnonzero(is_known)
    values = np.zeros((count, left.shape[1]))
    nearest, weights = nearest_weights(points, mesh.vertices[known])
    values[known] = np.einsum("qk,qkc->qc", weights, left[nearest])
    _fit(values, left, embedding)
    return harmonic_extension(mesh, known, values[known])


def _fit(values: FloatArray, targets: FloatArray, embedding: Embedding) -> None:
    """Change (N, C) values of tet vertices so that points show the (V, C) target values.

    Each sweep adds to a vertex the weighted mean of its points' errors (the simultaneous iterative
    reconstruction technique: Gilbert, "Iterative Methods for the Three-Dimensional Reconstruction
    of an Object from Projections", 1972).
    """
    from scipy.sparse import coo_array

    rows = np.repeat(np.arange(len(targets)), embedding.indices.shape[1])
    shape = len(targets), len(values)
    places = rows, embedding.indices.ravel()
    matrix = coo_array((embedding.weights.ravel(), places), shape=shape).tocsr()
    sizes = coo_array((np.abs(embedding.weights).ravel(), places), shape=shape).tocsr()
    point_sums, vertex_sums = (np.asarray(sizes.sum(axis=axis)).ravel() for axis in (1, 0))
    for _ in range(FIT_SWEEPS):
        off = (targets - matrix @ values) / point_sums[:, None]
        values += (matrix.T @ off) / np.maximum(vertex_sums, NEGLIGIBLE_WEIGHT)[:, None]


def check_rest_shape(body: SoftBody) -> None:
    """Check that a rest shape turns no tets inside out.

    Raises:
        SceneError: when the rest shape of a body turns tets inside out at any time.
    """
    mesh, rest_shape = body.mesh, body.rest_shape
    if rest_shape is None or not isinstance(mesh, TetMesh):
        return
    channel, seen = rest_shape.amounts, set()
    for number in range(len(channel.samples)):
        frame, sample = divmod(number, channel.per_frame)
        for fraction in _CHECKED_FRACTIONS:
            amounts = channel.at(frame, (sample + fraction) / channel.per_frame)
            if amounts.tobytes() in seen:
                continue
            seen.add(amounts.tobytes())
            shape = rest_shape.displaced(mesh.vertices, amounts)
            ratios = signed_volumes(shape, mesh.tets) / mesh.rest_volumes
            if ratios.min() <= MIN_VOLUME_RATIO:
                raise SceneError(_inverted_message(body.name, frame, ratios))


def _inverted_message(name: str, frame: int, ratios: FloatArray) -> str:
    count = int((ratios <= MIN_VOLUME_RATIO).sum())
    which = "1 of its tets" if count == 1 else f"{count} of its {len(ratios)} tets"
    return (
        f"{name}: {frame} frames after the start, its rest shape turns {which} flat or inside out. "
        "Lower the values of its shape keys there, use smoother keys, or change the resolution."
    )


# The distance of equal vertices in single precision, relative to the edges of tets.
SAME_EDGES = 1e-3


def with_tet_rest_shape(body: SoftBody) -> SoftBody:
    """Return the body with the given rest shape, which starts in its filled shape unless it has
    another start.

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
    filled, kept_shape = tet_mesh_of(body), body.tet_rest_shape
    if kept_shape is None:
        return filled
    rest = kept_shape.rest
    if (places := places_in(kept_shape.vertices, kept_shape.tets, filled)) is not None:
        rest = filled.vertices + places.interpolate(rest - kept_shape.vertices)
    turned = int((signed_volumes(rest, filled.tets) <= 0.0).sum())
    if turned:
        raise SceneError(
            f"{body.name}: the rest shape that Keep This Shape made turns {turned} of its tets "
            "inside out. Its mesh or resolution has changed: press Keep This Shape again, or "
            "choose Modelled as Rest Shape."
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


# J = det F, below which a tet counts as flat.
FLAT_VOLUME_RATIO = 0.01


def with_start(body: SoftBody) -> tuple[SoftBody, str]:
    """A body of tetrahedra with positions and velocities at the start, and a warning where tets
    are flat or inside out there.

    Args:
        body: its skin embedded.
    """
    start = body.start
    if start is None:
        return body, ""
    mesh = tet_mesh_of(body)
    if isinstance(start, RunStart):
        body = _as_it_was(body, rest_mesh(body), start)
    else:
        placed = posed_vertices(mesh, skin_embedding_of(body), start.points)
        body = replace(body, start=None, initial_positions=placed)
    return body, _inverted(body, mesh)


def _as_it_was(body: SoftBody, mesh: TetMesh, start: RunStart) -> SoftBody:
    other, positions, velocities = start.mesh, start.positions, start.velocities
    # In overlapping tets, a vertex may lie in one that it is no corner of.
    if not (
        np.array_equal(other.vertices, mesh.vertices) and np.array_equal(other.tets, mesh.tets)
    ):
        where = embed(other, mesh.vertices)
        positions, velocities = where.interpolate(positions), where.interpolate(velocities)
    return replace(body, start=None, initial_positions=positions, initial_velocities=velocities)


def _inverted(body: SoftBody, mesh: TetMesh) -> str:
    """Describe the inverted tets, such as ``its start shape leaves 3 tets flat or inside out, the
    worst at vertex 12: …``."""
    positions = start_positions(body)
    ratios = signed_volumes(positions, mesh.tets) / mesh.rest_volumes
    turned = np.flatnonzero(ratios < FLAT_VOLUME_RATIO)
    if len(turned) == 0:
        return ""
    corners = mesh.tets[ratios.argmin()]
    points = mesh.vertices if body.skin is None else body.skin.points
    middle = mesh.vertices[corners].mean(axis=0)
    vertex = int(np.linalg.norm(points - middle, axis=1).argmin())
    count = "1 tet" if len(turned) == 1 else f"{len(turned)} tets"
    return (
        f"its start shape leaves {count} flat or inside out, the worst at vertex {vertex}: bend it "
        "less there, or choose a coarser resolution"
    )


def with_tet_control(body: SoftBody) -> SoftBody:
    """A body of tetrahedra that is driven as it was given.

    Raises:
        SceneError: when pins are to move that it has not.
    """
    control = body.tet_control
    if control is None:
        return body
    mesh, channel = tet_mesh_of(body), control.channel
    if (places := places_in(control.vertices, control.tets, mesh)) is not None:
        channel = channel.mapped(
            lambda samples: np.stack([places.interpolate(each) for each in samples])
        )
    if control.by == "forces":
        before = body.accelerations
        total = channel if before is None else _sum(before, channel)
        return replace(body, accelerations=total, tet_control=None)
    if body.pinned is None:
        raise SceneError(
            f"{body.name}: the pin motion from Follow My Keys needs pins, and it has none. Pin "
            "vertices again, or remove that motion."
        )
    path = body.pin_path or Channel.constant(start_positions(body)[body.pinned])
    moved = _sum(path, channel.mapped(lambda samples: samples[:, body.pinned]))
    return replace(body, pin_path=moved, tet_control=None)


def _sum(first: Channel, second: Channel) -> Channel:
    """Return the sum of two channels of (P, 3)."""
    both = Channel.side_by_side([first, second])

    def added(samples: NDArray[np.float64]) -> NDArray[np.float64]:
        one, other = np.split(samples, 2, axis=1)
        return one + other

    return both.mapped(added)


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
    point."""
    # It loads scipy.spatial, which takes a moment that other scenes need not wait.
    from scipy.spatial import cKDTree

    assert skin.goals is not None
    weights = np.zeros(len(skin.points))
    weights[skin.goals.vertices] = skin.goals.weights
    if skin.pinned is not None:
        weights[skin.pinned] = 1.0
    return weights[cKDTree(skin.points).query(mesh.vertices)[1]]


def _falling_off(weights: FloatArray, depth: FloatArray) -> FloatArray:
    """Return (N,) weights below 1 raised by the depth, in units of the depth that is held
    wholly."""
    share = np.clip(1.0 - depth * depth * (3.0 - 2.0 * depth), 0.0, 1.0)
    share[depth >= 1.0] = 0.0
    return np.where(weights >= share, 1.0, weights / np.maximum(share, 1e-300))


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
