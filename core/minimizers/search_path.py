# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths of a line search: straight, and projected onto the ground."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..kernels.ground_path import SmoothFriction, lift, solve_tangential_displacements
from ..kernels.obstacles import SEARCH_RADIUS_RATIO, EmbeddedGround
from ..obstacles import PointArrays, barrier_proximal, smallest_ratio
from ..potentials import GroundBarrier, GroundFriction, Inertia, Potential
from ..potentials.contact.mesh_contact import MeshContact
from ..potentials.ground import EmbeddedPoints


class GroundProjectedPath:
    """Projects straight steps so that they slide along the ground instead of ending at it.

    A Newton step takes the barrier for a parabola. A vertex about to land does not see the ground
    at all, and the straight step through it would have to be cut short for the whole scene. But
    each vertex touches the ground on its own. With k its own stiffness in the model without ground,
    its height on the curve is the one with

        k (z − z₀) + q(t) + b'(z) = 0,    q(t) = −(k + b''(z₀)) t Δz − b'(z₀),

    the very equation whose linearisation around z₀ the Newton step Δz solves. The curve starts at
    z₀ in the direction Δz, so a line search along it is one for the energy; it never reaches the
    ground; and its end is right for each vertex wherever the step is right for its neighbours.
    Horizontal friction is treated the same way, except that a point that slides at z₀ goes on
    against the same force, even if its coefficient falls. If the Hessian had the bound of
    friction's, the curve starts faster than the step, and its end is still right for each vertex.

    Args:
        barrier, friction: of the ground; no friction where that is None.
    """

    def __init__(self, barrier: GroundBarrier, friction: GroundFriction | None) -> None:
        self._barrier, self._friction = barrier, friction

    def start(
        self, positions: Tensor, direction: Tensor, stiffness: Tensor, bounded: bool = False
    ) -> None:
        """Begins a curve at (3, N) ``positions``.

        Args:
            direction: (3, N) Newton step in metres.
            stiffness: (2, S) horizontal and vertical stiffness of the barrier's vertices without
                the ground, in N/m.
            bounded: whether the Hessian had the bound of friction's.
        """
        barrier, friction = self._barrier, self._friction
        self._positions, self._direction, self._stiffness = positions, direction, stiffness
        point_direction = direction[:, barrier.vertices]
        self._vertical_force = (
            stiffness[1] + barrier.second_derivative(positions)
        ) * point_direction[2]
        self._barrier_slope = -barrier.normal_force(positions)
        if friction is not None:
            self._displacement = friction.displacement(positions)
            self._limit = friction.limit_at(self._displacement)
            curvature = friction.second_derivative(self._displacement, bounded)
            self._horizontal_force = stiffness[0] * point_direction[:2] + (
                curvature * point_direction[None, :2]
            ).sum(1)
            self._friction_force = friction.force(self._displacement)

    def at(self, fraction: float) -> Tensor:
        """(3, N) positions a ``fraction`` of the Newton step on."""
        positions = self._positions + fraction * self._direction
        barrier, vertices = self._barrier, self._barrier.vertices
        stiffness = self._stiffness[1]
        before = self._positions[2, vertices]
        target = before + (fraction * self._vertical_force + self._barrier_slope) / stiffness
        ratio = (target - barrier.height) / barrier.distances
        touching = ratio < 1.0
        solved = barrier_proximal(ratio, barrier.weights / (stiffness * barrier.distances))
        lowered = torch.where(touching, barrier.height + solved * barrier.distances, target)
        positions[2, vertices] = lowered
        if self._friction is not None:
            displacement = self._tangential_displacement(self._friction, fraction)
            positions[:2, vertices] = self._positions[:2, vertices] + (
                displacement - self._displacement
            )
        return positions

    def project_onto_ground(self, start: Tensor, predicted: Tensor, stiffness: Tensor) -> Tensor:
        """(3, N) the initial guess for the end of a step.

        A vertex that lands on the ground comes to rest as if it were alone. One in contact with it
        already, and predicted to be, stays: whether it slides depends on its neighbours.

        Args:
            start: (3, N) of the step.
            predicted: (3, N) where it would end without the ground.
            stiffness: (N,) of each vertex by itself, in N/m.
        """
        barrier, vertices = self._barrier, self._barrier.vertices
        ratio = barrier.ratio(predicted)
        is_low = ratio < 1.0
        in_contact = is_low & (barrier.ratio(start) < 1.0)
        alone = barrier.weights / (stiffness[vertices] * barrier.distances)
        equilibrium_heights = barrier.height + barrier_proximal(ratio, alone) * barrier.distances
        guess = predicted.clone()
        heights = torch.where(is_low, equilibrium_heights, predicted[2, vertices])
        guess[2, vertices] = torch.where(in_contact, start[2, vertices], heights)
        if self._friction is not None:
            guess[:2, vertices] = torch.where(
                in_contact, start[:2, vertices], predicted[:2, vertices]
            )
        return guess

    def _tangential_displacement(self, friction: GroundFriction, fraction: float) -> Tensor:
        """(2, S) u with k u + μN f₁(|u|/ε) u/|u| = w, where w is the force of the step."""
        stiffness = self._stiffness[0]
        moved = fraction * self._horizontal_force
        force = stiffness * self._displacement + moved + self._friction_force
        size = torch.hypot(*force)
        limit, threshold = self._limit, friction.stick_threshold
        sliding = (size - limit) / stiffness
        linear = stiffness + 2.0 * limit / threshold
        root = (
            (linear * linear - 4.0 * limit * size / (threshold * threshold)).clamp(min=0.0).sqrt()
        )
        length = torch.where(sliding >= threshold, sliding, 2.0 * size / (linear + root))
        return force * (length / size.clamp(min=torch.finfo(size.dtype).tiny))


# Iterations end when no height changes by more than the first ratio of the activation distance and
# no displacement by more than the second ratio of the stick threshold, or after the most sweeps.
# Less exact iterations make the steps of a search less exact.
HEIGHT_TOLERANCE_RATIO, DISPLACEMENT_TOLERANCE_RATIO, MAX_SWEEPS = 1e-4, 1e-2, 500
# A step that changes no height above the ground and no displacement by more than this share may be
# straight.
STRAIGHT_RATIO = 0.3
# A search begins with no step that lifts a point by more than this share of the size of its tet.
MAX_LIFT_RATIO = 0.25


class EmbeddedGroundProjectedPath:
    """The ``GroundProjectedPath`` of points that follow several vertices each.

    With k the stiffness of each vertex in the model without ground, the heights on the curve are
    those with

        k (z − z₀) + q(t) + ∇b(z) = 0,    q(t) = −(k + ∇²b(z₀)) t Δz − ∇b(z₀),

    solved for all points at once, and tangential displacements point by point.

        Args:
            barrier, friction: of the ground; no friction where that is None.
            free: (N,) which vertices move.
    """

    def __init__(
        self, barrier: GroundBarrier, friction: GroundFriction | None, free: Tensor
    ) -> None:
        assert isinstance(barrier.points, EmbeddedPoints)
        self._barrier, self._friction, self._free = barrier, friction, free
        self._points = barrier.points
        self._arrays = PointArrays(self._points)
        self._weights, self._distances = (
            values.cpu().numpy() for values in (barrier.weights, barrier.distances)
        )

    def start(
        self, positions: Tensor, direction: Tensor, stiffness: Tensor, bounded: bool = False
    ) -> None:
        """Begins a curve at (3, N) ``positions``.

        Args:
            direction: (3, N) Newton step in metres.
            stiffness: (2, U) horizontal and vertical stiffness of the vertices that carry points,
                without the ground, in N/m.
            bounded: whether the Hessian had the bound of friction's.
        """
        barrier, points = self._barrier, self._points
        self._positions = positions
        self._last: tuple[float, Tensor] = (math.nan, positions)
        self._compliance = torch.zeros_like(positions[:2])
        self._compliance[:, points.vertices] = 1.0 / stiffness
        forces = torch.zeros_like(positions)
        along = points.gather(direction)
        points.add(barrier.second_derivative(positions) * along[2], forces[2])
        self._normal_forces = barrier.normal_force(positions)
        if self._friction is not None:
            displacement = self._friction.displacement(positions)
            self._limits = self._friction.limit_at(displacement)
            points.add(
                (self._friction.second_derivative(displacement, bounded) * along[None, :2]).sum(1),
                forces[:2],
            )
            self._friction_forces = self._friction.force(displacement)
        # The step without the forces of the ground, which are linear in the model.
        self._free_step = direction + self._compliance[[0, 0, 1]] * forces

    def is_curved(self, positions: Tensor, direction: Tensor) -> bool:
        """Whether forces of the ground change too much along a step for the model.

        A path is found to a tolerance, so that a step shorter than that has to be straight.
        """
        along = self._points.gather(direction)
        ratio = self._barrier.ratio(positions)
        fall = along[2] / self._barrier.distances
        is_pressed = torch.minimum(ratio, ratio + fall) < 1.0
        if bool((is_pressed & (fall.abs() > STRAIGHT_RATIO * ratio)).any()):
            return True
        if self._friction is None:
            return False
        friction = self._friction
        displacement = torch.maximum(
            torch.hypot(*friction.displacement(positions)), friction.stick_threshold
        )
        has_friction = friction.limit > 0.0
        return bool(
            (has_friction & (torch.hypot(*along[:2]) > STRAIGHT_RATIO * displacement)).any()
        )

    def max_fraction(self) -> float:
        """The share of the Newton step, at most 1, that lifts no point by more than a quarter of
        the size of its tet: more would crush that, and be refused after all."""
        points = self._points
        height = points.gather(self._positions[2]) - self._barrier.height
        fall = -points.gather(self._free_step[2])
        low = torch.nonzero(fall > height).flatten()
        if len(low) == 0:
            return 1.0
        corners = self._positions[:, points.corners[:, low]]
        size = torch.linalg.vector_norm(corners.amax(1) - corners.amin(1), dim=0)
        # A point that is a vertex has no single tet.
        reach = torch.where(size > 0.0, height[low] + MAX_LIFT_RATIO * size, math.inf)
        return min(1.0, float((reach / fall[low]).min()))

    def at(self, fraction: float) -> Tensor:
        """(3, N) positions a ``fraction`` of the Newton step on."""
        if fraction == self._last[0]:
            return self._last[1]
        positions = self._positions + fraction * self._free_step
        positions[2] = self._lifted(positions[2], self._compliance[1], self._normal_forces)
        if self._friction is not None:
            positions[:2] = self._with_friction(self._friction, positions[:2])
        self._last = fraction, positions
        return positions

    def project_onto_ground(self, start: Tensor, predicted: Tensor, stiffness: Tensor) -> Tensor:
        """(3, N) the initial guess: see ``GroundProjectedPath.project_onto_ground``.

        Args:
            start: (3, N) of the step.
            predicted: (3, N) where it would end without the ground.
            stiffness: (N,) of each vertex by itself, in N/m.
        """
        barrier, points = self._barrier, self._points
        in_contact = (barrier.ratio(predicted) < 1.0) & (barrier.ratio(start) < 1.0)
        keeps_start = torch.zeros_like(self._free)
        keeps_start[points.corners[:, in_contact].flatten()] = True
        keeps_start &= self._free
        guess = torch.where(keeps_start, start, predicted)
        if self._friction is None:
            guess[:2] = predicted[:2]
        compliance = torch.where(self._free & ~keeps_start, 1.0 / stiffness.clamp(min=1e-300), 0.0)
        guess[2] = self._lifted(guess[2], compliance, torch.zeros_like(barrier.weights))
        return guess

    def _with_friction(self, friction: GroundFriction, positions: Tensor) -> Tensor:
        """Return (2, N) positions with the displacement by friction, and its forces on the
        points."""
        limits = self._limits.cpu().numpy()
        x, y = positions.cpu().numpy().copy()
        solve_tangential_displacements(
            x,
            y,
            self._ground(positions.dtype),
            SmoothFriction(
                friction.start_points.cpu().numpy(), limits, friction.stick_threshold.cpu().numpy()
            ),
            self._compliance[0].cpu().numpy(),
            np.flatnonzero(limits).astype(np.int32),
            self._friction_forces.cpu().numpy().copy(),
            MAX_SWEEPS,
            DISPLACEMENT_TOLERANCE_RATIO,
        )
        return torch.as_tensor(np.stack([x, y])).to(positions)

    def _lifted(self, heights: Tensor, compliance: Tensor, forces: Tensor) -> Tensor:
        """Return (N,) heights with the displacement by the ground, and its forces on the
        points."""
        # Points with a force are already where that lifts them.
        out, lifted_forces = heights.cpu().numpy().copy(), forces.cpu().numpy().copy()
        low = (self._points.gather(heights) - self._barrier.height) / self._barrier.distances
        is_near = ((low < SEARCH_RADIUS_RATIO) | (forces > 0.0)).cpu().numpy()
        near = np.flatnonzero(is_near).astype(np.int32)
        lift(
            out,
            self._ground(heights.dtype),
            compliance.cpu().numpy(),
            near,
            lifted_forces,
            HEIGHT_TOLERANCE_RATIO,
        )
        return torch.as_tensor(out).to(heights)

    def _ground(self, dtype: torch.dtype) -> EmbeddedGround:
        arrays, height = self._arrays, self._barrier.height
        shape = arrays.corners, arrays.shares, self._weights, self._distances
        return EmbeddedGround(*shape, height, smallest_ratio(dtype))


# The largest expansion of a step with a lower curvature than the model's.
MAX_EXPANSION = 64.0
# A step that nothing cuts by more is whole.
WHOLE_STEP_RATIO = 0.9
# The least descent of the secant of a ground-projected path, relative to the Newton step's.
MIN_DESCENT_RATIO = 0.1
# A path with a smaller collision-free step size than this is tried to this share of the step.
MIN_STEP_SIZE, SHORTENING_RATIO, MIN_NEWTON_FRACTION = 0.2, 0.25, 1e-3


@dataclass(frozen=True)
class SearchPath:
    """The path of a line search from a point.

    Args:
        at: (3, N) positions by the step size.
        directional_derivative: of the energy at its start, in joules.
        max_step_size: along which every energy is finite and nothing collides, at most 1.
        reaches: whether a larger step size has both, too.
        is_obstructed: whether surfaces obstruct the Newton step.
    """

    at: Callable[[float], Tensor]
    directional_derivative: float
    max_step_size: float
    reaches: Callable[[float], bool]
    is_obstructed: bool = False


class SearchPaths:
    """Finds them: projected on the ground, where vertices would have to stop one by one, and as
    long as no surfaces collide.

    Args:
        potentials: all energies, which say along which step they are finite.
        inertia: the least stiffness of a vertex.
        ground, friction: of the ground; None where there is none.
        contact: between surfaces, likewise.
        free: (N,) which vertices move.
    """

    def __init__(
        self,
        potentials: Sequence[Potential],
        inertia: Inertia,
        ground: GroundBarrier | None,
        friction: GroundFriction | None,
        contact: MeshContact | None,
        free: Tensor,
    ) -> None:
        self._potentials, self._inertia = potentials, inertia
        self._ground, self._friction, self._contact = ground, friction, contact
        self._matrix: BlockMatrix | None = None
        #: Whether paths are projected on the ground, or straight. If one kind fails, the other one
        #: is tried.
        self.follows_ground = True
        self._projected: GroundProjectedPath | EmbeddedGroundProjectedPath | None = None
        if ground is not None:
            self._projected = GroundProjectedPath(ground, friction)
            if isinstance(ground.points, EmbeddedPoints):
                self._projected = EmbeddedGroundProjectedPath(ground, friction, free)

    def set_model(self, matrix: BlockMatrix, projected: bool) -> None:
        """Sets the Hessian of all energies but the ground's, which Newton steps are made with.

        Args:
            projected: whether it is positive semi-definite.
        """
        self._matrix = matrix
        if self._ground is None:
            return
        # The path has to know which curvature friction adds.
        self._is_bounded = projected
        blocks = matrix.diagonal_blocks(self._ground.vertices)
        x, y, z = blocks.diagonal(dim1=1, dim2=2).T
        # The stiffness of a single vertex, horizontal and vertical. A Hessian that is not
        # projected may hold less than inertia alone.
        stiffness = torch.stack([0.5 * (x + y), z])
        self._stiffness = torch.maximum(stiffness, self._inertia.weight[self._ground.vertices])

    def initial_guess(self, positions: Tensor, predicted: Tensor) -> Tensor:
        """(3, N) ``predicted`` positions, projected onto the ground."""
        if self._projected is None:
            return predicted
        return self._projected.project_onto_ground(positions, predicted, self._inertia.weight)

    def find(self, positions: Tensor, direction: Tensor, gradient: Tensor) -> SearchPath:
        """The path along a Newton step.

        Args:
            direction: (3, N) the step, by the Hessian that was set last.
            gradient: (3, N) at ``positions``.
        """
        at, slope = self.curve(positions, direction), float((gradient * direction).sum())
        largest = self._max_fraction(at)
        if self._contact is None:
            # Found to a tolerance, a projected path need not begin as the step does.
            is_inexact = isinstance(self._projected, EmbeddedGroundProjectedPath)
            descent = MIN_DESCENT_RATIO * largest * slope
            if is_inexact and float((gradient * (at(largest) - positions)).sum()) > descent:
                at, largest = partial(_straight, positions, direction), 1.0
            max_size = min(largest, self.max_step(positions, direction))
            return SearchPath(at, slope, max_size, _is_within_expansion)
        fraction = largest
        # Collisions are detected along straight paths alone. If the secant to the end of a
        # projected step is shortened, one to an earlier point of it may lead further.
        path = self._secant(positions, at(fraction) - positions, gradient)
        if path.max_step_size < WHOLE_STEP_RATIO:
            # Only vertices with an obstacle stop, unless the displaced parts cost more energy than
            # the step gains.
            displacement = self._truncated(positions, at(fraction) - positions)
            other = self._secant(positions, displacement, gradient)
            if _promised_change(other) < _promised_change(path):
                self._contact.limited_steps += 1
                return replace(other, is_obstructed=True)
            # The candidates that were built last have to be those of where the search goes.
            path = self._secant(positions, path.at(1.0) - positions, gradient)
        while self._projected is not None and fraction > MIN_NEWTON_FRACTION:
            descends = path.directional_derivative <= MIN_DESCENT_RATIO * fraction * slope
            if descends and path.max_step_size > MIN_STEP_SIZE:
                break
            fraction *= SHORTENING_RATIO
            shorter = self._secant(positions, at(fraction) - positions, gradient)
            if descends and _promised_change(shorter) >= _promised_change(path):
                # The candidates that were built last have to be those of where the search goes.
                fraction /= SHORTENING_RATIO
                path = self._secant(positions, path.at(1.0) - positions, gradient)
                break
            path = shorter
        if (
            self._projected is not None
            and path.directional_derivative > MIN_DESCENT_RATIO * fraction * slope
        ):
            # Tets that are far stiffer than the ground do not follow it; the step itself descends
            # a little.
            path = self._secant(positions, fraction * direction, gradient)
        self._contact.limited_steps += path.max_step_size < 1.0
        is_obstructed = path.max_step_size < WHOLE_STEP_RATIO
        return replace(path, is_obstructed=is_obstructed)

    def _secant(self, positions: Tensor, displacement: Tensor, gradient: Tensor) -> SearchPath:
        """Along a displacement, as far as nothing collides."""
        slope = float((gradient * displacement).sum())
        scale = self._max_detectable(positions, displacement, 1.0)
        max_size = scale * self._collision_free_step_size(positions, scale * displacement)
        at = partial(_straight, positions, displacement)
        return SearchPath(at, slope, max_size, partial(self._reaches, positions, displacement))

    def _truncated(self, positions: Tensor, displacement: Tensor) -> Tensor:
        """(3, N) displacement, made as far as surfaces stay apart."""
        assert self._contact is not None and self._matrix is not None
        pattern = self._matrix.pattern
        blocks = self._matrix.values[pattern.diagonal]
        # The stiffness of each single vertex by elasticity and inertia.
        stiffness = (blocks[:, 0] + blocks[:, 4] + blocks[:, 8]) / 3.0
        inertia, mobility = self._inertia.weight, torch.zeros_like(self._inertia.weight)
        mobility[pattern.vertices] = 1.0 / torch.maximum(stiffness, inertia[pattern.vertices])
        return self._contact.truncated(positions, displacement, mobility)

    def _reaches(self, positions: Tensor, displacement: Tensor, step_size: float) -> bool:
        """Whether a displacement is free to a step size; if it is too long to detect collisions,
        the candidates remain as they are."""
        return (
            _is_within_expansion(step_size)
            and self._max_detectable(positions, displacement, step_size) == step_size
            and self._collision_free_step_size(positions, step_size * displacement) == 1.0
        )

    def _max_detectable(self, positions: Tensor, displacement: Tensor, limit: float) -> float:
        contact = self._contact
        assert contact is not None
        no_displacement = np.zeros_like(contact.colliders)
        return contact.max_step_size(positions, displacement, no_displacement, limit)

    def _collision_free_step_size(self, positions: Tensor, displacement: Tensor) -> float:
        """Return the fraction of a displacement up to which nothing collides and every energy is
        finite.
        """
        assert self._contact is not None
        free = self._contact.collision_free_step_size(positions, positions + displacement)
        return min(free, self.max_step(positions, displacement))

    def _max_fraction(self, at: Callable[[float], Tensor]) -> float:
        """The share of a Newton step that a search along a curve begins with."""
        projected = self._projected
        if not isinstance(projected, EmbeddedGroundProjectedPath) or at != projected.at:
            return 1.0
        return projected.max_fraction()

    def curve(self, positions: Tensor, direction: Tensor) -> Callable[[float], Tensor]:
        """Return a path that is projected on the ground if that obstructs a (3, N) Newton step."""
        projected = self._projected
        if projected is None or not self.follows_ground:
            return partial(_straight, positions, direction)
        if isinstance(projected, EmbeddedGroundProjectedPath) and not projected.is_curved(
            positions, direction
        ):
            return partial(_straight, positions, direction)
        projected.start(positions, direction, self._stiffness, self._is_bounded)
        return projected.at

    def max_step(self, positions: Tensor, direction: Tensor) -> float:
        """The step size, at most 1, up to which every energy is finite."""
        return min(part.max_step(positions, direction) for part in self._potentials)


def _promised_change(path: SearchPath) -> float:
    """Return the first-order change of the energy along the path, in joules."""
    return path.directional_derivative * path.max_step_size


def _is_within_expansion(step_size: float) -> bool:
    return step_size <= MAX_EXPANSION


def _straight(positions: Tensor, displacement: Tensor, step_size: float) -> Tensor:
    return positions + step_size * displacement
