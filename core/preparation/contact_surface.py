# SPDX-License-Identifier: GPL-3.0-or-later
"""The surface of a body that touches: its mesh, a copy, or its tetrahedra.

Points outside of all tetrahedra follow one close by. The ends of a short edge may follow two of
them that have little in common, and a small strain then tears the edge or turns it over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..geometry import refinement
from ..geometry.embedding import Embedding, embed
from ..geometry.folding import folded_triangles
from ..geometry.groups import components, expand, grouped, numbered_pairs
from ..geometry.tet_mesh import TetMesh
from ..geometry.triangles import (
    closest_among_near,
    compact_indices,
    have_area,
    without_unreferenced,
)
from ..geometry.winding_number import winding_number
from ..meshing.surface import outward_normals
from ..scene.contact_settings import ContactSurface
from ..scene.soft_body import SoftBody
from .intersections import Surfaces, find_close

Points = NDArray[np.float64]
Values = NDArray[np.float64]
Edges = NDArray[np.int64]

# The largest strain of an intact edge relative to that of the tetrahedra; edges within one
# tetrahedron have 1 to 3.
MAX_SPREAD = 3.0
# Edges are short below this ratio of the edges of the tetrahedra; others show no tear.
SHORT_RATIO = 0.1
MAX_ROUNDS = 3
# The least barycentric coordinate of a point in the tetrahedron of its neighbours.
LEAST_COORDINATE = -0.5


def without_torn_edges(
    embedding: Embedding, mesh: TetMesh, points: Points, edges: Edges
) -> Embedding:
    """Return the embedding in which ends of short torn edges follow tetrahedra of their neighbours,
    where that tears their edges less. The same object where no edge is torn.

    Args:
        embedding: of (V, 3) points at rest, in metres, each in one tetrahedron.
        edges: (E, 2) points.
    """
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    short = edges[lengths < SHORT_RATIO * mesh.mean_edges.mean()]
    torn = short[_spreads(embedding, mesh, points, short) > MAX_SPREAD]
    if len(torn) == 0:
        return embedding
    embedding = Embedding(embedding.indices.copy(), embedding.weights.copy())
    around, offsets = grouped(edges.ravel(), len(points))
    for _ in range(MAX_ROUNDS):
        ends = np.unique(torn)
        for point in ends:
            at_point = edges[around[offsets[point] : offsets[point + 1]] // 2]
            _follow_neighbours(embedding, mesh, points, at_point, int(point))
        torn = short[_spreads(embedding, mesh, points, short) > MAX_SPREAD]
        if len(torn) == 0:
            break
    return embedding


def _follow_neighbours(
    embedding: Embedding, mesh: TetMesh, points: Points, edges: Edges, point: int
) -> None:
    """Let a point follow the tetrahedron, of its own and its neighbours', that tears its (K, 2)
    edges least."""
    others = edges.sum(axis=1) - point
    tets = np.unique(embedding.indices[np.append(others, point)], axis=0)
    weights = _coordinates(mesh.vertices[tets], points[point])
    near = weights.min(axis=1) > LEAST_COORDINATE
    tets, weights = tets[near], weights[near]
    if len(tets) == 0:
        return
    count = len(others)
    both = Embedding(
        np.concatenate([tets, embedding.indices[others]]),
        np.concatenate([weights, embedding.weights[others]]),
    )
    places = np.concatenate([np.repeat(points[point][None], len(tets), axis=0), points[others]])
    pairs = np.stack(
        [np.repeat(np.arange(len(tets)), count), len(tets) + np.tile(np.arange(count), len(tets))],
        axis=1,
    )
    worst = _spreads(both, mesh, places, pairs).reshape(len(tets), count).max(axis=1)
    best = int(np.lexsort((-weights.min(axis=1), worst))[0])
    embedding.indices[point], embedding.weights[point] = tets[best], weights[best]


def _coordinates(corners: Points, point: Points) -> Values:
    """(T, 4) barycentric coordinates of a point in tetrahedra with (T, 4, 3) corners."""
    edges = (corners[:, 1:] - corners[:, :1]).swapaxes(1, 2)
    last = np.linalg.solve(edges, (point - corners[:, 0])[:, :, None])[:, :, 0]
    return np.concatenate([1.0 - last.sum(axis=1, keepdims=True), last], axis=1)


def _spreads(embedding: Embedding, mesh: TetMesh, points: Points, edges: Edges) -> Values:
    """Return the (E,) spread κ of each edge (``kernels/held_pairs``): a strain of the tetrahedra
    changes the edge by at most κ times that strain of its length."""
    shape = len(edges), 2 * embedding.indices.shape[1]
    nodes = embedding.indices[edges].reshape(shape)
    shares = (embedding.weights[edges] * np.array([1.0, -1.0])[:, None]).reshape(shape)
    total, farthest = np.zeros(len(edges)), np.zeros(len(edges))
    corners, width = mesh.vertices[nodes], nodes.shape[1]
    for one in range(width):
        is_same = nodes == nodes[:, one, None]
        is_first = ~is_same[:, :one].any(axis=1)
        total += np.where(is_first, np.abs((shares * is_same).sum(axis=1)), 0.0)
        apart = np.linalg.norm(corners - corners[:, one, None], axis=2)
        farthest = np.maximum(farthest, apart.max(axis=1))
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    return np.asarray(0.5 * total * farthest / np.maximum(lengths, np.finfo(float).tiny))


# The offset beside a triangle in edge lengths, and the winding number of the inside.
SIDE_OFFSET_RATIO, INSIDE_WINDING = 1e-2, 0.5
# The width of a seam beside crossings, relative to the size of the surface.
SEAM_RATIO = 5e-4
# The distance that counts as a crossing, relative to that size: the rounding of meshes in single
# precision.
ROUNDING_RATIO = 1e-6
# The number of triangles that decide whether a piece of an open surface is inside.
SAMPLE_COUNT, MAJORITY_RATIO = 32, 0.5


def crosses_itself(surface: ContactSurface) -> bool:
    """Whether any triangles cross."""
    return bool((_nearest(surface, 0.0) == 0.0).any())


def without_crossings(surface: ContactSurface) -> ContactSurface:
    """The surface without the triangles that cross others, and those around them. The same object
    where nothing crosses.

    For the boundary of tetrahedra, since nearly empty ones protrude from parts that overlap at
    rest. If these only passed through their own body, they would be caught between other bodies.
    """
    while True:
        crossing = np.flatnonzero(_nearest(surface, 0.0) == 0.0)
        if len(crossing) == 0:
            return surface
        left = surface.triangles[~_around(surface.triangles, crossing)]
        surface = replace(surface, triangles=left)


def exempt_crossings(surface: ContactSurface) -> ContactSurface:
    """Return the surface in which parts that cross themselves, and pieces of the rest inside of
    the material, pass through their own body. The same object where nothing crosses.

    Parts that nearly cross do so, too: parts fold onto each other along their seams.
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
        outside = replace(surface, triangles=surface.triangles[left], through_own=None)
        pieces = _pieces(outside)
        # A few triangles of a piece, evenly taken, speak for it: nothing crosses it.
        order = np.argsort(pieces, kind="stable")
        counts = np.bincount(pieces)
        _, rank = expand(counts)
        few = order[rank % np.repeat(-(-counts // SAMPLE_COUNT), counts) == 0]
        is_inside = _are_inside(surface, outside.triangles[few])
        inside_ratio = np.bincount(pieces[few], is_inside) / np.bincount(pieces[few])
        through[left] = inside_ratio[pieces] > MAJORITY_RATIO
    return replace(surface, through_own=through | ~surface.self_collides)


def _pieces(surface: ContactSurface) -> NDArray[np.int32]:
    """(F,) the connected piece that each triangle belongs to, numbered from 0."""
    links = surface.triangles[:, [0, 1, 1, 2]].reshape(-1, 2)
    labels = components(len(surface.points), links)[surface.triangles[:, 0]]
    return np.unique(labels, return_inverse=True)[1]


def _are_inside(surface: ContactSurface, triangles: NDArray[np.int32]) -> NDArray[np.bool_]:
    """(F,) whether there is material on both sides of triangles, where the surface encloses it."""
    a, b, c = surface.points[triangles].swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    # Relative to the root of twice the area, about an edge.
    offset = SIDE_OFFSET_RATIO * normals / np.sqrt(np.linalg.norm(normals, axis=1, keepdims=True))
    centres = (a + b + c) / 3.0
    sides = np.concatenate([centres + offset, centres - offset])
    winding = np.abs(winding_number(sides, surface.points, surface.triangles)).reshape(2, -1)
    return (winding > INSIDE_WINDING).all(axis=0)


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
    """Return the (F,) distances of triangles with an area from others, in metres: 0 where they
    cross, infinite beyond a distance. Triangles with a common point count only if they cross."""
    points, triangles = surface.points, surface.triangles.astype(np.int32)
    valid = np.flatnonzero(have_area(points[triangles]))
    objects, through_own = np.zeros(len(points), dtype=np.int32), ~surface.self_collides[valid]
    whole = Surfaces(points, triangles[valid], objects, through_own=through_own)
    rounding = ROUNDING_RATIO * whole.size
    pairs = find_close(whole, max(distance, rounding))
    nearest = np.full(len(triangles), np.inf)
    np.minimum.at(nearest, valid[pairs.triangles], pairs.distances[:, None])
    nearest[nearest <= rounding] = 0.0
    nearest[valid[folded_triangles(points, whole.triangles, rounding)]] = 0.0
    return nearest


def _around(triangles: NDArray[np.int32], which: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(F,) whether triangles share a point with some of them."""
    return np.isin(triangles, triangles[which]).any(axis=1)


# Edges longer than these ratios of the tetrahedra's edges are split: between points that collide
# with the ground and spheres, of objects that carry others, and of collision surfaces. The surface
# is as straight between its points as the visible mesh, unless a mesh is too coarse to bend
# visibly.
MAX_SPACING_RATIO, MAX_BORNE_RATIO, MAX_EDGE_RATIO = 1.25, 1.75, 4.0
# A dense mesh has more faces than this, and more than this factor times those of the tetrahedra's
# boundary. A copy has at least half as many. More than the last in a whole scene cost more than a
# frame may.
MIN_DENSE_FACES, DENSE_FACE_RATIO, MAX_SCENE_FACES = 2000, 2, 40_000

Kind = Literal["mesh", "crossing", "copy", "tetrahedra"]

_TOUCHES: dict[Kind, str] = {
    "mesh": "collides as the visible mesh",
    "crossing": "collides as the visible mesh. Parts that intersect each other don't self-collide",
    "copy": "collides as a simpler copy of the mesh",
    "tetrahedra": "collides as the boundary of the tetrahedra",
}

Triangles = NDArray[np.int32]


@dataclass(frozen=True)
class Verdict:
    """The kind of surface in contact, and the reason for it.

    Args:
        kind: the visible mesh, without or with parts that intersect each other, a simpler copy of
            it, or the boundary of the tetrahedra.
        reason: for messages; empty for the mesh and for the choice of the user.
    """

    kind: Kind
    reason: str = ""

    def __str__(self) -> str:
        touches = _TOUCHES[self.kind]
        return f"{touches}, since {self.reason}" if self.reason else touches


def with_contact_surfaces(
    body: SoftBody, surface: ContactSurface, has_contact: bool, is_affordable: bool
) -> tuple[SoftBody, Verdict]:
    """The body with its contact surface, embedded in its tetrahedra.

    Args:
        body: with tetrahedra, made of a surface.
        surface: the visible mesh.
        has_contact: whether there is contact, not the ground and spheres alone.
        is_affordable: whether the mesh may touch where it is dense and no copy can.
    """
    mesh = body.mesh
    assert isinstance(mesh, TetMesh)
    if body.touching == "tetrahedra":
        return replace(body, contact_surface=None, seen_surface=None), Verdict("tetrahedra")
    edge = float(mesh.mean_edges.mean())
    coarse = refined(welded(surface), MAX_EDGE_RATIO * edge)
    borne = refined(coarse, MAX_BORNE_RATIO * edge)
    seen = _embedded(replace(refined(borne, MAX_SPACING_RATIO * edge), through_own=None), mesh)
    body = replace(body, seen_surface=seen)
    if not has_contact:
        return body, Verdict("mesh")
    if body.contact_surface is not None:
        embedded = _embedded(body.contact_surface, mesh)
        return replace(body, contact_surface=embedded), Verdict("mesh")
    # Their points are the same, some of them in no triangle.
    touching, borne = (
        replace(seen, triangles=part.triangles, through_own=part.through_own)
        for part in (coarse, borne)
    )
    if body.touching == "mesh":
        touching = _with_finer_triangles(touching, borne)
        return replace(body, contact_surface=touching), Verdict("mesh")
    chosen, verdict = _chosen(touching, mesh, is_affordable)
    if chosen is not None and verdict.kind != "copy":
        chosen = _with_finer_triangles(chosen, borne)
    return replace(body, contact_surface=chosen), verdict


def _chosen(
    touching: ContactSurface, mesh: TetMesh, is_affordable: bool
) -> tuple[ContactSurface | None, Verdict]:
    """Return the surface that collides in place of the mesh; None is the boundary of the
    tetrahedra."""
    faces = len(touching.triangles)
    if faces > max(MIN_DENSE_FACES, DENSE_FACE_RATIO * len(mesh.surface)):
        copy = _embedded(wrapped(touching, mesh), mesh)
        if len(copy.triangles) > 0 and not crosses_itself(copy):
            reason = f"the mesh is dense ({faces} faces)"
            return copy, Verdict("copy", reason)
        if not is_affordable:
            reason = "the mesh is dense and a simpler copy intersects itself"
            return None, Verdict("tetrahedra", reason)
    exempted = exempt_crossings(touching)
    return exempted, Verdict("mesh" if exempted is touching else "crossing")


def _with_finer_triangles(touching: ContactSurface, borne: ContactSurface) -> ContactSurface:
    """Add smaller triangles to the contact surface where its triangles are larger than the
    tetrahedra. They touch other objects: borne at the corners of the larger ones alone, the
    tetrahedra between these would sag.

    Args:
        borne: the smaller ones; has the same points, and as many triangles where none is larger.
    """
    large, small = touching.triangles, borne.triangles
    if len(large) == len(small):
        return touching
    both = np.sort(np.concatenate([large, small]), axis=1)
    number = np.unique(both, axis=0, return_inverse=True)[1].ravel()
    large_numbers, small_numbers = np.split(number, [len(large)])
    added = small[~np.isin(small_numbers, large_numbers)]
    return replace(
        touching,
        triangles=np.concatenate([large, added]),
        through_own=np.concatenate([~touching.self_collides, np.ones(len(added), dtype=bool)]),
        refined=np.concatenate(
            [~np.isin(large_numbers, small_numbers), np.zeros(len(added), dtype=bool)]
        ),
    )


def welded(surface: ContactSurface) -> ContactSurface:
    """The surface with one point at each place, and no triangle that is a line."""
    _, first, number = np.unique(surface.points, axis=0, return_index=True, return_inverse=True)
    # In the order of the surface, which rounding of its places does not change.
    order = np.argsort(first)
    anchors = surface.points[first[order]]
    triangles = np.argsort(order)[number.reshape(-1)][surface.triangles].astype(np.int32)
    a, b, c = triangles.T
    whole = np.flatnonzero((a != b) & (b != c) & (c != a))
    points, triangles = without_unreferenced(anchors, triangles[whole])
    through_own = None if surface.through_own is None else surface.through_own[whole]
    return ContactSurface(points, triangles.astype(np.int32), through_own=through_own)


def refined(surface: ContactSurface, longest: float) -> ContactSurface:
    """The same surface with edges of at most ``longest`` metres."""
    labels = ~surface.self_collides
    finer = refinement.refined(
        refinement.Triangulation(surface.points, surface.triangles, labels), longest
    )
    through_own = None if surface.through_own is None else finer.labels
    return ContactSurface(finer.points, finer.triangles, through_own=through_own)


def wrapped(surface: ContactSurface, mesh: TetMesh) -> ContactSurface:
    """A simpler surface around another one: the boundary of the tetrahedra, split where that has
    few faces, its vertices where the surface is closest, and so far outside of it that none of its
    points is left outside."""
    used, triangles = compact_indices(mesh.surface)
    copy = ContactSurface(mesh.vertices[used], triangles.astype(np.int32))
    longest = float(mesh.mean_edges.mean())
    while len(copy.triangles) < MIN_DENSE_FACES / 2:
        longest *= 0.7
        copy = refined(copy, longest)
    # It loads scipy.spatial, which takes a moment that most scenes need not wait.
    from scipy.spatial import cKDTree

    # The surface is dense: the closest of its points does.
    _, closest = cKDTree(surface.points).query(copy.points)
    anchors = surface.points[closest]
    normals = outward_normals(surface.points, surface.points, surface.triangles)
    near, weights = closest_among_near(surface.points, anchors, copy.triangles)
    corners = copy.triangles[near]
    on_copy = np.einsum("pk,pki->pi", weights, anchors[corners])
    beyond = np.einsum("pi,pi->p", surface.points - on_copy, normals)
    farthest = np.zeros(len(anchors))
    np.maximum.at(farthest, corners, np.maximum(beyond, 0.0)[:, None])
    outside = anchors + farthest[:, None] * normals[closest]
    return welded(ContactSurface(outside, copy.triangles))


def _embedded(surface: ContactSurface, mesh: TetMesh) -> ContactSurface:
    if surface.embedding is not None:
        return surface
    sides = surface.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    embedding = embed(mesh, surface.points)
    whole = without_torn_edges(embedding, mesh, surface.points, numbered_pairs(sides)[0])
    return replace(surface, embedding=whole)
