# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact between the surfaces of a scene, as energies of the vertices of its tetrahedra."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...assembly.block_matrix import BlockMatrix, OffPatternBlocks
from ...assembly.tensor_channel import CachedAt
from ...geometry.tet_mesh import TetMesh
from ...kernels.flat_tets import no_flat_tets
from ...scene.collision_points import contact_distances, pair_distances
from ...scene.friction import FrictionTable
from ...scene.scene import Scene
from ..potential import Potential, TimeStep
from . import accepted_moves
from .approach_limit import ApproachLimit
from .barrier import AdaptiveStiffness, ContactBarrier, physical_stiffness
from .collision_detection import MIN_DISTANCE_ROUNDINGS, Detection
from .friction import ContactFriction
from .normal_collisions import NormalCollisions, Stencils, assembled
from .persistent_candidates import PersistentCandidates
from .surface import CollisionSurface, Points, Values
from .truncated_motion import DisplacementLimit, TruncatedMotion, longest_move

# Distances up to this ratio of the one that shrank the most count as blocked, too.
NARROWEST_RATIO = 1.05
# Below this share of the smaller one's diagonal a second, a pair sticks: three times the ground's
# ratio, since a line search cannot project its steps onto surfaces.
STICK_SPEED_RATIO = 3e-4


class MeshContact(Potential):
    """Barrier and friction at work on the positions of all bodies, (3, N) in metres.

    Both are one energy, since their Hessians are pulled back to tets in one product.

    Colliders are at the positions ``colliders``, (C, 3) in metres. Energies are defined on the
    linear trajectory for which candidates were built last.

    Args:
        scene: with contact; its bodies have tetrahedra.
        meshes: those of its bodies.
        mean_mass: of the vertices, in kg.
    """

    is_stiff = True
    has_friction = True

    def __init__(self, scene: Scene, meshes: list[TetMesh], mean_mass: float) -> None:
        contact = scene.contact
        assert contact is not None
        self._area_weighted = contact.formulation == "convergent"
        self.surface = CollisionSurface(scene, meshes)
        #: (O, O) d̂ of every two objects, in metres.
        self.distances = contact_distances(scene)
        self._detection = Detection(self.surface, self.distances)
        self._meshes = meshes
        self._adaptive: AdaptiveStiffness | None = None
        stiffness: float | Values = contact.stiffness or 1.0
        if self._area_weighted:
            stiffness = physical_stiffness(scene)
        elif contact.stiffness is None:
            self._adaptive = AdaptiveStiffness(float(self.distances.max()), mean_mass)
        self.barrier = ContactBarrier(self.surface, stiffness, self._area_weighted)
        coefficients = FrictionTable(scene).mesh_pairs
        self._friction: ContactFriction | None = None
        if coefficients.act:
            self._friction = ContactFriction(self.surface, self.barrier, coefficients)
        self._updates = contact.friction_updates or math.inf
        self._updates_left = 0.0
        #: (O, O) diagonal of the smaller one of two objects, in metres.
        self.sizes = pair_distances([mesh.diagonal for mesh in meshes], len(scene.meshes))
        self._limit = DisplacementLimit(self.surface)
        self._stencils = CachedAt(self._find_stencils)
        self._static_candidates = CachedAt(self._find_static_candidates)
        self.colliders = self.surface.colliders_at(0, 0.0)
        #: (O, O) below which two objects stick, in metres.
        self.stick_thresholds = np.zeros_like(self.sizes)
        #: Steps of a search that had to be cut, in this frame.
        self.limited_steps = 0

    # Positions

    @property
    def colliders(self) -> Points:
        """Return the (C, 3) positions of the colliders, in metres."""
        return self._colliders

    @colliders.setter
    def colliders(self, collider_points: Points) -> None:
        self._colliders = collider_points
        self._stencils.forget()
        self._static_candidates.forget()

    def points(self, positions: Tensor, colliders: Points | None = None) -> Points:
        """Return the (V, 3) points of the surface; colliders are at their present positions by
        default.
        """
        collider_points = self._colliders if colliders is None else colliders
        return self.surface.points(positions.cpu().numpy(), collider_points)

    def _find_stencils(self, positions: Tensor) -> Stencils:
        """Collisions among the candidates that were built last."""
        points = self.points(positions)
        collisions = NormalCollisions.of(
            self._detection.candidates,
            points,
            self.surface.topology,
            self.distances,
            self._area_weighted,
            self.surface,
        )
        return Stencils.of(collisions, points)

    def _find_static_candidates(self, positions: Tensor) -> None:
        points = self.points(positions)
        self._detection.build_swept_candidates(points, points)
        self._stencils.forget()

    # Collision detection
    def max_step_size(
        self, positions: Tensor, displacement: Tensor, collider_displacement: Points, limit: float
    ) -> float:
        """The largest step size, at most ``limit``, with which few candidates are expected.

        Args:
            positions: (3, N) from which vertices go.
            displacement: (3, N) of vertices in metres.
            collider_displacement: (C, 3) of colliders in metres.
        """
        displacements = self.surface.points(displacement.cpu().numpy(), collider_displacement)
        return self._limit.step_size(self.points(positions), displacements, limit)

    @cached_property
    def approach_limit(self) -> ApproachLimit:
        """Tells how far surfaces may go against each other in one step."""
        thickness = [float(mesh.mean_edges.mean()) for mesh in self._meshes]
        colliders = len(self.surface.names) - len(thickness)
        return ApproachLimit(self.surface, np.array([*thickness, *[math.inf] * colliders]))

    def build_static_candidates(self, positions: Tensor) -> None:
        """Builds the candidates at (3, N) positions, unless those are the ones built last."""
        self._static_candidates(positions)

    def collision_free_step_size(
        self,
        before: Tensor,
        after: Tensor,
        colliders: Points | None = None,
        min_separation: float = 0.0,
    ) -> float:
        """Build swept candidates between two (3, N) positions, and test them.

        Args:
            colliders: (C, 3) positions of colliders at the end; None where they stay.
            min_separation: distance that has to be left between surfaces, in metres.

        Returns:
            The share of the displacement that is free of collisions.
        """
        start, end = self.points(before), self.points(after, colliders)
        self._detection.build_swept_candidates(start, end)
        self._static_candidates.forget()
        rounding = torch.finfo(before.dtype).eps * max(abs(start).max(), abs(end).max())
        return self._detection.collision_free_step_size(start, end, min_separation, rounding)

    @cached_property
    def _truncated_motion(self) -> TruncatedMotion:
        surface, detection = self.surface, self._detection
        vertices = sum(len(mesh.vertices) for mesh in self._meshes)
        candidates = PersistentCandidates(surface, detection.broad_phase, detection.radii)
        owners = np.arange(vertices + len(self._colliders))
        points = surface.interpolation(vertices)
        return TruncatedMotion(surface, self.distances, candidates, points, None, owners)

    def truncated(self, positions: Tensor, displacement: Tensor, mobility: Tensor) -> Tensor:
        """(3, N) displacement, made as far as surfaces stay apart: pairs that would collide are
        pushed apart, and each vertex of those that still would stops.

        Args:
            positions: (3, N) from which vertices go; colliders stay.
            displacement: (3, N) in metres.
            mobility: (N,) in metres a newton; zero where pinned.
        """
        no_displacement = np.zeros_like(self._colliders)
        nodes = np.concatenate([positions.T.cpu().numpy(), self._colliders])
        moves = np.concatenate([displacement.T.cpu().numpy(), no_displacement])
        mobilities = np.concatenate([mobility.cpu().numpy(), no_displacement[:, 0]])
        motion, points = self._truncated_motion, np.ascontiguousarray(self.points(positions))
        motion.forget_candidates()
        longest = longest_move(moves, self.distances)
        rounding = np.finfo(np.float64).eps * float(abs(nodes).max())
        flat, least = (no_flat_tets(1), 0), float(MIN_DISTANCE_ROUNDINGS * rounding)
        reached = motion.advance(
            nodes, points, moves, mobilities, least, 0.0, flat, longest, np.zeros_like(moves)
        )
        reached_moves = (reached.nodes - nodes)[: positions.shape[1]]
        return torch.as_tensor(reached_moves.T.copy()).to(displacement)

    def report_move(self, before: Tensor, after: Tensor, colliders: Points | None = None) -> None:
        """Report an accepted straight move to its observers.

        Args:
            before, after: (3, N) positions.
            colliders: (C, 3) positions of colliders at the end; None where they stay.
        """
        if accepted_moves.are_observed():
            ends = self.points(before), self.points(after, colliders)
            accepted_moves.report(self.surface, *ends)

    def blocked(self, before: Points, after: Points) -> set[int]:
        """The objects whose distance shrank the most between two (V, 3) positions, among the swept
        candidates that were built last."""
        distances = [self._detection.vertex_distances(points) for points in (before, after)]
        is_near = np.isfinite(distances[0])
        ratio = np.full(len(is_near), math.inf)
        ratio[is_near] = distances[1][is_near] / distances[0][is_near]
        # The other side of the same collision may have had something else as near before.
        left = distances[1][ratio.argmin()]
        narrowest = (ratio <= NARROWEST_RATIO * ratio.min()) | np.isclose(
            distances[1], left, 1e-6, 0.0
        )
        return set(self.surface.object_of[narrowest].tolist())

    # The step

    def begin(self, colliders: Points | None) -> None:
        """Begins a step with (C, 3) colliders where the previous one moved them."""
        self.colliders = self.surface.colliders_at(0, 0.0) if colliders is None else colliders
        self.limited_steps = 0

    def begin_time_step(self, step: TimeStep) -> None:
        thresholds = STICK_SPEED_RATIO * step.stick_time * self.sizes
        self.begin_step(
            step.start, thresholds, self.points(step.friction_origin, step.collider_origin)
        )

    def begin_step(
        self, start: Tensor, stick_thresholds: float | Values, origin: Points | None = None
    ) -> None:
        """Takes normal forces from (3, N) ``start``.

        Args:
            stick_thresholds: displacements below which two objects stick, ε_v h in metres: one for
                all, or (O, O) of every two.
            origin: (V, 3) that tangential displacements are measured from; None is ``start``.
        """
        self._updates_left = self._updates
        self.stick_thresholds = np.broadcast_to(stick_thresholds, self.sizes.shape)
        self.build_static_candidates(start)
        if self._friction is not None:
            origin = self.points(start) if origin is None else origin
            self._friction.begin_step(origin, self.stick_thresholds)
            self.update_lagged(start)

    @property
    def adapts(self) -> bool:
        """Whether the stiffness does."""
        return self._adaptive is not None

    def adapt_at_start(self, positions: Tensor, step: float, gradient: Tensor) -> None:
        """Finds the stiffness to begin with, where it adapts.

        Args:
            gradient: (3, N) of all other energies.
        """
        assert self._adaptive is not None
        self.build_static_candidates(positions)
        stencils = self._stencils(positions)
        self.barrier.stiffness = 1.0
        # Forces on colliders need no balance.
        barrier_gradient = self.barrier.gradient(stencils)[: self.surface.body_count]
        other_gradient = self.surface.displacement_map @ gradient.T.cpu().numpy()
        points = stencils.points
        self.barrier.stiffness = self._adaptive.begin_step(
            points, step, other_gradient, barrier_gradient
        )

    def after_iteration(self, positions: Tensor) -> bool:
        """Makes the barrier stiffer where surfaces get too close; returns whether it did."""
        if self._adaptive is None:
            return False
        before = float(self.barrier.stiffness)
        stiffness = self._adaptive.update(before, self.min_distance(positions))
        if stiffness != before:
            self.barrier.stiffness = stiffness
        return stiffness != before

    def update_lagged(
        self, positions: Tensor, fraction: float = 1.0, settled: bool = True
    ) -> tuple[float, float]:
        """Takes the normal forces of friction from (3, N) positions, as often as is allowed, once
        the search has settled."""
        if self._friction is None or self._updates_left <= 0 or not settled:
            return 0.0, 0.0
        self._updates_left -= 1
        return self._friction.update_lagged(self._stencils(positions), fraction)

    def stick_drift(self, before: Tensor, after: Tensor) -> float:
        """Return the largest drift of sticking pairs between two (3, N) positions, in units of
        their stick thresholds.
        """
        if self._friction is None:
            return 0.0
        return self._friction.stick_drift(self.points(before), self.points(after))

    # Energies

    def energy(self, positions: Tensor) -> Tensor:
        """In joules."""
        stencils = self._stencils(positions)
        total = self.barrier.energy(stencils)
        if self._friction is not None:
            total += self._friction.energy(stencils.points)
        return positions.new_tensor(total)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds (3, N) in newtons to ``out``."""
        stencils = self._stencils(positions)
        gradient = self.barrier.gradient(stencils)
        if self._friction is not None:
            gradient = gradient + self._friction.gradient(stencils.points)
        out += torch.as_tensor(self.surface.pull_back(gradient)).to(out)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        surface, pattern = self.surface, matrix.pattern
        hessian, vertex_to_unknown = self.hessian(positions, projected), pattern.vertex_to_unknown
        if surface.vertex_indices is not None:
            vertex_to_unknown = np.full(len(surface.object_of), -1)
            vertex_to_unknown[: surface.body_count] = pattern.vertex_to_unknown[
                surface.vertex_indices
            ]
        else:
            hessian = surface.pull_back_matrix(hessian)
        matrix.add_off_pattern(
            OffPatternBlocks.of(hessian, vertex_to_unknown, pattern.size, matrix.dtype)
        )

    def hessian(self, positions: Tensor, projected: bool) -> Any:
        """Return the (3V, 3V) sparse Hessian over the surface's vertices, in N/m. It is always
        positive semi-definite, unlike the exact Hessian of the barrier on sliding and rolling
        surfaces."""
        stencils = self._stencils(positions)
        points, parts = stencils.points, [self.barrier.hessian_factors(stencils)]
        if self._friction is not None:
            parts.append(self._friction.hessian_factors(points, projected))
        return assembled(parts, len(points))

    def hessian_product(
        self, positions: Tensor, displacement: Tensor, collider_displacement: Points
    ) -> Tensor:
        """(3, N) Hessian–vector product in newtons: the change of the gradient.

        Args:
            displacement: (3, N) of vertices in metres.
            collider_displacement: (C, 3) of colliders in metres.
        """
        moved = self.surface.points(displacement.cpu().numpy(), collider_displacement)
        change = self.hessian(positions, True) @ np.ascontiguousarray(moved).ravel()
        return torch.as_tensor(self.surface.pull_back(change.reshape(-1, 3))).to(positions)

    # Statistics
    def kinematic_pairs(
        self, positions: Tensor, pinned: Tensor
    ) -> tuple[NDArray[np.int64], Values]:
        """Return the pairs in contact without a free vertex.

        Args:
            pinned: (N,) vertices that do not.

        Returns:
            (K, 2) objects, the lower one first, and (K,) distances in metres.
        """
        stencils = self._stencils(positions)
        surface = self.surface
        is_kinematic = np.ones(len(surface.object_of), dtype=bool)
        is_kinematic[: surface.body_count] = (
            surface.displacement_map @ (~pinned.cpu().numpy()).astype(float) == 0.0
        )
        collisions = stencils.collisions
        mask = is_kinematic[collisions.vertices].all(axis=1)
        return collisions.objects[mask], stencils.distances[mask]

    def min_distance(self, positions: Tensor) -> float:
        """The least distance between surfaces in contact, in metres; infinite where none are."""
        return float(self._stencils(positions).distances.min(initial=math.inf))

    def objects_in_contact(self, positions: Tensor) -> set[int]:
        """The objects that are within the activation distance of others or themselves."""
        self.build_static_candidates(positions)
        return set(self._stencils(positions).collisions.objects.ravel().tolist())

    def objects_that_push(self, positions: Tensor) -> NDArray[np.int64]:
        """(K, 2) objects that are within the activation distance of each other, among the
        candidates that were built last."""
        objects: NDArray[np.int64] = np.unique(self._stencils(positions).collisions.objects, axis=0)
        return objects

    def count(self, positions: Tensor) -> int:
        """Return the number of collisions."""
        return len(self._stencils(positions))
