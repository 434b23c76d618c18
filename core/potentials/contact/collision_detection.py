# SPDX-License-Identifier: GPL-3.0-or-later
"""Collision detection: pairs of primitives that may come close on linear trajectories, from a
search or cached from the one before, and how far they may go."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compiled import use_threads
from ...geometry.groups import components
from ...kernels.broad_phase import (
    STALE,
    UNCHANGED,
    Leaves,
    Parts,
    Trajectories,
    Trees,
    box_moves,
    box_nodes,
    box_parts,
    build_tree,
    classify_leaves,
    collect,
    edge_edge_candidates,
    face_vertex_candidates,
    find_among,
    find_near_edges,
    find_near_faces,
    leaf_pairs,
    mark_nodes,
    mean_leaf_motions,
    merged,
    sweep_nodes,
    tree_pairs,
)
from ...kernels.continuous_collision import (
    CandidateStencils,
    distances,
    step_sizes,
    vertex_min_distances,
)
from ...kernels.rest_distance import SEARCH_RADIUS_RATIO, activation_distances
from .surface import CollisionSurface, Points, Values

IndexPairs = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Sorted by their columns from the first to the last, each pair once.

    Args:
        edge_edges: (E, 2) edges of the surface's mesh, the lower index first.
        face_vertices: (F, 2) a face and a vertex.
    """

    edge_edges: IndexPairs
    face_vertices: IndexPairs

    @staticmethod
    def none() -> Candidates:
        nothing = np.empty((0, 2), dtype=np.int32)
        return Candidates(nothing, nothing)

    def stencils(self, edges: IndexPairs, triangles: NDArray[np.int32]) -> CandidateStencils:
        """Return the stencils on a surface with (E, 2) edges and (F, 3) triangles, for the
        kernels."""
        return CandidateStencils(self.edge_edges, self.face_vertices, edges, triangles)

    def places_among(self, known: Candidates) -> NDArray[np.int64]:
        """(K,) the place of each pair among known ones; −1 where it is none of them."""
        places, edges = np.empty(len(self), dtype=np.int64), len(self.edge_edges)
        find_among(self.edge_edges, known.edge_edges, 0, places[:edges])
        start = len(known.edge_edges)
        find_among(self.face_vertices, known.face_vertices, start, places[edges:])
        return places

    def merged(self, others: Candidates) -> Candidates:
        """With those that are only among others."""
        return Candidates(
            merged(self.edge_edges, others.edge_edges),
            merged(self.face_vertices, others.face_vertices),
        )

    def __len__(self) -> int:
        return len(self.edge_edges) + len(self.face_vertices)


def pair_keys(pairs: IndexPairs) -> NDArray[np.int64]:
    """Return the (P,) keys of (P, 2) indices, in the order of pairs."""
    return (pairs[:, 0].astype(np.int64) << 32) + pairs[:, 1]


# The least work of a thread: boxes of primitives, and pairs of leaves or of primitives.
BOXES_PER_THREAD, PAIRS_PER_THREAD = 10_000, 1_000
# The sagittas of linear trajectories.
NO_SAGITTAS: Points = np.empty((0, 3))
# The chunks of the work that threads share, and the pairs that each has capacity for at first.
CHUNKS, INITIAL_CAPACITY = 64, 256


@dataclass(frozen=True, eq=False)
class Sweep:
    """Boxes around trajectories.

    Args:
        trajectories: of vertices.
        motions: (T, 3) mean motion of each tree, in metres.
        leaf_motions: (N, 3) that of each node that is a leaf.
        edges, faces, vertices: with their boxes, swept without the motion of their leaves.
        leaf_boxes: (N, 6) of leaves, swept likewise.
        boxes: (N, 6) of nodes, swept without the motion of their trees.
        leaves: (K, 3) pairs of leaves whose boxes overlap, and the row of ``trees`` of each.
        trees: (P, 2) pairs of trees whose boxes overlap.
        shifts: (P, 5) of these, as ``Leaves`` has them.
    """

    trajectories: Trajectories
    motions: Points
    leaf_motions: Points
    edges: Parts
    faces: Parts
    vertices: Parts
    leaf_boxes: Points
    boxes: Points
    leaves: IndexPairs
    trees: IndexPairs
    shifts: Points


class BroadPhase:
    """Trees of boxes, one over the triangles of each connected piece of a surface, made once.

    The boxes are refitted each time; which triangles lie together does not change, and so one
    vertex that goes far widens but the boxes above it. Each edge and each vertex belongs to one of
    its triangles (Curtis, Tamstorf and Manocha, "Fast collision detection for deformable models
    using representative-triangles", 2008), so that one tree finds all pairs, each once.

    Args:
        points: (V, 3) where the surface was made, in metres.
        edges: (E, 2) vertices.
        triangles: (F, 3) vertices; a vertex without a triangle collides with nothing.
        group_of: (V,) the group of each vertex and all vertices connected to it.
        can_collide: (G, G) whether two groups may collide; on the diagonal, a group with itself.
        extras: (G, G) additional search distances of two groups, in metres; None is zero.
        rest_dhats: (G, G) at which groups push, in metres, where parts that are near at ``points``
            do from nearer, else zero; None is nowhere.
        exempt, bits: (V,) and (G, G) masks of parts that pass through other groups, as in
            ``Trajectories``.
    """

    def __init__(
        self,
        points: Points,
        edges: IndexPairs,
        triangles: IndexPairs,
        group_of: NDArray[np.intp],
        can_collide: NDArray[np.bool_],
        extras: NDArray[np.float64] | None = None,
        rest_dhats: NDArray[np.float64] | None = None,
        exempt: NDArray[np.int64] | None = None,
        bits: NDArray[np.int64] | None = None,
    ) -> None:
        self._edges = np.ascontiguousarray(edges, dtype=np.int32)
        self._triangles = np.ascontiguousarray(triangles, dtype=np.int32)
        self._can_collide = np.ascontiguousarray(can_collide)
        self._capacities = [INITIAL_CAPACITY, INITIAL_CAPACITY]
        pieces = components(len(points), self._edges)[self._triangles[:, 0]]
        firsts, tree_of_face = np.unique(pieces, return_index=True, return_inverse=True)[1:]
        tree_of = np.zeros(len(points), dtype=np.int32)
        tree_of[self._triangles] = tree_of_face[:, None]
        extras = np.zeros(can_collide.shape) if extras is None else np.ascontiguousarray(extras)
        groups = group_of[self._triangles[firsts, 0]].astype(np.int32)
        #: The tree of each vertex.
        self.trees = Trees(tree_of, groups, extras, float(extras.max(initial=0.0)))
        points = np.ascontiguousarray(points, dtype=np.float64)
        shape = can_collide.shape
        self._rest_dhats = np.zeros(shape) if rest_dhats is None else rest_dhats
        self._pair_data = (
            *(points, np.ascontiguousarray(group_of, dtype=np.int32), self._rest_dhats),
            np.zeros(len(points), dtype=np.int64) if exempt is None else exempt,
            np.zeros(shape, dtype=np.int64) if bits is None else bits,
        )
        self._vertex_counts = np.bincount(tree_of, minlength=len(firsts))
        self._build_trees(points[self._triangles].mean(axis=1), tree_of_face)
        own_edges = _owned(_edges_of(self._triangles, self._edges))
        edges, edge_ranges = self._in_leaves(own_edges)
        vertices, vertex_ranges = self._in_leaves(_owned(self._triangles))
        #: (F, 3) triangles in the order of leaves.
        self.faces = self._triangles[self._order]
        self._parts = (
            (edges, self._edges[edges], self._leaf_of(edge_ranges), edge_ranges),
            (self._order, self.faces, self._leaf_of(self.ranges), self.ranges),
            (vertices, vertices[:, None], self._leaf_of(vertex_ranges), vertex_ranges),
        )
        self._rest_boxes = np.empty((len(self.ends), 6))
        corners = points[self.faces]
        face_boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
        box_nodes(self.ends, self.ranges, face_boxes, self._rest_boxes)

    def among_groups(self, can_collide: NDArray[np.bool_]) -> BroadPhase:
        """Return the same trees for other pairs of colliding groups, (G, G)."""
        other = copy(self)
        other._can_collide = np.ascontiguousarray(can_collide)
        other._capacities = [INITIAL_CAPACITY, INITIAL_CAPACITY]
        return other

    def _in_leaves(self, owned: IndexPairs) -> tuple[IndexPairs, IndexPairs]:
        """Return indices owned by (F, 3) triangles, in the order of leaves, and the (N, 2) range
        of each node."""
        owned = owned[self._order]
        offsets = np.concatenate([[0], np.cumsum((owned >= 0).sum(axis=1))]).astype(np.int32)
        return owned[owned >= 0], offsets[self.ranges]

    def _leaf_of(self, ranges: IndexPairs) -> NDArray[np.int32]:
        """Return the (P,) leaf of each part, by the (N, 2) range of each node."""
        return np.repeat(self.leaves, np.diff(ranges[self.leaves], axis=1)[:, 0])

    def _build_trees(self, centres: Points, tree_of_face: NDArray[np.intp]) -> None:
        """Makes one tree after the other of (F, 3) centres of triangles."""
        orders = np.split(
            np.argsort(tree_of_face, kind="stable").astype(np.int32),
            np.cumsum(np.bincount(tree_of_face))[:-1],
        )
        roots, ends, ranges = [], [], []
        nodes = faces = 0
        for order in orders:
            own_ends, own_ranges = build_tree(centres, order)
            roots.append(nodes)
            ends.append(own_ends + nodes)
            ranges.append(own_ranges + faces)
            nodes, faces = nodes + len(own_ends), faces + len(order)
        self._roots = np.array(roots, dtype=np.int32)
        self._tree_of_node = np.repeat(
            np.arange(len(ends), dtype=np.int32), [len(tree_ends) for tree_ends in ends]
        )
        #: (N,) node after the last one below each.
        self.ends = np.concatenate(ends).astype(np.int32)
        #: (L,) nodes that are leaves.
        self.leaves = np.flatnonzero(self.ends == np.arange(nodes) + 1).astype(np.int32)
        #: (N, 2) triangles of each node, in the order of leaves.
        self.ranges = np.concatenate(ranges).astype(np.int32)
        self._order = np.concatenate(orders)

    def candidates(
        self,
        before: Points,
        after: Points,
        radii: NDArray[np.float64],
        ratio: float = 1.0,
        sagittas: Points = NO_SAGITTAS,
    ) -> Candidates:
        """All pairs that come within the sum of their radii on their trajectories, and few others.

        Args:
            before, after: (V, 3) between which every vertex moves, in metres.
            radii: (V,) in metres; that of an edge or a triangle is the largest of its corners.
            ratio: the factor on the search distances ``extras``.
            sagittas: (V, 3) of parabolas on which they move, in metres; (0, 3) for lines.
        """
        swept = self.sweep(before, after, radii, ratio, sagittas=sagittas)
        return self.among(swept, swept.leaves)

    def sweep(
        self,
        before: Points,
        after: Points,
        radii: NDArray[np.float64],
        ratio: float = 1.0,
        queried: NDArray[np.bool_] | None = None,
        sagittas: Points = NO_SAGITTAS,
    ) -> Sweep:
        """Boxes around trajectories, and which leaves' overlap.

        Args:
            before, after, radii, ratio, sagittas: as of ``candidates``.
            queried: (V,) mask of vertices; a pair has to contain one; None for all.
        """
        everything = np.ones(len(before), dtype=bool)
        queried = everything if queried is None else queried
        trajectories = Trajectories(
            *(np.ascontiguousarray(before), np.ascontiguousarray(after), radii, sagittas),
            *(queried, self._nodes_with(queried), *self._pair_data),
        )
        motions = self._mean_motions(trajectories.after - trajectories.before)
        leaf_motions = np.zeros((len(self.ends), 3))
        mean_leaf_motions(self.ends, self.ranges, self.faces, *trajectories[:2], leaf_motions)
        parts = [
            Parts(indices, corners, leaves, ranges, np.empty((len(corners), 6)))
            for indices, corners, leaves, ranges in self._parts
        ]
        moving = motions, leaf_motions
        return self._fit(trajectories, everything, moving, parts, ratio)

    def sweep_moved(
        self, swept: Sweep, moved: NDArray[np.bool_], before: Points, after: Points, radii: Any
    ) -> Sweep:
        """Return a sweep in which some vertices have new trajectories, with only the leaves of
        these vertices.

        Args:
            swept: the sweep; its boxes are refitted in place.
            moved: (V,) which vertices.
            before, after, radii: of all vertices.
        """
        nodes = self._nodes_with(moved)
        vertices = before, after, radii, NO_SAGITTAS
        trajectories = Trajectories(*vertices, moved, nodes, *self._pair_data)
        parts = [swept.edges, swept.faces, swept.vertices]
        return self._fit(trajectories, moved, (swept.motions, swept.leaf_motions), parts)

    def around(self, swept: Sweep, queried: NDArray[np.bool_]) -> Sweep:
        """The same sweep with the leaves alone where one of (V,) queried vertices is."""
        nodes = self._nodes_with(queried)
        trajectories = swept.trajectories._replace(is_queried=queried, queried_nodes=nodes)
        boxes = swept.boxes, swept.leaf_boxes, swept.leaf_motions
        leaves = self._leaf_pairs(boxes, nodes, swept.trees, swept.shifts)
        return replace(swept, trajectories=trajectories, leaves=leaves)

    def _nodes_with(self, vertices: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(N,) whether any of (V,) vertices is below each node."""
        nodes = np.ones(len(self.ends), dtype=bool)
        if not vertices.all():
            mark_nodes(self.ends, self.ranges, self.faces, vertices, nodes)
        return nodes

    def _leaf_pairs(
        self,
        boxes: tuple[Points, Points, Points],
        queried_nodes: NDArray[np.bool_],
        trees: IndexPairs,
        shifts: Points,
    ) -> IndexPairs:
        nodes = self._rest_boxes, self.ends, queried_nodes, self._roots
        return leaf_pairs(*boxes, *nodes, trees, shifts)

    def _fit(
        self,
        trajectories: Trajectories,
        moved: NDArray[np.bool_],
        moving: tuple[Points, Points],
        parts: list[Parts],
        ratio: float = 1.0,
    ) -> Sweep:
        """Fit the boxes of (V,) vertices that moved, and of nodes; find the leaves that overlap.

        Args:
            moving: mean motions of trees and of leaves.
        """
        before, after, radii, sagittas = trajectories[:4]
        if len(sagittas) > 0:
            radii = radii + np.linalg.norm(sagittas, axis=1)
        use_threads(len(moved), BOXES_PER_THREAD)
        motions, leaf_motions = moving
        for part in parts:
            box_parts(part, moved, before, after, leaf_motions, radii)
        edges, faces, vertices = parts
        leaf_boxes, boxes = np.empty((2, len(self.ends), 6))
        box_nodes(self.ends, self.ranges, faces.boxes, leaf_boxes)
        sweep_nodes(self.ends, leaf_boxes, leaf_motions - motions[self._tree_of_node], boxes)
        least = boxes[self._roots, 0] + np.minimum(motions[:, 0], 0.0)
        root_order = np.argsort(least, kind="stable").astype(np.int32)
        meeting = self.trees, self._can_collide, ratio
        trees = tree_pairs(boxes, motions, self._roots, *meeting, root_order)
        first, second = trees.T
        shifts = np.empty((len(trees), 5))
        shifts[:, :3] = motions[first] - motions[second]
        groups, extras = self.trees.groups, self.trees.extras
        shifts[:, 3] = ratio * extras[groups[first], groups[second]]
        shifts[:, 4] = self._rest_dhats[groups[first], groups[second]]
        nodes = boxes, leaf_boxes, leaf_motions
        leaves = self._leaf_pairs(nodes, trajectories.queried_nodes, trees, shifts)
        return Sweep(
            trajectories, *moving, edges, faces, vertices, leaf_boxes, boxes, leaves, trees, shifts
        )

    def among(self, swept: Sweep, leaves: IndexPairs) -> Candidates:
        """The candidates in some of the leaves that overlap."""
        use_threads(len(leaves), PAIRS_PER_THREAD)
        boxes = swept.leaf_boxes, swept.leaf_motions, self._rest_boxes
        where = Leaves(leaves, swept.shifts, *boxes)
        edges = self._collect(0, edge_edge_candidates, where, swept.edges, swept.trajectories)
        parts = swept.faces, swept.vertices
        faces = self._collect(1, face_vertex_candidates, where, *parts, swept.trajectories)
        return Candidates(sorted_pairs(edges), sorted_pairs(faces))

    def _mean_motions(self, displacements: Points) -> Points:
        """Return the (T, 3) mean motion of the vertices of each tree."""
        sums = [
            np.bincount(self.trees.of, component, len(self._roots)) for component in displacements.T
        ]
        return np.stack(sums, axis=1) / self._vertex_counts[:, None]

    def _collect(self, kind: int, near: Callable[..., None], *arguments: Any) -> IndexPairs:
        """The pairs that a kernel finds, once there is capacity for all."""
        counts = np.empty(CHUNKS, dtype=np.int64)
        while True:
            chunks = np.empty((CHUNKS, self._capacities[kind], 2), dtype=np.int32)
            near(*arguments, chunks, counts)
            most = int(counts.max())
            if most <= self._capacities[kind]:
                pairs = np.empty((int(counts.sum()), 2), dtype=np.int32)
                collect(chunks, counts, pairs)
                return pairs
            self._capacities[kind] = 2 * most


def _edges_of(triangles: IndexPairs, edges: IndexPairs) -> IndexPairs:
    """(F, 3) the edges of triangles."""
    keys = pair_keys(np.sort(edges, axis=1))
    order = np.argsort(keys)
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    places = np.searchsorted(keys, pair_keys(sides), sorter=order)
    return order[places].reshape(-1, 3).astype(np.int32)


def _owned(parts: IndexPairs) -> IndexPairs:
    """Return the (F, 3) parts of triangles that no earlier triangle has; −1 in place of others."""
    owned = np.full(parts.size, -1, dtype=np.int32)
    values, firsts = np.unique(parts, return_index=True)
    owned[firsts] = values
    return owned.reshape(parts.shape)


def sorted_pairs(pairs: IndexPairs) -> IndexPairs:
    """Pairs by their first index, then by their second, each once."""
    keys = np.unique(pair_keys(pairs))
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


# The extra search distance of cached pairs, in mean edge lengths at a vertex.
MARGIN_RATIO = 0.1
# The cache is updated once the stale pairs of leaves add up to this many searches of all leaves.
MAX_STALENESS = 1.0
# The allowance for rounding, in units of the rounding of the largest coordinate.
ROUNDINGS = 64.0


class CachedPairs:
    """Find exactly the candidates of ``BroadPhase.candidates``, mostly sooner.

    The cache holds the pairs that are near at one place, with a margin. Two leaves have no other
    pair that comes near as long as their corners move alike to within that margin, since then and
    along the trajectory. All other leaves are searched again.

    Args:
        broad_phase: of a surface.
        radii: (V,) around points within which pairs have to be found, in metres.
        edge_lengths: (V,) mean of the edges at each vertex, in metres.
    """

    def __init__(self, broad_phase: BroadPhase, radii: Values, edge_lengths: Values) -> None:
        self._broad_phase, self._radii = broad_phase, radii
        self._margins = MARGIN_RATIO * edge_lengths
        self._leaf_margins = least_of_leaves(self._margins, broad_phase)
        # The positions at which the cached pairs were found, and the pairs by their place in the
        # order of leaves.
        self._origins: Points | None = None
        self._edges = self._faces = Candidates.none().edge_edges
        # The searches of stale leaves since the last update, in searches of all leaves.
        self._staleness = 0.0

    def candidates(self, before: Points, after: Points) -> Candidates:
        """Return the candidates on linear trajectories between two (V, 3) positions."""
        swept = self._broad_phase.sweep(before, after, self._radii)
        leaves = swept.leaves
        if len(leaves) == 0:
            return Candidates.none()
        verdicts = self._classify(swept)
        self._staleness += float((verdicts == STALE).mean())
        if self._staleness > MAX_STALENESS:
            self._update_cache(swept)
            verdicts[verdicts == STALE] = UNCHANGED
        uncached = self._broad_phase.among(swept, leaves[verdicts != UNCHANGED])
        if not (verdicts == UNCHANGED).any():
            return uncached
        edges, faces = self._cached_candidates(swept)
        return Candidates(
            sorted_pairs(np.concatenate([uncached.edge_edges, edges])),
            sorted_pairs(np.concatenate([uncached.face_vertices, faces])),
        )

    def _classify(self, swept: Sweep) -> NDArray[np.int64]:
        """Return for (K,) pairs of leaves whether their cached pairs are complete, as the kernel
        does."""
        ends, faces = self._broad_phase.ends, swept.faces
        before, after = swept.trajectories.before, swept.trajectories.after
        origins = before if self._origins is None else self._origins
        moves, verdicts = np.empty((len(ends), 12)), np.empty(len(swept.leaves), dtype=np.int64)
        use_threads(len(origins), BOXES_PER_THREAD)
        box_moves(ends, faces.ranges, faces.corners, origins, before, after, moves)
        size = max(abs(points).max() for points in (origins, before, after))
        rounding = ROUNDINGS * np.finfo(np.float64).eps * size
        classify_leaves(swept.leaves, moves, self._leaf_margins, rounding, verdicts)
        if self._origins is None:
            verdicts[verdicts == UNCHANGED] = STALE
        return verdicts

    def _update_cache(self, swept: Sweep) -> None:
        """Find the pairs to cache, at the start of trajectories."""
        points = swept.trajectories.before.copy()
        candidates = self._broad_phase.candidates(points, points, self._radii + self._margins)
        edges, faces, vertices = (
            _places(parts.indices) for parts in (swept.edges, swept.faces, swept.vertices)
        )
        # The order of a search.
        self._edges = np.sort(edges[candidates.edge_edges], axis=1)
        own_faces, own_vertices = candidates.face_vertices.T
        self._faces = np.column_stack([faces[own_faces], vertices[own_vertices]])
        self._origins, self._staleness = points, 0.0

    def _cached_candidates(self, swept: Sweep) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the cached pairs that are candidates."""
        faces = swept.faces
        near = np.empty(len(self._edges), dtype=bool), np.empty(len(self._faces), dtype=bool)
        motion = self._broad_phase.trees, swept.leaf_motions, swept.trajectories
        use_threads(len(self._edges) + len(self._faces), PAIRS_PER_THREAD)
        find_near_edges(self._edges, swept.edges, *motion, near[0])
        find_near_faces(self._faces, faces, swept.vertices, *motion, near[1])
        edges = np.sort(swept.edges.indices[self._edges[near[0]]], axis=1)
        pairs = self._faces[near[1]]
        return edges, np.column_stack(
            [faces.indices[pairs[:, 0]], swept.vertices.indices[pairs[:, 1]]]
        )


def least_of_leaves(values: Values, broad_phase: BroadPhase) -> Values:
    """Return for each node (N,) that is a leaf the least of (V,) values at its corners; zero for
    other nodes."""
    leaves, least = broad_phase.leaves, np.zeros(len(broad_phase.ends))
    starts = broad_phase.ranges[leaves, 0]
    least[leaves] = np.minimum.reduceat(values[broad_phase.faces].min(axis=1), starts)
    return least


def _places(indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the place of each index in a list."""
    places = np.zeros(int(indices.max(initial=-1)) + 1, dtype=np.int32)
    places[indices] = np.arange(len(indices), dtype=np.int32)
    return places


# No step brings primitives closer than this ratio of the activation distance, at which the barrier
# exceeds the strength of any body a thousandfold, nor than this many roundings of positions.
MIN_DISTANCE_RATIO, MIN_DISTANCE_ROUNDINGS = 1e-7, 64.0
# Pairs that make a thread worth its while.
COLLISION_PAIRS_PER_THREAD = 2_000


class Detection:
    """Build candidates once for a whole trajectory, and find close pairs among them.

    Args:
        surface: the collision surface.
        distances: (O, O) d̂ of every two objects, in metres, at which they begin to push.
    """

    def __init__(self, surface: CollisionSurface, distances: Values) -> None:
        self._distances, self._object_of = distances, surface.object_of
        self._triangles = surface.triangles
        radii = _search_radii(distances, surface)
        extras = np.where(surface.can_collide, distances - radii[:, None] - radii, 0.0)
        #: Finds candidates.
        self.broad_phase = BroadPhase(
            *(surface.rest, surface.edges, surface.triangles, surface.group_of),
            surface.group_collisions(surface.can_collide),
            SEARCH_RADIUS_RATIO * np.tile(extras, (2, 2)),
            np.tile(np.where(surface.are_joined, distances, 0.0), (2, 2)),
            *(surface.exempt, np.tile(surface.exempt_bits, (2, 2))),
        )
        #: (V,) search radius around each vertex, in metres; of two objects there may be more.
        self.radii = SEARCH_RADIUS_RATIO * radii[surface.object_of]
        self._cached_pairs = CachedPairs(self.broad_phase, self.radii, surface.edge_lengths)
        #: The swept candidates that were built last.
        self.candidates = Candidates.none()
        self._edges = surface.edges

    def build_swept_candidates(self, before: Points, after: Points) -> None:
        """Builds candidates for linear trajectories between two (V, 3) positions."""
        self.candidates = self._cached_pairs.candidates(before, after)

    def collision_free_step_size(
        self, before: Points, after: Points, min_separation: float = 0.0, rounding: float = 0.0
    ) -> float:
        """The share of the trajectory swept last before anything collides, or comes closer than
        ``min_separation`` metres.

        Args:
            rounding: of positions on it, in metres.
        """
        min_distances = np.maximum(
            MIN_DISTANCE_RATIO * self._distances,
            max(min_separation, MIN_DISTANCE_ROUNDINGS * rounding),
        )
        least = np.ones(CHUNKS)
        use_threads(len(self.candidates), COLLISION_PAIRS_PER_THREAD)
        ends = np.ascontiguousarray(before), np.ascontiguousarray(after)
        step_sizes(self._stencils, *ends, self._object_of, min_distances, least)
        return float(least.min())

    def vertex_distances(self, points: Points) -> Points:
        """(V,) the least distance, in metres, among the candidates that each vertex is a corner of;
        infinite where there are none."""
        pair_distances, least_distances = (
            np.empty(len(self.candidates)),
            np.full(len(points), math.inf),
        )
        use_threads(len(pair_distances), COLLISION_PAIRS_PER_THREAD)
        distances(self._stencils, np.ascontiguousarray(points), pair_distances)
        vertex_min_distances(self._stencils, pair_distances, least_distances)
        return least_distances

    @property
    def _stencils(self) -> CandidateStencils:
        return self.candidates.stencils(self._edges, self._triangles)


def _search_radii(distances: Values, surface: CollisionSurface) -> Values:
    """Return the (O,) search radii in metres, half of the least d̂ of an object: a fine mesh,
    which touches itself from nearer than others, is full of pairs within theirs."""
    least = np.where(surface.can_collide, distances, np.inf).min(axis=1)
    return 0.5 * np.where(np.isfinite(least), least, 0.0)


def pair_distances(candidates: Candidates, surface: CollisionSurface, distances: Values) -> Values:
    """(P,) d̂ of candidate pairs, in metres: that of their objects, and at most a quarter of the
    distance at rest where they are parts of one.

    Args:
        surface: that they are on.
        distances: (O, O) of every two objects.
    """
    dhats = np.empty(len(candidates))
    use_threads(len(dhats), COLLISION_PAIRS_PER_THREAD)
    activation_distances(
        candidates.stencils(surface.edges, surface.triangles),
        *(surface.rest, surface.topology.object_of, distances),
        *(surface.are_joined, dhats),
    )
    return dhats
