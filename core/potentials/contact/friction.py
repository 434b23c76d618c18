# SPDX-License-Identifier: GPL-3.0-or-later
"""Coulomb friction between surfaces as a smooth energy of one time step."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...scene.friction import MIN_SLIDE_RATIO, Coefficients, f0, slide_stiffness
from .barrier import ContactBarrier
from .normal_collisions import HessianFactors, Stencils
from .surface import CollisionSurface, Points, Values

# A relaxed update leaves out pairs with less than this ratio of the largest force.
MIN_FORCE_RATIO = 1e-3


@dataclass(frozen=True, eq=False)
class _SlidingPairs:
    """K pairs that press on each other.

    Args:
        vertices: (K, 4).
        tangent_jacobians: (K, 2, 4, 3) of the displacements in their planes.
        force_limits: (K,) μ N, the static friction force at most, in newtons.
        drops: (K,) by which kinetic friction is lower.
        thresholds: (K,) displacements below which they stick, in metres.
    """

    vertices: NDArray[np.int64]
    tangent_jacobians: Values
    force_limits: Values
    drops: Values
    thresholds: Values

    def relaxed(self, before: _SlidingPairs, fraction: float) -> _SlidingPairs:
        """Return these pairs with a fraction of their forces, and with the rest of the forces that
        the pairs had before. Pairs that are in both have the planes of now."""
        both = {
            field.name: np.concatenate([getattr(self, field.name), getattr(before, field.name)])
            for field in fields(self)
        }
        _, first, number = np.unique(
            both["vertices"], axis=0, return_index=True, return_inverse=True
        )
        shares = np.repeat([fraction, 1.0 - fraction], [len(self.vertices), len(before.vertices)])
        limits = np.bincount(number.ravel(), shares * both["force_limits"], len(first))
        acting = limits > MIN_FORCE_RATIO * limits.max(initial=0.0)
        chosen = {name: values[first[acting]] for name, values in both.items()}
        return replace(_SlidingPairs(**chosen), force_limits=limits[acting])


class ContactFriction:
    """Σ μ N ε f₀(|u|/ε), u the tangential velocity of a pair at the end of the step
    times the seconds from velocities to positions.

    The law is that of ``core/scene/friction.py``. The normal forces N, the closest points and the
    planes to slide in are those where ``update_lagged`` was called last.

    Args:
        surface: the collision surface.
        barrier: the barrier, which gives the normal forces.
        coefficients: (O, O) of every two objects.
    """

    def __init__(
        self, surface: CollisionSurface, barrier: ContactBarrier, coefficients: Coefficients
    ) -> None:
        self._surface, self._barrier, self._coefficients = surface, barrier, coefficients
        self._drops = coefficients.drop
        self._normal_forces = np.zeros(len(surface.object_of))
        nothing = np.empty(0)
        self._set_pairs(
            _SlidingPairs(
                np.empty((0, 4), dtype=np.int64), np.empty((0, 2, 4, 3)), *([nothing] * 3)
            )
        )

    def begin_step(self, start: Points, stick_thresholds: Values) -> None:
        """Measures displacements from (V, 3) ``start``; pairs stick below (O, O)
        ``stick_thresholds`` ε of their objects, in metres."""
        self._start, self._stick_thresholds = start, stick_thresholds

    def update_lagged(self, stencils: Stencils, fraction: float = 1.0) -> tuple[float, float]:
        """Takes normal forces and planes from collisions.

        Args:
            fraction: the part of the change of normal forces to make.

        Returns:
            The sum of the changes of vertex forces, and the sum of these forces, in newtons.
        """
        normal_forces = np.linalg.norm(self._barrier.gradient(stencils), axis=1)
        change = normal_forces - self._normal_forces
        # A whole update leaves no rounding of earlier values, so that a resumed run has the same
        # bits.
        whole = fraction == 1.0
        self._normal_forces = normal_forces if whole else self._normal_forces + fraction * change
        pairs = self._sliding_pairs(stencils)
        self._set_pairs(pairs if whole else pairs.relaxed(self._pairs, fraction))
        return float(np.abs(change).sum()), float(normal_forces.sum())

    def _sliding_pairs(self, stencils: Stencils) -> _SlidingPairs:
        """The pairs that collisions press on each other, with the forces there."""
        # The closest points of almost parallel edges could be anywhere.
        stencils = stencils.where(stencils.mollifiers == 1.0)
        forces, objects = self._barrier.forces(stencils), stencils.collisions.objects
        groups = objects @ [len(self._coefficients.static), 1]
        forces = _without_negative(forces, groups)
        acting = forces > 0.0
        stencils, forces = stencils.where(acting), forces[acting]
        first, second = stencils.collisions.objects.T
        limits = forces * self._coefficients.static[first, second]
        if len(factors := self._surface.friction_factors):
            shares = painted_shares(stencils.coefficients, factors[stencils.collisions.vertices])
            limits = limits * shares
        return _SlidingPairs(
            stencils.collisions.vertices,
            _tangent_jacobians(stencils.coefficients, stencils.normals),
            limits,
            self._drops[first, second],
            self._stick_thresholds[first, second],
        )

    def _set_pairs(self, pairs: _SlidingPairs) -> None:
        self._pairs = pairs
        self._displacement_map = _displacement_matrix(
            pairs.vertices, pairs.tangent_jacobians, len(self._surface.object_of)
        )

    def stick_drift(self, before: Points, after: Points) -> float:
        """Return the largest drift of pairs that stuck at (V, 3) ``before``, in units of their
        stick thresholds."""
        first = self._tangential_displacements(before)
        second = self._tangential_displacements(after)
        sticks = np.linalg.norm(first, axis=1) < self._pairs.thresholds
        moved = np.linalg.norm(second - first, axis=1) / self._pairs.thresholds
        return float(moved[sticks].max(initial=0.0))

    def energy(self, points: Points) -> float:
        """In joules, at (V, 3) points."""
        pairs = self._pairs
        ratio = self._lengths(self._tangential_displacements(points)) / pairs.thresholds
        return float((pairs.thresholds * pairs.force_limits) @ f0(ratio, pairs.drops))

    def gradient(self, points: Points) -> Points:
        """Return the (V, 3) gradient in newtons."""
        displacements = self._tangential_displacements(points)
        stiffness, _ = self._stiffness(self._lengths(displacements))
        flat = self._displacement_map.T @ (stiffness[:, None] * displacements).ravel()
        return np.asarray(flat).reshape(-1, 3)

    def hessian_factors(self, points: Points, projected: bool) -> HessianFactors:
        """The second derivative at (V, 3) points, positive semi-definite.

        Projected, it is as stiff along the displacement as across it: a bound from above, with
        which no step leaps over the place where a pair would stick.
        """
        pairs, displacements = self._pairs, self._tangential_displacements(points)
        across, along = self._stiffness(self._lengths(displacements))
        if projected:
            return HessianFactors(
                pairs.vertices, pairs.tangent_jacobians, np.stack([across, across], axis=1)
            )
        angles = np.arctan2(displacements[:, 1], displacements[:, 0])
        cos, sin = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
        first, second = pairs.tangent_jacobians.swapaxes(0, 1)
        rows = np.stack([cos * first + sin * second, cos * second - sin * first], axis=1)
        weights = np.stack([np.maximum(along, 0.0), across], axis=1)
        return HessianFactors(pairs.vertices, rows, weights)

    def _stiffness(self, lengths: Values) -> tuple[Values, Values]:
        """The force over the displacement, and its derivative along that, in N/m."""
        pairs = self._pairs
        return slide_stiffness(lengths, pairs.thresholds, pairs.force_limits, pairs.drops)

    def _tangential_displacements(self, points: Points) -> Points:
        """Return the (K, 2) tangential displacements of the pairs, in their planes."""
        displacement = np.ascontiguousarray(points - self._start).ravel()
        return np.asarray(self._displacement_map @ displacement).reshape(-1, 2)

    def _lengths(self, displacements: Points) -> Values:
        """(K,) never quite zero, for the sake of directions."""
        shortest = MIN_SLIDE_RATIO * self._pairs.thresholds
        return np.maximum(np.linalg.norm(displacements, axis=1), shortest)


def painted_shares(coefficients: Values, factors: Values) -> Values:
    """Return the (K,) factors √(f₁ f₂) of painted friction at the closest points of pairs.

    Args:
        coefficients: (K, 4) of vertices in the difference of the closest points: those of the first
            are above zero, those of the second below.
        factors: (K, 4) on the friction at the vertices.
    """
    first = (coefficients.clip(min=0.0) * factors).sum(axis=1)
    second = (-coefficients.clip(max=0.0) * factors).sum(axis=1)
    return np.sqrt(first * second)


def _without_negative(forces: Values, groups: NDArray[np.int64]) -> Values:
    """Return (K,) nonnegative forces with the same sum in each group of pairs.

    Pairs of negative weight cancel others beside them; friction of their own would push.
    """
    size = int(groups.max(initial=0)) + 1
    whole = np.bincount(groups, forces, size)
    positive = np.maximum(forces, 0.0)
    present = np.bincount(groups, positive, size)
    ratio = np.divide(whole, present, out=np.zeros(size), where=present > 0.0)
    return positive * np.clip(ratio, 0.0, 1.0)[groups]


def _tangent_jacobians(coefficients: Values, normals: Points) -> Values:
    """Return the (K, 2, 4, 3) Jacobians of tangential displacements in two directions across (K,
    3) normals."""
    # The axis that the normal has least of gives a first direction in the plane.
    axes = np.eye(3)[np.abs(normals).argmin(axis=1)]
    first = np.cross(normals, axes)
    first /= np.linalg.norm(first, axis=1)[:, None]
    basis = np.stack([first, np.cross(normals, first)], axis=1)
    return coefficients[:, None, :, None] * basis[:, :, None]


def _displacement_matrix(vertices: NDArray[np.int64], tangent_jacobians: Values, count: int) -> Any:
    """Return the (2K, 3V) map from displacements of vertices to the tangential ones of pairs."""
    columns = (3 * vertices[:, :, None] + np.arange(3)).reshape(-1, 12)
    columns = np.repeat(columns, 2, axis=0)
    offsets = 12 * np.arange(len(columns) + 1)
    return sparse.csr_array(
        (tangent_jacobians.ravel(), columns.ravel(), offsets), shape=(len(columns), 3 * count)
    )
