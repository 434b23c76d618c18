# SPDX-License-Identifier: GPL-3.0-or-later
"""Coulomb friction between surfaces as a smooth energy of one time step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...scene.friction import Coefficients, f0, f1, f1_slope
from .barrier import ContactBarrier
from .squares import Squares
from .stencils import Stencils
from .surface import CollisionSurface
from .topology import Points, Values


class ContactFriction:
    """Σ μ N ε f₀(|u|/ε), u the way that two surfaces slid along each other since the step began.

    The law is that of ``core/scene/friction.py``. The normal forces N, the closest points and the
    planes to slide in are those where ``lag`` was called last.

    Args:
        surface: what touches.
        barrier: whose force is the normal force.
        coefficients: (O, O) of every two objects.
    """

    def __init__(
        self, surface: CollisionSurface, barrier: ContactBarrier, coefficients: Coefficients
    ) -> None:
        self._surface, self._barrier, self._coefficients = surface, barrier, coefficients
        self._drops = coefficients.drop
        self._normal_forces = np.zeros(len(surface.object_of))
        self._vertices, self._slides = np.empty((0, 4), dtype=np.int64), np.empty((0, 2, 4, 3))
        self._slide = _matrix(self._vertices, self._slides, len(surface.object_of))
        self._limit = self._drop = self._slip = np.empty(0)

    def begin_step(self, start: Points, slips: Values) -> None:
        """Measures ways from (V, 3) ``start``; below (O, O) ``slips`` of their objects, in metres,
        pairs stick."""
        self._start, self._slips = start, slips

    def lag(self, stencils: Stencils) -> tuple[float, float]:
        """Takes normal forces and planes from collisions.

        Returns:
            By how much the forces on vertices changed, added up, and their sum, in newtons.
        """
        before = self._normal_forces
        self._normal_forces = np.linalg.norm(self._barrier.gradient(stencils), axis=1)
        # The closest points of almost parallel edges could be anywhere.
        stencils = stencils.where(stencils.mollifiers == 1.0)
        forces, objects = self._barrier.forces(stencils), stencils.collisions.objects
        groups = objects @ [len(self._coefficients.static), 1]
        forces = _without_negative(forces, groups)
        acting = forces > 0.0
        stencils, forces = stencils.where(acting), forces[acting]
        first, second = stencils.collisions.objects.T
        self._limit = forces * self._coefficients.static[first, second]
        self._drop = self._drops[first, second]
        self._slip = self._slips[first, second]
        self._vertices = stencils.collisions.vertices
        self._slides = _slides(stencils.coefficients, stencils.normals)
        self._slide = _matrix(self._vertices, self._slides, len(stencils.points))
        changed = np.abs(self._normal_forces - before).sum()
        return float(changed), float(self._normal_forces.sum())

    def creep(self, before: Points, after: Points) -> float:
        """How far pairs that stuck at (V, 3) ``before`` have moved since, at most, in slips."""
        first, second = self._ways(before), self._ways(after)
        held = np.linalg.norm(first, axis=1) < self._slip
        moved = np.linalg.norm(second - first, axis=1) / self._slip
        return float(moved[held].max(initial=0.0))

    def energy(self, points: Points) -> float:
        """In joules, at (V, 3) points."""
        ratio = self._lengths(self._ways(points)) / self._slip
        return float((self._slip * self._limit) @ f0(ratio, self._drop))

    def gradient(self, points: Points) -> Points:
        """(V, 3) in newtons."""
        ways = self._ways(points)
        stiffness, _ = self._stiffness(self._lengths(ways))
        flat = self._slide.T @ (stiffness[:, None] * ways).ravel()
        return np.asarray(flat).reshape(-1, 3)

    def squares(self, points: Points, projected: bool) -> Squares:
        """The second derivative at (V, 3) points, positive semi-definite.

        Projected, it holds against sliding on as it holds across: a bound from above, with which
        no step leaps over the place where a pair would stick.
        """
        ways = self._ways(points)
        across, along = self._stiffness(self._lengths(ways))
        if projected:
            return Squares(self._vertices, self._slides, np.stack([across, across], axis=1))
        angles = np.arctan2(ways[:, 1], ways[:, 0])
        cos, sin = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
        first, second = self._slides.swapaxes(0, 1)
        rows = np.stack([cos * first + sin * second, cos * second - sin * first], axis=1)
        weights = np.stack([np.maximum(along, 0.0), across], axis=1)
        return Squares(self._vertices, rows, weights)

    def _stiffness(self, lengths: Values) -> tuple[Values, Values]:
        """The force over the way, across it, and its derivative along it, in N/m."""
        ratio = lengths / self._slip
        force = self._limit * f1(ratio, self._drop)
        return force / lengths, self._limit * f1_slope(ratio, self._drop) / self._slip

    def _ways(self, points: Points) -> Points:
        """(K, 2) of the pairs, in their planes."""
        way = np.ascontiguousarray(points - self._start).ravel()
        return np.asarray(self._slide @ way).reshape(-1, 2)

    def _lengths(self, ways: Points) -> Values:
        """(K,) never quite zero, for the sake of directions."""
        return np.maximum(np.linalg.norm(ways, axis=1), 1e-9 * self._slip)


def _without_negative(forces: Values, groups: NDArray[np.int64]) -> Values:
    """(K,) none of which is negative, with the same sum in each group of pairs.

    Pairs of negative weight cancel others beside them; friction of their own would push.
    """
    size = int(groups.max(initial=0)) + 1
    whole = np.bincount(groups, forces, size)
    positive = np.maximum(forces, 0.0)
    present = np.bincount(groups, positive, size)
    share = np.divide(whole, present, out=np.zeros(size), where=present > 0.0)
    return positive * np.clip(share, 0.0, 1.0)[groups]


def _slides(coefficients: Values, normals: Points) -> Values:
    """(K, 2, 4, 3) how far pairs slide in two directions across (K, 3) normals."""
    # The axis that the normal has least of gives a first direction in the plane.
    axes = np.eye(3)[np.abs(normals).argmin(axis=1)]
    first = np.cross(normals, axes)
    first /= np.linalg.norm(first, axis=1)[:, None]
    basis = np.stack([first, np.cross(normals, first)], axis=1)
    return coefficients[:, None, :, None] * basis[:, :, None]


def _matrix(vertices: NDArray[np.int64], slides: Values, count: int) -> Any:
    """(2K, 3V) from positions to the ways of pairs."""
    columns = (3 * vertices[:, :, None] + np.arange(3)).reshape(-1, 12)
    columns = np.repeat(columns, 2, axis=0)
    starts = 12 * np.arange(len(columns) + 1)
    return sparse.csr_array(
        (slides.ravel(), columns.ravel(), starts), shape=(len(columns), 3 * count)
    )
