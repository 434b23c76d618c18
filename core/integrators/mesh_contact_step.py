# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact between surfaces at the end of an explicit step."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import use_threads
from ..geometry.groups import free_groups
from ..geometry.rigid_motion import keep_group_motion
from ..kernels.contact_constraints import (
    GROUND,
    OPEN_RATIO,
    Constraints,
    PairLaws,
    find_ground,
    find_pairs,
    gather,
    write_pairs,
)
from ..kernels.contact_islands import MIN_HALVED, find_islands, relax_islands
from ..kernels.contact_relaxation import prescribed_work, surface_energy
from ..kernels.explicit_motion import end_step, write_fixed_moves, write_nodes
from ..kernels.flat_tets import FlatTets, find_flat, no_flat_tets
from ..potentials.contact import accepted_moves
from ..potentials.contact.barrier import physical_stiffness
from ..potentials.contact.collision_detection import MIN_DISTANCE_ROUNDINGS, Detection
from ..potentials.contact.persistent_candidates import POINTS_PER_THREAD, PersistentCandidates
from ..potentials.contact.surface import CollisionSurface
from ..potentials.contact.truncated_motion import PAIRS_PER_THREAD, TruncatedMotion, longest_move
from ..potentials.height_floor import FLOOR_RATIO, HeightFloor
from ..scene.collision_points import contact_distances
from ..scene.friction import FrictionTable
from ..state import SolverStatistics, State
from ..system import System
from .clocks import Clocks
from .contact_failures import DivergenceCheck
from .contact_nodes import (
    ground_points,
    no_constraints,
    owners_of_objects,
    step_size_owners,
)

Points = NDArray[np.float64]

# The most passes over an island, and the relative change of a distance that activates the contacts
# around it. With 20 passes, a heap of sixty bodies has the same energy to 1e-5 in three quarters
# of the time, but a ball that a stamp pushes through a ring comes to J = 0.0005 instead of 0.1.
MAX_PASSES, RELATIVE_TOLERANCE = 40, 0.2
# The most linearizations of contacts in a step, and the passes of a repeated one.
MAX_LINEARIZATIONS, AGAIN_PASSES = 3, 15
CONTACTS_PER_THREAD = 200
TETS_PER_THREAD = 1_500


class MeshContactStep:
    """Contact as the minimum of ½ |x − x̃|² / hσM⁻¹ and the barriers of surfaces and ground, with
    Coulomb friction. Contact acts implicitly, all other forces explicitly.

    Contacts are linearized at the present positions and relaxed (``kernels/contact_relaxation``).
    Pairs that would still collide are kept apart (``TruncatedMotion``); if there were any,
    contacts are linearized again, ``MAX_LINEARIZATIONS`` times at most. Surfaces never cross, even
    if the relaxation has not converged.

    Args:
        system: a system with supported contact (``unsupported_contact_reason``).
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
        static, kinetic = FrictionTable(system.scene).mesh_pairs
        self.laws = PairLaws(
            distances,
            stiffness,
            np.ascontiguousarray(static),
            np.ascontiguousarray(kinetic),
            area_weighted,
            surface.friction_factors,
        )
        #: The interpolation of the (V,) surface points from nodes.
        self.points_of = surface.interpolation(system.vertex_count)
        #: The largest activation distance of contact, in metres.
        self.max_activation_distance = float(distances.max())
        self._ground = ground_points(system)
        start = system.initial_positions, system.initially_inverted
        self._tets = HeightFloor(system.elasticities, *start).parts
        self._constraints = no_constraints(256, self.points_of.nodes.shape[1])
        self._flat = no_flat_tets(64)
        colliders = len(surface.object_of) - surface.body_count
        self._mobility = np.zeros(system.vertex_count + colliders)
        self._owners = step_size_owners(surface, system)
        motion_parts = (surface, distances, self._candidates, self.points_of, self._ground)
        self._motion = TruncatedMotion(*motion_parts, self._owners, self._tets)
        #: The clocks of animated objects.
        self.clocks = Clocks(surface, system)
        self._owner_of_object = owners_of_objects(surface, system, self._owners)
        self._divergence = DivergenceCheck(system)
        self._targets = surface.colliders_at(0, 0.0)
        # The displacements that nodes missed in the last step, and the objects in the way.
        self._missed_displacements = np.zeros((0, 3))
        self._hindered_objects: set[tuple[int, int]] = set()

    def begin(self, state: State) -> None:
        """Begin a frame, which depends on earlier ones only by its state."""
        #: (C, 3) positions of collider vertices, in metres.
        self.colliders = self.surface.colliders_in(state)
        moving, no_moves = state.velocities.numpy().T, np.zeros_like(self.colliders)
        velocities = np.concatenate([moving.astype(np.float64), no_moves])
        self._candidates.begin(self._points(velocities))
        self._limited_steps = self._linearizations = self._truncated = 0
        self.clocks.begin(state.clocks, state.frame, state.positions.numpy(), self.colliders)
        self._motion.divided_objects.clear()
        # The energy of the barriers at the start, known after the first step's search.
        self._energy: float | None = None

    def prescribe(self, frame: int, since: float, until: float) -> None:
        """Prescribe the motion of the next step, from ``since`` to ``until`` between two
        frames."""
        self.clocks.prescribe(frame, since, until)
        self._targets = self.clocks.colliders()

    def apply(
        self,
        start: Tensor,
        positions: Tensor,
        velocities: Tensor,
        step: float,
        impulse_times: Tensor,
    ) -> float:
        """Change (3, N) positions and velocities at the end of a step so that nothing intersects.
        The step of ``step`` seconds began at (3, N) ``start``.

        Args:
            impulse_times: (N,) times over which forces change velocities, in seconds.

        Returns:
            The work of pins and colliders against contact, in joules.

        Raises:
            DivergedStepError: if the motion is not finite or too far.
        """
        system, count = self._system, self._system.vertex_count
        first, predicted = np.empty((2, count + len(self.colliders), 3))
        vertex_positions = start.numpy(), positions.numpy()
        longest, largest = write_nodes(
            *vertex_positions, self.colliders, self._targets, first, predicted
        )
        if self._divergence.is_possible(longest):
            self._divergence.refuse(predicted[:count] - first[:count])
        self._mobility[:count] = step * impulse_times.numpy() * system.inverse_mass.numpy()
        self._rounding = MIN_DISTANCE_ROUNDINGS * torch.finfo(positions.dtype).eps * largest
        last = self._solve(first, predicted, step)
        # Each point may have come closer by the rounding of the position tensor.
        self._candidates.distances -= self._rounding
        use_threads(count, POINTS_PER_THREAD)
        end_step(last, step, positions.numpy(), velocities.numpy())
        self._keep_momentum(positions, velocities, step)
        self.colliders = last[count:]
        moves = np.empty_like(first)
        if not write_fixed_moves(self._mobility, first, last, moves):
            return 0.0
        contact_work = float(prescribed_work(self._constraints, self._count, moves))
        return contact_work + self._motion.work

    def finish(self, positions: Tensor) -> tuple[SolverStatistics, float]:
        """End a frame at (3, N) positions.

        Returns:
            Its statistics with the least distance of surfaces, and the decrease of the barriers'
            energy, in joules.
        """
        at = np.concatenate([positions.numpy().T.astype(np.float64), self.colliders])
        points = self._points(at)
        # A trajectory without a duration: the present candidates are still valid.
        self._candidates.cover(points, points, 0.0)
        energy = self._linearize_at_rest(at, points)
        distances = self._candidates.distances
        is_near = distances < self._motion.dhats
        closest = float(distances[is_near].min(initial=math.inf))
        statistics = SolverStatistics(
            contacts=int(is_near.sum()),
            minimum_distance=closest if closest < math.inf else None,
            limited_steps=self._limited_steps,
            linearizations=self._linearizations,
            truncated_vertices=self._truncated,
            lag=self.clocks.distance_behind(positions.numpy(), self.colliders),
            blocked=tuple(self._lagging(each) for each in self.clocks.late()),
        )
        assert self._energy is not None
        return statistics, self._energy - energy

    def _lagging(self, item: int) -> str:
        """Return the message on an object that is behind its animation."""
        names, bodies = self.surface.names, len(self._system.bodies)
        name = f"the pins of {names[item]}" if item < bodies else names[item]
        others = {pair[pair[0] == item] for pair in self._motion.divided_objects if item in pair}
        if len(others) != 1:
            return f"{name}: the bodies it presses cannot move aside"
        return f"{name}: {names[others.pop()]} is in the way"

    def _linearize_at_rest(self, at: Points, points: Points) -> float:
        """Linearize contacts at the present nodes and points; return their energy in joules."""
        no_moves = np.zeros_like(at)
        self._count = self._linearize_contacts(at, points, no_moves, points, no_moves)
        return float(surface_energy(self._constraints, self._count))

    def _solve(self, start: Points, predicted: Points, step: float) -> Points:
        """Return the (N, 3) positions that nodes reach on the way to the predicted ones."""
        at, points = start, self._points(start)
        began, remaining, stopped = points, np.ones(len(at)), np.zeros(len(at), dtype=np.bool_)
        for linearization in range(MAX_LINEARIZATIONS):
            is_hindered = linearization > 0
            if linearization == MAX_LINEARIZATIONS - 1:
                # These forces are the final ones, so blocked objects count with their actual
                # motion.
                stopped = (self._mobility == 0.0) & (remaining > 0.0)
                predicted[stopped] = at[stopped]
            moves = predicted - at
            ends = self._motion.carried(points, moves)
            self._candidates.cover(points, ends, step, is_hindered)
            if self._energy is None:
                self._energy = self._linearize_at_rest(at, points)
            self._count = self._linearize_contacts(at, points, moves, ends, at - start)
            flat_tets = self._linearize_flat_tets(at, predicted)
            longest = longest_move(moves, self.laws.distances)
            self._relax_contacts(at, flat_tets, moves, AGAIN_PASSES if is_hindered else MAX_PASSES)
            flat = (self._flat, flat_tets)
            limits = (self._mobility, self._rounding, step, flat, longest, at - start, is_hindered)
            targets = at + moves
            reached = self._motion.advance(at, points, moves, *limits)
            accepted_moves.report(self.surface, points, reached.points)
            at, points = reached.nodes, reached.points
            step_sizes = 1.0 if reached.step_sizes is None else reached.step_sizes
            self._linearizations += 1
            self._truncated = max(self._truncated, int(np.count_nonzero(step_sizes < 1.0)))
            remaining = np.where(stopped, remaining, remaining * (1.0 - step_sizes))
            # The forces of these moves are the final ones, even if moves are truncated.
            self._missed_displacements, self._hindered_objects = targets - at, reached.objects
            if reached.is_free:
                break
            self._hindered_objects = reached.objects | self._stopped_bodies()
            self._limited_steps += 1
        self._candidates.advance(began, points, step)
        # A pair that was kept apart stays stiffened until it opens, or it would be kept apart
        # again.
        candidates = self._candidates
        candidates.blocked *= candidates.distances < OPEN_RATIO * self._motion.dhats
        self.clocks.advance(1.0 - remaining[self._owner_of_object])
        return at

    def _keep_momentum(self, positions: Tensor, velocities: Tensor, step: float) -> None:
        """Change (3, N) velocities so that free groups have their momentum before truncation."""
        if not self._hindered_objects:
            return
        constraints, count, slices = self._constraints, self._count, self._system.body_slices()
        is_held = ~np.array([bool(self._system.free[where].all()) for where in slices])
        pressed = (constraints.kinds[:count] == GROUND) & (constraints.forces[:count] > 0.0)
        nodes = constraints.nodes[:count][pressed]
        is_held[self._system.bodies_of(nodes[nodes >= 0])] = True
        hindered = np.array(sorted(self._hindered_objects))
        missed = torch.from_numpy(self._missed_displacements[: positions.shape[1]].T / step).to(
            velocities
        )
        for group in free_groups(hindered, is_held):
            if not np.isin(group, hindered).any():
                continue
            parts = [torch.arange(slices[body].start, slices[body].stop) for body in group]
            which = torch.cat(parts)
            group_state = positions[:, which], velocities[:, which], missed[:, which]
            velocities[:, which] = keep_group_motion(self._system.mass[which], *group_state)

    def _stopped_bodies(self) -> set[tuple[int, int]]:
        """Return the bodies with truncated nodes, each as a pair with itself: nodes that flat tets
        stopped have no other partner."""
        stopped = np.flatnonzero(
            self._missed_displacements[: self._system.vertex_count].any(axis=1)
        )
        return {(int(body), int(body)) for body in np.unique(self._system.bodies_of(stopped))}

    def _points(self, nodes: Points) -> Points:
        """Return the (V, 3) points of the surface from (N, 3) positions of the nodes."""
        out = np.empty((len(self.points_of.nodes), 3))
        use_threads(len(out), POINTS_PER_THREAD)
        gather(self.points_of, nodes, out)
        return out

    def _linearize_contacts(
        self,
        at: Points,
        points: Points,
        moves: Points,
        ends: Points,
        displacements: Points,
    ) -> int:
        """Linearize contacts; return their number."""
        candidates = self._candidates
        shares = np.empty(len(candidates.distances))
        pair_data = (candidates.stencils, self._motion.dhats, candidates.blocked)
        surface_data = (self.surface.topology, self.laws, points, ends)
        use_threads(len(shares), PAIRS_PER_THREAD)
        find_pairs(*pair_data, *surface_data, candidates.distances, shares)
        pairs = np.flatnonzero(shares)
        while True:
            out: Constraints = self._constraints
            count = len(pairs)
            if count <= len(out.forces):
                use_threads(count, CONTACTS_PER_THREAD)
                nodes = (self.points_of, displacements, self._mobility)
                write_pairs(pairs, *pair_data, *surface_data, shares, *nodes, out)
            if self._ground is not None:
                node_state = (at, moves, displacements, self._mobility)
                count = find_ground(*self._ground, *node_state, out, count)
            if count <= len(out.forces):
                return count
            self._constraints = no_constraints(2 * count, self.points_of.nodes.shape[1])

    def _linearize_flat_tets(self, at: Points, predicted: Points) -> int:
        """Linearize the heights of flat tets; return their number."""
        while True:
            out: FlatTets = self._flat
            count = 0
            for tets in self._tets:
                use_threads(len(tets.volumes), TETS_PER_THREAD)
                count = find_flat(tets, FLOOR_RATIO, at, predicted, self._mobility, out, count)
            if count <= len(out.forces):
                return count
            self._flat = no_flat_tets(2 * count)

    def _relax_contacts(self, at: Points, flat_tets: int, moves: Points, passes: int) -> None:
        """Relax contacts and flat tets, and change (N, 3) moves of nodes accordingly."""
        if self._count + flat_tets == 0:
            return
        constraints, flat, count = self._constraints, self._flat, self._count
        nodes, corners = constraints.nodes[:count], flat.corners[:flat_tets]
        islands = find_islands(nodes, corners, self._mobility)
        data = (constraints, flat, FLOOR_RATIO, self._mobility, moves, passes, RELATIVE_TOLERANCE)
        sizes = np.diff(islands.contact_offsets)
        halved, places, cut = int(np.argmax(sizes)), at[:0, 0], 0.0
        if sizes[halved] >= MIN_HALVED and 2 * sizes[halved] > count:
            first, last = islands.contact_offsets[halved : halved + 2]
            spread = at[nodes[islands.contacts[first:last], 0]]
            axis = int(np.argmax(spread.std(axis=0)))
            places, cut = at[:, axis], float(np.median(spread[:, axis]))
        else:
            halved = -1
        threads = use_threads(count, CONTACTS_PER_THREAD)
        relax_islands(*(islands, halved, np.ascontiguousarray(places), cut, *data, threads))
