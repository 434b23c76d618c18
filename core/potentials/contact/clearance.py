# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks whether frames that were taken without contact needed it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...compiled import use_threads
from ...geometry.tet_mesh import TetMesh
from ...kernels.clearance import (
    fit_parabolas,
    max_own_displacement,
    min_clearances,
    path_bends,
    stay_separated,
)
from ...kernels.held_pairs import Hold, leaf_spreads, limit_spreads
from ...kernels.rest_distance import SEARCH_RADIUS_RATIO
from ...scene.collision_points import contact_distances
from ...scene.scene import Scene
from .collision_detection import (
    CHUNKS,
    COLLISION_PAIRS_PER_THREAD,
    BroadPhase,
    Candidates,
    Detection,
    IndexPairs,
    least_of_leaves,
    pair_keys,
)
from .surface import CollisionSurface, Points, Values

# Extra search radius in activation distances: so far everything may move before the next search.
RADIUS_MARGIN_RATIO = 2.0
# The largest approach of two primitives in units of the largest displacement: both move, and
# somewhat farther between the known positions.
APPROACH_RATIO = 2.5
# A trajectory of more positions is first looked at by every second one of them.
MAX_COARSE_POSITIONS = 9
# In metres: nothing was in contact, and no more is known.
LEAST_CLEARANCE = 1e-300
# A surface with more pairs a triangle that may come near each other is fine.
FINE_RATIO = 4.0
# The least pairs of leaves of a thread.
LEAF_PAIRS_PER_THREAD = 20
# To bound the deformation of so many tetrahedra takes as long as to search a pair of leaves.
TETS_PER_LEAF_PAIR = 20.0
# The largest deviation of a trajectory from its secant, and the largest mean displacement, in mean
# edges; otherwise it is split. The two halves of a cape's sweep have an eighth of the pairs.
MAX_DEVIATION_RATIO, MAX_DISPLACEMENT_RATIO = 0.25, 0.5


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The trajectory of the vertices of bodies in a frame.

    Args:
        positions: (B, K + 1, 3) of the vertices of their surfaces, in metres.
        times: (K + 1,) in frames, from 0 to 1, at which they were there.
        is_linear: whether they moved linearly from each position to the next.
        colliders: (C, 3) vertices of colliders before and after, which move linearly.
        vertices: (N, K + 1, 3) positions of the vertices of the tetrahedra, in metres; None if the
            parts that they hold apart are not needed.
        finer: the trajectory with all positions, where this one has every second of them.
    """

    positions: NDArray[np.float64]
    times: Values
    is_linear: bool
    colliders: tuple[Points, Points]
    vertices: NDArray[np.float64] | None = None
    finer: Trajectory | None = None

    def coarser(self) -> Trajectory:
        """The trajectory by every second position, where there are many on curves.
        Between positions farther apart more may have happened."""
        if self.is_linear or len(self.times) <= MAX_COARSE_POSITIONS:
            return self
        indices = np.unique(np.append(np.arange(0, len(self.times), 2), len(self.times) - 1))
        # Indexing would change the memory layout that loops are compiled for.
        vertices = None if self.vertices is None else self.vertices.take(indices, axis=1)
        positions, times = self.positions.take(indices, axis=1), self.times[indices]
        return replace(self, positions=positions, times=times, vertices=vertices, finer=self)

    @cached_property
    def paths(self) -> NDArray[np.float64]:
        """(B + C, K + 1, 3) positions of the collision surface, in metres."""
        (before, after), times = self.colliders, self.times[:, None]
        moving = (1.0 - times) * before[:, None] + times * after[:, None]
        return np.concatenate([self.positions, moving])

    @cached_property
    def bends(self) -> NDArray[np.float64]:
        """(B + C, K + 1, 3) deviations of vertices from the lines between positions, in metres."""
        out = np.zeros_like(self.paths)
        if not self.is_linear:
            bodies = len(self.positions)
            path_bends(self.paths[:bodies], self.times, out[:bodies])
        return out

    def position_at(self, index: int) -> Points:
        """(B + C, 3) the collision surface at one of the times."""
        return np.ascontiguousarray(self.paths[:, index])

    def parabolas(self, first: int, last: int) -> tuple[Points, Values]:
        """Return the (B + C, 3) sagittas of parabolas between two of the times, and the (B + C,)
        possible deviations of vertices from these, both in metres (``fit_parabolas``).
        """
        sagittas, deviations = np.empty((len(self.paths), 3)), np.empty(len(self.paths))
        fit_parabolas(self.paths, self.times, self.bends, first, last, sagittas, deviations)
        return sagittas, deviations


class Clearance:
    """Checks whether anything that can collide came within its activation distance.

    Parts of one body that are near at rest count as in contact where they would push
    (``kernels/rest_distance``), and not at all where tetrahedra that hardly deform hold them apart
    (``kernels/held_pairs``).

    Args:
        scene: with contact; its bodies have tetrahedra.
        meshes: those of its bodies.
    """

    def __init__(self, scene: Scene, meshes: list[TetMesh]) -> None:
        #: The collision surface of the scene.
        self.surface = surface = CollisionSurface(scene, meshes)
        self._distances = contact_distances(scene)
        detection = Detection(surface, self._distances)
        self._broad_phase, self._radii = detection.broad_phase, detection.radii
        body_distances = np.diag(self._distances)[: surface.topology.body_objects]
        self._collides_with_itself = np.diag(surface.can_collide)[: len(body_distances)]
        is_same = np.eye(len(surface.can_collide), dtype=bool)
        #: Find pairs of one object, and of different ones.
        self._one_object, self._two_objects = (
            self._broad_phase.among_groups(surface.group_collisions(surface.can_collide & chosen))
            for chosen in (is_same, ~is_same)
        )
        #: The largest clearance that a search can find, in metres.
        self.max_clearance = RADIUS_MARGIN_RATIO * float(
            body_distances[self._collides_with_itself].min(initial=math.inf)
        )
        edges = surface.edges[surface.edges[:, 0] < surface.body_count]
        lengths = np.linalg.norm(surface.rest[edges[:, 0]] - surface.rest[edges[:, 1]], axis=1)
        self._edge_length = float(lengths.mean())
        counts = np.bincount(surface.object_of, minlength=len(surface.names))
        self._offsets = np.concatenate([[0], np.cumsum(counts)])
        self._nonempty = np.flatnonzero(counts)
        starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
        tets = [mesh.tets + start for mesh, start in zip(meshes, starts, strict=False)]
        rest = np.concatenate([mesh.vertices for mesh in meshes])
        # The hold of tetrahedra that hold nothing; and that of the last frame, if it was needed.
        self._no_hold = Hold(*surface.carriers, rest, np.zeros(len(surface.rest)))
        # Points in one tet are held alike, by the tets around it.
        self._carriers, places = np.unique(surface.carriers[0], axis=0, return_inverse=True)
        self._carrier_of = places.reshape(-1)
        carries = np.isin(np.concatenate(tets), self._carriers).any(axis=1)
        self._tets = np.concatenate(tets)[carries].astype(np.int32)
        gradients = np.concatenate([mesh.shape_gradients for mesh in meshes])
        self._gradients = gradients[carries]
        self._hold: Hold | None = None
        # Whether a search with a margin found parts that tetrahedra hold apart, and was in vain.
        self._is_near_at_rest = False

    def colliders(self, prescribed: Points | None, frame: int, fraction: float) -> Points:
        """(C, 3) vertices of colliders in the frame after ``frame``, in metres; at its start
        ``prescribed``, where that is given."""
        if fraction == 0.0 and prescribed is not None:
            return prescribed
        return self.surface.colliders_at(frame, fraction)

    def clearance_after(self, trajectory: Trajectory, clearance: float) -> float | None:
        """Return the clearance after a frame: the least distance in metres by which any body may
        still come nearer to itself, rigid translations left out.

        Args:
            trajectory: of the frame.
            clearance: the same before it.

        Returns:
            None where something was in contact, or may have been.
        """
        self._hold = None
        trajectory = trajectory.coarser()
        if self._boxes_overlap(trajectory) and not self._stay_clear(trajectory, self._two_objects):
            return None
        approach = APPROACH_RATIO * self._max_own_displacement(trajectory)
        if approach < clearance:
            return clearance - approach
        # A larger search pays if a next frame of this kind can use its result.
        is_slow = approach < self.max_clearance and not self._is_near_at_rest
        margin = RADIUS_MARGIN_RATIO if is_slow else 0.0
        last = len(trajectory.times) - 1
        trajectory = self._without_translations(trajectory)
        candidates = self._collision_free_candidates(trajectory, 0, last, self._one_object, margin)
        if candidates is None:
            return None
        if not is_slow:
            return LEAST_CLEARANCE
        # Pairs that tetrahedra hold apart may be as near as they push, in every slow frame.
        self._is_near_at_rest = self._hold is not None
        if self._is_near_at_rest:
            return LEAST_CLEARANCE
        return min(
            self.max_clearance, self._min_clearance(candidates, trajectory.position_at(last))
        )

    def is_clear(self, bodies: Points, colliders: Points, vertices: Points | None = None) -> bool:
        """Whether nothing is near where (B, 3) and (C, 3) vertices of surfaces and (N, 3) of
        tetrahedra are, in metres."""
        self._hold = None
        still, times = np.stack([bodies, bodies], axis=1), np.array([0.0, 1.0])
        corners = None if vertices is None else np.stack([vertices, vertices], axis=1)
        trajectory = Trajectory(still, times, True, (colliders, colliders), corners)
        return self._stay_clear(trajectory, self._broad_phase)

    def _stay_clear(self, trajectory: Trajectory, broad_phase: BroadPhase) -> bool:
        """Whether no pair of the broad phase came near."""
        last = len(trajectory.times) - 1
        return self._collision_free_candidates(trajectory, 0, last, broad_phase) is not None

    def _without_translations(self, trajectory: Trajectory) -> Trajectory:
        """As bodies move within themselves: a common translation of all of one brings no parts of
        it nearer, and must not count as deviation."""
        positions, bodies = trajectory.positions.copy(), len(self._collides_with_itself)
        for first, last in pairwise(self._offsets[: bodies + 1]):
            if last > first:
                positions[first:last] -= positions[first:last].mean(axis=0)
        return replace(trajectory, positions=positions)

    def _max_own_displacement(self, trajectory: Trajectory) -> float:
        """In metres, of the body that moved the most within itself."""
        return max(
            (
                max_own_displacement(
                    trajectory.positions, self._offsets[body], self._offsets[body + 1]
                )
                for body in np.flatnonzero(self._collides_with_itself)
            ),
            default=0.0,
        )

    def _boxes_overlap(self, trajectory: Trajectory) -> bool:
        """Whether different objects that can collide came near each other, by their swept boxes."""
        if len(self._nonempty) < 2:
            return False
        last = len(trajectory.times) - 1
        deviation = float(np.linalg.norm(trajectory.bends, axis=2).max(initial=0.0))
        low, high = trajectory.position_at(0), trajectory.position_at(0)
        for index in range(1, last + 1):
            points = trajectory.position_at(index)
            low, high = np.minimum(low, points), np.maximum(high, points)
        offsets = self._offsets[self._nonempty]
        low, high = np.minimum.reduceat(low, offsets), np.maximum.reduceat(high, offsets)
        search_radius = SEARCH_RADIUS_RATIO * float(self._distances.max()) + 2.0 * deviation
        is_below = (low[:, None] <= high + search_radius).all(axis=2)
        overlap = (
            is_below & is_below.T & self.surface.can_collide[np.ix_(self._nonempty, self._nonempty)]
        )
        np.fill_diagonal(overlap, False)
        return bool(overlap.any())

    def _collision_free_candidates(
        self,
        trajectory: Trajectory,
        first: int,
        last: int,
        broad_phase: BroadPhase,
        margin: float = 0.0,
    ) -> Candidates | None:
        """Candidates at the last of some times, found with a ``margin``; None where anything came
        near on the trajectory to it."""
        start, end = trajectory.position_at(first), trajectory.position_at(last)
        sagittas, deviations = trajectory.parabolas(first, last)
        if last - first > 1 and (
            deviations.max() > MAX_DEVIATION_RATIO * self._edge_length
            or np.linalg.norm(end - start, axis=1).mean()
            > MAX_DISPLACEMENT_RATIO * self._edge_length
        ):
            middle = (first + last) // 2
            if self._collision_free_candidates(trajectory, first, middle, broad_phase) is None:
                return None
            return self._collision_free_candidates(trajectory, middle, last, broad_phase, margin)
        radii = (1.0 + margin) * self._radii + deviations
        swept = broad_phase.sweep(start, end, radii, 1.0 + margin, sagittas=sagittas)
        holds = margin == 0.0 and broad_phase is self._one_object and self._has_held_leaves
        leaves = self._not_held(swept.leaves, self._hold_in(trajectory)) if holds else swept.leaves
        candidates = broad_phase.among(swept, leaves)
        return candidates if self._stay_separated(candidates, trajectory, first, last) else None

    @cached_property
    def _held_leaves(self) -> tuple[NDArray[np.int64], Values]:
        """The (K,) keys of the pairs of leaves that tetrahedra which hardly deform hold apart, and
        the spreads that these need (``leaf_spreads``)."""
        broad_phase, surface = self._one_object, self.surface
        radii = self._radii + MAX_DEVIATION_RATIO * self._edge_length
        swept = broad_phase.sweep(surface.rest, surface.rest, radii)
        spreads = np.empty(len(swept.leaves))
        use_threads(len(spreads), LEAF_PAIRS_PER_THREAD)
        parts = swept.edges, swept.faces, swept.vertices
        leaf_spreads(swept.leaves, *parts, self._no_hold, surface.rest, spreads)
        is_held = np.isfinite(spreads)
        keys = pair_keys(swept.leaves[is_held])
        order = np.argsort(keys)
        return keys[order], spreads[is_held][order]

    @cached_property
    def _has_held_leaves(self) -> bool:
        """Whether to leave them out of searches takes less time than to search them."""
        return len(self._tets) < TETS_PER_LEAF_PAIR * len(self._held_leaves[0])

    def _not_held(self, leaves: IndexPairs, hold: Hold) -> IndexPairs:
        """The pairs of leaves without those that are held apart."""
        known, spreads = self._held_leaves
        limits, keys = least_of_leaves(hold.max_spreads, self._one_object), pair_keys(leaves)
        places = np.searchsorted(known, keys).clip(max=len(known) - 1)
        limit = limits[leaves[:, :2]].min(axis=1)
        return leaves[(known[places] != keys) | (spreads[places] >= limit)]

    def _stay_separated(
        self, candidates: Candidates, trajectory: Trajectory, first: int, last: int
    ) -> bool:
        """Whether candidates stay separated between two times of a trajectory."""
        # The search for parts that tetrahedra hold apart takes longer than the search for near
        # pairs, except on surfaces so fine that most of them is near other parts.
        is_fine = len(candidates) > FINE_RATIO * len(self.surface.triangles)
        separated = np.zeros(CHUNKS, dtype=np.int64)

        def are_separated(on: Trajectory, start: int, end: int, hold: Hold) -> bool:
            """Whether they do by the positions of one trajectory alone."""
            use_threads(len(candidates), COLLISION_PAIRS_PER_THREAD)
            stay_separated(
                candidates.stencils(self.surface.edges, self.surface.triangles),
                *(on.paths, on.bends, start, end),
                *(self.surface.rest, self.surface.object_of, self._distances),
                *(self.surface.are_joined, hold, separated),
            )
            return bool(separated.all())

        asks_without = self._hold is None and not is_fine
        if asks_without and are_separated(trajectory, first, last, self._no_hold):
            return True
        hold, finer = self._hold_in(trajectory), trajectory.finer
        if are_separated(trajectory, first, last, hold):
            return True
        if finer is None:
            return False
        return are_separated(finer, 2 * first, min(2 * last, len(finer.times) - 1), hold)

    def _hold_in(self, trajectory: Trajectory) -> Hold:
        """Which pairs the tetrahedra hold apart throughout the trajectory of a frame."""
        vertices = trajectory.vertices
        if vertices is None:
            return self._no_hold
        if self._hold is None:
            paths = np.ascontiguousarray(vertices)
            bends = np.zeros_like(paths)
            if not trajectory.is_linear:
                path_bends(paths, trajectory.times, bends)
            max_spreads = np.full(len(self._carriers), math.inf)
            tets = self._tets, self._gradients
            rows = paths.reshape(len(paths), -1), bends.reshape(len(paths), -1)
            limit_spreads(*rows, *tets, self._carriers, max_spreads)
            self._hold = self._no_hold._replace(max_spreads=max_spreads[self._carrier_of])
        return self._hold

    def _min_clearance(self, candidates: Candidates, points: Points) -> float:
        if len(candidates) == 0:
            return math.inf
        min_values, surface = np.empty(CHUNKS), self.surface
        use_threads(len(candidates), COLLISION_PAIRS_PER_THREAD)
        stencils = candidates.stencils(self.surface.edges, self.surface.triangles)
        min_clearances(
            *(stencils, points, surface.rest, surface.object_of, self._distances),
            *(surface.are_joined, min_values),
        )
        return float(min_values.min())
