# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves of nodes, made as far as surfaces stay apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import use_threads
from ...kernels.contact_constraints import GroundLaws, Interpolation, carry
from ...kernels.division import (
    divide,
    find_collisions,
    find_near,
    limit_falls,
    push_apart,
    push_up,
    reaches,
)
from ...kernels.flat_tets import FlatTets, PressedTets, find_inverted, stop_inverted
from ..height_floor import FLOOR_RATIO as MIN_HEIGHT_RATIO
from .collision_detection import Candidates, pair_distances
from .persistent_candidates import POINTS_PER_THREAD, PersistentCandidates, lengths
from .surface import CollisionSurface, Points, Values

# Rounds in which pairs that collide are pushed apart before planes divide them, and sweeps of each.
PUSH_ROUNDS, PUSH_SWEEPS = 3, 4
# Surfaces come no closer than this ratio of d̂: a pair that is closer may slide and open.
FLOOR_RATIO = 1e-3
PAIRS_PER_THREAD = 2_000
# The most rounds of divisions: nodes that stop earlier may block others, which a new round finds.
# At last all are that may come close to anything.
MAX_DIVISIONS = 9
# The ratio of its volume that a tet keeps in a move, and the halvings of its corners' step sizes
# before they are zero.
LEAST_VOLUME_RATIO, MAX_HALVINGS = 0.1, 4
# A length of practically zero, in metres.
TINY_LENGTH = 1e-300


class Truncation(NamedTuple):
    """A move of N nodes and V points of their surface.

    Args:
        nodes, points: (N, 3) and (V, 3) where those are after it, in metres.
        step_sizes: (N,) of its move each node has made, between 0 and 1; None for all of it.
        is_free: whether no surfaces blocked each other, and nothing stopped.
        objects: the pairs of objects with colliding surfaces; bodies come first.
    """

    nodes: Points
    points: Points
    step_sizes: Values | None
    is_free: bool
    objects: set[tuple[int, int]]


class TruncatedMotion:
    """Makes moves of nodes as far as surfaces stay apart.

    Pairs that would collide are pushed apart by impulses. Pairs that still collide then, because
    they are prescribed or strongly pressed, are divided by planes, and each node goes as far as
    its planes allow. Nothing is repeated, and nodes elsewhere are not affected.

    Args:
        surface: the surface that collides.
        distances: (O, O) d̂ of every two of its objects, in metres.
        candidates: of it.
        points_of: its points, by nodes.
        ground: the points that the ground holds up, and how; None without one.
        owners: (N,) the node whose step size each node has; prescribed objects move as a whole.
        tets: that keep a part of their volume; free ones alone do.
    """

    def __init__(
        self,
        surface: CollisionSurface,
        distances: Values,
        candidates: PersistentCandidates,
        points_of: Interpolation,
        ground: tuple[Interpolation, GroundLaws] | None,
        owners: NDArray[np.int64],
        tets: Sequence[PressedTets] = (),
    ) -> None:
        self._surface, self._distances = surface, distances
        self._candidates, self._points_of = candidates, points_of
        self._ground, self._owners, self._tets = ground, owners, tets
        self._dhats_of = Candidates.none(), np.empty(0)
        self._floors_of = np.empty(0), math.nan, np.empty(0)
        #: The work of pins and colliders by the impulses of the last moves, in joules.
        self.work = 0.0
        #: Pairs of objects with divided pairs of primitives; for others to empty.
        self.divided_objects: set[tuple[int, int]] = set()

    def forget_candidates(self) -> None:
        """Says that nodes are elsewhere than their last moves led."""
        self._candidates.begin(np.zeros((len(self._points_of.nodes), 3)))

    @property
    def dhats(self) -> Values:
        """Return the (P,) activation distances of the present candidates, in metres."""
        candidates = self._candidates.candidates
        if self._dhats_of[0] is not candidates:
            dhats = pair_distances(candidates, self._surface, self._distances)
            self._dhats_of = candidates, dhats
        return self._dhats_of[1]

    def carried(self, points: Points, moves: Points) -> Points:
        """(V, 3) points of the surface, once (N, 3) moves of nodes have carried them along."""
        out = np.empty_like(points)
        use_threads(len(out), POINTS_PER_THREAD)
        carry(self._points_of, points, moves, out)
        return out

    def advance(
        self,
        nodes: Points,
        points: Points,
        moves: Points,
        mobility: Values,
        least: float,
        step: float,
        flat: tuple[FlatTets, int],
        longest: float,
        displacements: Points,
        is_hindered: bool = False,
    ) -> Truncation:
        """Moves nodes and points.

        Args:
            nodes, points: (N, 3) and (V, 3) where they are, in metres.
            moves: (N, 3) of nodes; changed where they are pushed apart.
            mobility: (N,) in metres a newton over the step; zero for prescribed nodes.
            least: the distance that rounding can resolve, in metres.
            step: in seconds.
            flat: tets that may be pressed flat, and how many those are.
            longest: the largest length of moves after a collision, in metres.
            displacements: (N, 3) of nodes in the step so far, in metres.
            is_hindered: as of ``PersistentCandidates.cover``.
        """
        candidates, objects, is_free = self._candidates, set[tuple[int, int]](), True
        self.work, whole_moves = 0.0, displacements + moves
        for pushes in range(PUSH_ROUNDS + 1):
            after = self.carried(points, moves)
            # A point that was pushed has left its path, and another one may follow it closely.
            candidates.cover(points, after, step, is_hindered)
            collides, distances = self._find_collisions(points, after, least)
            falls = self._push_up(nodes, mobility, least, moves, only_finds=pushes == PUSH_ROUNDS)
            rows = np.flatnonzero(collides)
            if not (falls or len(rows)):
                ends = nodes + moves
                if self._any_turned(nodes, ends, mobility):
                    break
                candidates.distances = distances
                return Truncation(ends, after, None, is_free, objects)
            is_free = is_free and not len(rows)
            objects |= self._objects_of(rows)
            if pushes == 0:
                candidates.blocked += collides
                _limit(moves, longest)
            # Flat tets push nodes down again that the ground has pushed up, so they only respond
            # to pairs.
            if pushes < PUSH_ROUNDS and len(rows):
                stencils = candidates.stencils
                arguments = (self._points_of, self._floors(least), mobility, whole_moves)
                tets = (*flat, MIN_HEIGHT_RATIO, PUSH_SWEEPS)
                self.work += float(push_apart(rows, stencils, points, *arguments, *tets, moves))
                _limit(moves, longest)
        step_sizes, divided = self._divide(nodes, points, moves, mobility, least)
        moves = step_sizes[:, None] * moves
        after = self.carried(points, moves)
        candidates.distances = self._find_collisions(points, after, least)[1]
        return Truncation(nodes + moves, after, step_sizes, False, objects | divided)

    def _floors(self, least: float) -> Values:
        """Return the (P,) least distances of the present candidates, in metres."""
        dhats = self.dhats
        if self._floors_of[0] is not dhats or self._floors_of[1] != least:
            self._floors_of = dhats, least, np.maximum(FLOOR_RATIO * dhats, least)
        return self._floors_of[2]

    def _find_collisions(
        self, points: Points, after: Points, least: float
    ) -> tuple[NDArray[np.bool_], Values]:
        """(P,) whether candidates collide, and a lower bound of their distances after a move."""
        stencils, before = self._candidates.stencils, self._candidates.distances
        collides, distances = np.empty(len(before), dtype=np.bool_), np.empty(len(before))
        floors = self._floors(least)
        use_threads(len(before), PAIRS_PER_THREAD)
        find_collisions(stencils, points, after, before, floors, collides, distances)
        return collides, distances

    def _ground_floors(self, least: float) -> Values:
        assert self._ground is not None
        return np.maximum(FLOOR_RATIO * self._ground[1].distances, least)

    def _push_up(
        self, nodes: Points, mobility: Values, least: float, moves: Points, only_finds: bool
    ) -> int:
        """Pushes points up that would come to the ground; how many would."""
        if self._ground is None:
            return 0
        interpolation, laws = self._ground
        pushed = moves.copy() if only_finds else moves
        arguments = (self._ground_floors(least), laws.height, nodes, mobility, pushed)
        return int(push_up(interpolation, *arguments))

    def _divide(
        self, nodes: Points, points: Points, moves: Points, mobility: Values, least: float
    ) -> tuple[Values, set[tuple[int, int]]]:
        """(N,) step sizes of the moves of nodes, and every two objects that planes divide."""
        candidates, owners, count = self._candidates, self._owners, len(nodes)
        step_sizes, reach = np.ones(count), np.empty(len(points))
        if self._ground is not None:
            interpolation, laws = self._ground
            arguments = (self._ground_floors(least), laws.height, nodes, owners, moves, step_sizes)
            limit_falls(interpolation, *arguments)
        self._stop_inverted(nodes, moves, mobility, step_sizes)
        reaches(self._points_of, moves, reach)
        after, swept, divided = self.carried(points, moves), None, set[tuple[int, int]]()
        known, others = np.zeros(len(points), dtype=np.bool_), self._are_shortened(step_sizes)
        for rounds in range(MAX_DIVISIONS):
            # The candidates know whether points collide that make their whole moves.
            is_last = rounds == MAX_DIVISIONS - 1
            others = ~known if is_last else others
            if others.any():
                swept = candidates.add_reachable(points, reach, others, swept)
                known |= others
            if rounds == 0 or others.any():
                floors, stencils = self._floors(least), candidates.stencils
                collides = self._find_collisions(points, after, least)[0]
                near = np.empty(len(floors), dtype=np.bool_)
                find_near(stencils, reach, candidates.distances, floors, near)
                pairs = np.flatnonzero(near | collides)
            pair_arguments = (pairs, collides[pairs], stencils, points, floors)
            is_divided = divide(*pair_arguments, self._points_of, owners, moves, step_sizes)
            divided |= self._objects_of(pairs[is_divided])
            # Planes may divide others, too, where many moves get shorter.
            self.divided_objects |= self._objects_of(pairs[is_divided & collides[pairs]])
            if is_last:
                break
            # Nodes that a plane stops may invert tets, and nodes that are stopped with those may
            # collide.
            is_any_inverted = self._stop_inverted(nodes, moves, mobility, step_sizes)
            others = self._are_shortened(step_sizes) & ~known
            if not (is_any_inverted or others.any()):
                break
        return step_sizes[owners], divided

    def _are_shortened(self, step_sizes: Values) -> NDArray[np.bool_]:
        """(V,) whether points are carried by any node that does not make its whole move."""
        nodes = self._points_of.nodes
        short = step_sizes[self._owners] < 1.0
        return (short[nodes] & (nodes >= 0)).any(axis=1)

    def _any_turned(self, nodes: Points, after: Points, mobility: Values) -> bool:
        """Whether moves take tets more of their volume than they may lose."""
        places = LEAST_VOLUME_RATIO, nodes, after, mobility
        return any(len(find_inverted(tets, *places)) > 0 for tets in self._tets)

    def _stop_inverted(
        self, nodes: Points, moves: Points, mobility: Values, step_sizes: Values
    ) -> bool:
        """Lowers the step sizes of the corners of tets that would lose more of their volume than
        they may; whether there are any."""
        before = step_sizes.copy()
        after = nodes + step_sizes[self._owners][:, None] * moves
        for tets in self._tets:
            which = find_inverted(tets, LEAST_VOLUME_RATIO, nodes, after, mobility)
            limits = LEAST_VOLUME_RATIO, MAX_HALVINGS
            stop_inverted(tets, which, *limits, nodes, moves, step_sizes)
        return not np.array_equal(before, step_sizes)

    def _objects_of(self, pairs: NDArray[np.int64]) -> set[tuple[int, int]]:
        """Every two objects that candidate pairs belong to."""
        stencils, objects = self._candidates.stencils, self._surface.object_of
        edges = len(stencils.edge_edges)
        edge_points = stencils.edges[stencils.edge_edges[pairs[pairs < edges]], 0]
        faces = stencils.face_vertices[pairs[pairs >= edges] - edges]
        face_points = np.stack([stencils.triangles[faces[:, 0], 0], faces[:, 1]], axis=1)
        objects_of_pairs = objects[np.concatenate([edge_points, face_points])]
        count = len(self._surface.names)
        keys = np.flatnonzero(np.bincount(objects_of_pairs @ [count, 1]))
        return {divmod(int(key), count) for key in keys}


def longest_move(moves: Points, distances: Values) -> float:
    """Return the largest length that contact may give a move, in metres: a surface that is hit
    goes at most twice as fast as the other one, and barriers open d̂.

    Args:
        moves: (N, 3) as wished, in metres.
        distances: (O, O) d̂ of every two objects, in metres.
    """
    return 2.0 * float(lengths(moves).max(initial=0.0)) + float(distances.max())


def _limit(moves: Points, longest: float) -> None:
    """Shorten (N, 3) moves that are longer, since pinched parts would be ejected otherwise."""
    present = lengths(moves)
    if (present > longest).any():
        moves *= np.minimum(1.0, longest / np.maximum(present, TINY_LENGTH))[:, None]


# In mean edges: the number of swept candidates grows with the cube of the displacement.
MAX_DISPLACEMENT_RATIO = 4.0


class DisplacementLimit:
    """Every object has a limit on its own scale: motion of it as a whole counts only where it
    passes another one.

    Args:
        surface: the collision surface.
    """

    def __init__(self, surface: CollisionSurface) -> None:
        # A collider may have no triangle left that has an area.
        objects, self._offsets, self._object_of, counts = np.unique(
            surface.object_of, return_index=True, return_inverse=True, return_counts=True
        )
        self._counts = counts[:, None]
        self._can_collide = surface.can_collide[np.ix_(objects, objects)]
        owners = self._object_of[surface.edges[:, 0]]
        edges = np.sqrt(surface.topology.squared_lengths)
        limits = MAX_DISPLACEMENT_RATIO * np.bincount(owners, edges) / np.bincount(owners)
        # Edges of colliders may be of any length.
        limits[objects >= surface.topology.body_objects] = 0.0
        self._limits, self._pair_limits = limits, np.maximum.outer(limits, limits)

    def step_size(self, points: Points, displacements: Points, max_step_size: float) -> float:
        """The step size with which vertices may go (V, 3) displacements from (V, 3) points, at most
        ``max_step_size``."""
        means = np.add.reduceat(displacements, self._offsets) / self._counts
        relative = np.linalg.norm(displacements - means[self._object_of], axis=1)
        deforming = np.maximum.reduceat(relative, self._offsets)
        passing = np.linalg.norm(means[:, None] - means, axis=2)
        passing = np.maximum(passing, np.maximum.outer(deforming, deforming))
        boxes_overlap = self._boxes_overlap(points, points + max_step_size * displacements)
        is_body = self._limits > 0.0
        return min(
            max_step_size,
            _least_ratio(self._limits[is_body], deforming[is_body]),
            _least_ratio(self._pair_limits[boxes_overlap], passing[boxes_overlap]),
        )

    def _boxes_overlap(self, before: Points, after: Points) -> NDArray[np.bool_]:
        """(O, O) different objects that may collide, and whose swept boxes overlap."""
        low = np.minimum.reduceat(np.minimum(before, after), self._offsets)
        high = np.maximum.reduceat(np.maximum(before, after), self._offsets)
        is_below = (low[:, None] <= high).all(axis=2)
        overlap: NDArray[np.bool_] = is_below & is_below.T & self._can_collide
        np.fill_diagonal(overlap, False)
        return overlap


def _least_ratio(allowed: Values, lengths: Values) -> float:
    """Infinite where nothing moves."""
    moves = lengths > 0.0
    return float((allowed[moves] / lengths[moves]).min(initial=np.inf))
