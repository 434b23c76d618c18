# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact between surfaces at the end of an explicit step."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import use_threads
from ..kernels.contact_constraints import (
    SURFACES,
    Constraints,
    PairLaws,
    carry,
    find_pairs,
    gather,
    leave_out_idle,
    write_pairs,
)
from ..kernels.contact_islands import find_islands, relax_islands
from ..kernels.contact_relaxation import prescribed_work, surface_energy
from ..kernels.flat_tets import FlatTets, find_flat
from ..kernels.free_steps import pair_step_sizes, shorten, shorten_falls
from ..kernels.ground_constraints import find_ground
from ..kernels.step_nodes import end_step, write_fixed_moves, write_nodes
from ..potentials.contact import accepted_moves
from ..potentials.contact.barrier import physical_stiffness
from ..potentials.contact.candidates import Candidates
from ..potentials.contact.detection import (
    MIN_DISTANCE_RATIO,
    MIN_DISTANCE_ROUNDINGS,
    Detection,
)
from ..potentials.contact.persistent_candidates import POINTS_PER_THREAD, PersistentCandidates
from ..potentials.contact.rest_distance import pair_distances
from ..potentials.contact.surface import CollisionSurface
from ..potentials.height_floor import FLOOR_RATIO, HeightFloor
from ..scene.contact_distances import contact_distances
from ..scene.friction import FrictionTable
from ..state import SolverStatistics, State
from ..system import System
from .contact_failures import BlockedStepError
from .contact_nodes import ground_points, no_constraints, no_flat_tets, surface_points
from .contact_record import ContactRecord, Contacts
from .divergence import DivergenceCheck
from .frame_budget import FrameBudget

Points = NDArray[np.float64]

# Passes over an island at most, and by what share a changed distance wakes contacts around it.
MAX_PASSES, RELATIVE_TOLERANCE = 40, 0.2
# How often contacts are made linear anew where something was in the way.
MAX_LINEARIZATIONS = 8
# How often the moves of what is in the way are shortened, before all moves are alike.
MAX_SHORTENINGS = 8
PAIRS_PER_THREAD, CONTACTS_PER_THREAD = 2_000, 200
TETS_PER_THREAD = 1_500
# What a step, one contact in one pass, a candidate pair, and finding one cost, in seconds on two
# cores: only their ratios to each other and to a budget count.
STEP_S, CONTACT_S, PAIR_S, SEARCH_S = 3e-4, 1e-7, 4e-8, 3e-7


class MeshContactStep:
    """Minimises ½ |x − x̃|² / hσM⁻¹ and the barriers of surfaces and ground, with Coulomb friction:
    contact acts implicitly, all else explicitly.

    Contacts are made linear where vertices are, and relaxed (``kernels/contact_relaxation``). A
    vertex goes no farther than continuous collision detection allows; where one was in the way,
    contacts are made linear anew. Nothing goes through anything: a step without an end then fails.

    Args:
        system: with contact, of which ``why_no_contact`` says nothing.
    """

    def __init__(self, system: System) -> None:
        contact = system.scene.contact
        assert contact is not None
        self._system = system
        self.surface = surface = CollisionSurface(system.scene, system.meshes)
        distances = contact_distances(system.scene)
        detection = Detection(surface, distances)
        self._candidates = PersistentCandidates(surface, detection.broad_phase, detection.radii)
        area_weighted = contact.formulation == "convergent"
        stiffness = physical_stiffness(system.scene) if area_weighted else contact.stiffness
        stiffness = np.broadcast_to(np.asarray(stiffness, dtype=float), distances.shape).copy()
        static, kinetic = FrictionTable(system.scene).of_meshes
        self.laws = PairLaws(
            distances,
            stiffness,
            np.ascontiguousarray(static),
            np.ascontiguousarray(kinetic),
            area_weighted,
            surface.friction_factors,
        )
        #: (V,) of the surface, by nodes.
        self.points_of = surface_points(surface, system.vertex_count)
        self._ground = ground_points(system)
        start = system.initial_positions, system.initially_inverted
        self._tets = HeightFloor(system.elasticities, *start).parts
        self._constraints = no_constraints(256, self.points_of.nodes.shape[1])
        self._flat = no_flat_tets(64)
        colliders = len(surface.object_of) - surface.body_count
        self._mobility = np.zeros(system.vertex_count + colliders)
        self._least_distances = MIN_DISTANCE_RATIO * distances
        self._min_distances = np.zeros_like(distances)
        self._dhats_of = Candidates.none(), np.empty(0)
        self._divergence = DivergenceCheck(system)
        self._targets = surface.colliders_at(0, 0.0)
        self._pairs = np.zeros(0, dtype=np.int64)
        #: Of a frame.
        self.budget = FrameBudget(system.names)
        #: None while nobody asks.
        self.record: ContactRecord | None = None

    def begin(self, state: State) -> None:
        """Begins a frame, which depends on none before it but by its state."""
        #: (C, 3) where the vertices of colliders are, in metres.
        self.colliders = self.surface.colliders_at(state.frame, 0.0)
        if state.colliders is not None:
            self.colliders = state.colliders
        moving, still = state.velocities.numpy().T, np.zeros_like(self.colliders)
        velocities = np.concatenate([moving.astype(np.float64), still])
        self._candidates.begin(self._points(velocities))
        self._limited_steps = 0
        self.budget.begin()
        # Of the barriers at the start, once the first step has found candidates.
        self._energy: float | None = None

    def prescribe(self, frame: int, until: float) -> None:
        """Says that colliders are ``until`` of the way to the next frame after the next step."""
        self._targets = self.surface.colliders_at(frame, until)

    def apply(
        self,
        start: Tensor,
        positions: Tensor,
        velocities: Tensor,
        step: float,
        impulse_times: Tensor,
    ) -> float:
        """Changes (3, N) positions and velocities at the end of a step of ``step`` seconds that
        began at (3, N) ``start``, without intersections.

        Args:
            impulse_times: (N,) over which forces change velocities, in seconds.

        Returns:
            The work that pins and colliders did against what they touch, in joules.

        Raises:
            BlockedStepError: where the end of the step cannot be reached.
            DivergedStepError: where it is no number, or far away.
            CostlyFrameError: where the budget of the frame is spent.
        """
        system, count = self._system, self._system.vertex_count
        first, predicted = np.empty((2, count + len(self.colliders), 3))
        of_vertices = start.numpy(), positions.numpy()
        longest, largest = write_nodes(
            *of_vertices, self.colliders, self._targets, first, predicted
        )
        if self._divergence.is_possible(longest):
            self._divergence.refuse(predicted[:count] - first[:count])
        self._mobility[:count] = step * impulse_times.numpy() * system.inverse_mass.numpy()
        self._rounding = MIN_DISTANCE_ROUNDINGS * torch.finfo(positions.dtype).eps * largest
        np.maximum(self._least_distances, self._rounding, out=self._min_distances)
        last = self._solve(first, predicted, step)
        # Positions are kept with the precision of their tensor: each point may have come closer.
        self._candidates.distances -= self._rounding
        use_threads(count, POINTS_PER_THREAD)
        end_step(last, step, positions.numpy(), velocities.numpy())
        self.colliders = last[count:]
        moves = np.empty_like(first)
        if not write_fixed_moves(self._mobility, first, last, moves):
            return 0.0
        return float(prescribed_work(self._constraints, self._count, moves))

    def finish(self, positions: Tensor) -> tuple[SolverStatistics, float]:
        """Ends a frame at (3, N) positions.

        Returns:
            What it took, with how close surfaces are after it; and by how much less the barriers
            between them hold than at its start, in joules.
        """
        at = np.concatenate([positions.numpy().T.astype(np.float64), self.colliders])
        points = self._points(at)
        # Of no duration: candidates that are there hold as far as they reach.
        self._candidates.cover(points, points, 0.0)
        energy = self._find_still(at, points)
        own, count = self._constraints, self._count
        is_near = (own.kinds[:count] == SURFACES) & (own.distances < own.dhats)[:count]
        closest = float(own.distances[:count][is_near].min(initial=math.inf))
        statistics = SolverStatistics(
            contacts=int(is_near.sum()),
            minimum_distance=closest if closest < math.inf else None,
            limited_steps=self._limited_steps,
        )
        assert self._energy is not None
        return statistics, self._energy - energy

    def _find_still(self, at: Points, points: Points) -> float:
        """Makes contacts linear where nodes and points are; their energy in joules."""
        still = np.zeros_like(at)
        self._count = self._find(at, points, still, points, still)
        return float(surface_energy(self._constraints, self._count))

    def _solve(self, start: Points, predicted: Points, step: float) -> Points:
        """(N, 3) where nodes end that would go from one place to another."""
        at, points = start, self._points(start)
        began = points
        self.budget.spend(STEP_S)
        for linearization in range(MAX_LINEARIZATIONS):
            is_hindered = linearization > 0
            moves = predicted - at
            ends = self._carried(points, moves)
            found = self._candidates.cover(points, ends, step, is_hindered)
            self.budget.spend(SEARCH_S * found)
            if self._energy is None:
                self._energy = self._find_still(at, points)
            count = self._find(at, points, moves, ends, at - start)
            self._count, pairs = leave_out_idle(count, self._pairs, self._constraints)
            self._pairs = self._pairs[:pairs]
            flat_tets = self._find_flat(at, predicted)
            if self.record is not None:
                of_nodes = start, at, points, ends, moves, self._mobility
                of_pairs = self._constraints, self._count, self._pairs, self._candidates.stencils
                self.record.relaxes(Contacts(*of_nodes, *of_pairs), flat_tets)
            self._relax(flat_tets, moves)
            at, points, is_free = self._go(at, points, moves, step, is_hindered)
            if is_free:
                self._candidates.advance(began, points, step)
                self._candidates.blocked[:] = 0
                return at
            self._limited_steps += 1
        # The step is taken again from where it began, of which the distances here tell nothing.
        self._candidates.forget_values()
        raise BlockedStepError(
            f"{self._system.names}: surfaces cannot make way for each other within a step of "
            f"{step:.2g} s. Choose Automatic or Implicit Euler, or more substeps."
        )

    def _points(self, nodes: Points) -> Points:
        """(V, 3) of the surface from (N, 3) of the nodes."""
        out = np.empty((len(self.points_of.nodes), 3))
        use_threads(len(out), POINTS_PER_THREAD)
        gather(self.points_of, nodes, out)
        return out

    def _carried(self, points: Points, moves: Points) -> Points:
        """(V, 3) points of the surface, once (N, 3) moves of nodes have carried them along."""
        out = np.empty_like(points)
        use_threads(len(out), POINTS_PER_THREAD)
        carry(self.points_of, points, moves, out)
        return out

    def _find(
        self,
        at: Points,
        points: Points,
        moves: Points,
        ends: Points,
        displacements: Points,
    ) -> int:
        """Makes contacts linear; how many there are."""
        stencils, mesh = self._candidates.stencils, self.surface.topology
        self.budget.meet(len(self._candidates.distances))
        self.budget.spend(PAIR_S * len(self._candidates.distances))
        may_push = np.empty(len(self._candidates.distances), dtype=np.bool_)
        use_threads(len(may_push), PAIRS_PER_THREAD)
        find_pairs(
            *(stencils, self._dhats(), points, ends - points),
            *(self._candidates.distances, may_push),
        )
        pairs = self._pairs = np.flatnonzero(may_push)
        while True:
            out: Constraints = self._constraints
            count = len(pairs)
            if count <= len(out.forces):
                use_threads(count, CONTACTS_PER_THREAD)
                nodes = (self.points_of, displacements, self._mobility)
                of_pairs = (pairs, stencils, self._dhats(), self._candidates.blocked)
                write_pairs(*of_pairs, mesh, self.laws, points, ends, *nodes, out)
            if self._ground is not None:
                own = (at, moves, displacements, self._mobility)
                count = find_ground(*self._ground, *own, out, count)
            if count <= len(out.forces):
                return count
            self._constraints = no_constraints(2 * count, self.points_of.nodes.shape[1])

    def _dhats(self) -> NDArray[np.float64]:
        """(P,) of the candidates there are, in metres."""
        candidates = self._candidates.candidates
        if self._dhats_of[0] is not candidates:
            dhats = pair_distances(candidates, self.surface, self.laws.distances)
            self._dhats_of = candidates, dhats
        return self._dhats_of[1]

    def _find_flat(self, at: Points, predicted: Points) -> int:
        """Makes the heights of flat tets linear; how many there are."""
        while True:
            out: FlatTets = self._flat
            count = 0
            for tets in self._tets:
                use_threads(len(tets.volumes), TETS_PER_THREAD)
                count = find_flat(tets, FLOOR_RATIO, at, predicted, self._mobility, out, count)
            if count <= len(out.forces):
                return count
            self._flat = no_flat_tets(2 * count)

    def _relax(self, flat_tets: int, moves: Points) -> None:
        """Changes (N, 3) moves of nodes by what contacts and flat tets answer."""
        if self._count + flat_tets == 0:
            return
        own, flat = self._constraints, self._flat
        islands = find_islands(own.nodes[: self._count], flat.corners[:flat_tets], self._mobility)
        threads = use_threads(self._count, CONTACTS_PER_THREAD)
        solved = relax_islands(
            *(islands, own, flat, FLOOR_RATIO, self._mobility, moves),
            *(MAX_PASSES, RELATIVE_TOLERANCE, threads),
        )
        self.budget.spend(CONTACT_S * solved)

    def _go(
        self, at: Points, points: Points, moves: Points, step: float, is_hindered: bool
    ) -> tuple[Points, Points, bool]:
        """Moves (N, 3) nodes as far as nothing meets: where those and (V, 3) points are then, and
        whether all made their whole move."""
        shortened, after = moves, self._carried(points, moves)
        candidates, least = self._candidates, 1.0
        for shortening in range(MAX_SHORTENINGS):
            # A point that was stopped has left its path, and another one may follow it closely.
            found = candidates.cover(points, after, step, is_hindered)
            self.budget.spend(SEARCH_S * found)
            stencils = candidates.stencils
            of_pairs, distances = np.empty((2, len(candidates.distances)))
            use_threads(len(of_pairs), PAIRS_PER_THREAD)
            pair_step_sizes(
                *(stencils, points, after, candidates.distances),
                *(self.surface.object_of, self._min_distances, of_pairs, distances),
            )
            of_nodes = np.ones(len(at))
            cut = shorten(stencils, of_pairs, self.points_of, of_nodes)
            if self._ground is not None:
                cut += shorten_falls(*self._ground, self._rounding, at, shortened, of_nodes)
            if cut == 0:
                candidates.distances = distances
                accepted_moves.report(self.surface, points, after)
                return at + shortened, after, shortened is moves
            if shortening == 0:
                least = float(of_nodes.min())
                candidates.blocked += of_pairs < 1.0
            shortened = of_nodes[:, None] * shortened
            after = self._carried(points, shortened)
        # Shortened one by one, moves may come in the way of each other; all alike, none does.
        candidates.distances[:] = 0.0
        at = at + least * moves
        after = self._points(at)
        accepted_moves.report(self.surface, points, after)
        return at, after, False
