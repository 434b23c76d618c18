# SPDX-License-Identifier: GPL-3.0-or-later
"""Closest points, normal Jacobian and mollifier of collisions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...kernels.stencils import evaluate_stencils, fill_normal_jacobians
from .normal_collisions import NormalCollisions
from .topology import Points, Values


@dataclass(frozen=True, eq=False)
class Stencils:
    """Collisions where their vertices are now: each of two closest points, whose difference is
    Σ c_i x_i.

    Args:
        collisions: K of them.
        points: (V, 3) in metres.
        differences: (K, 3) in metres.
        coefficients: (K, 4) c, zero for vertices that are repeated.
        mollifiers: (K,) 1, but less for edges that are almost parallel, whose closest points are
            ill-defined.
    """

    collisions: NormalCollisions
    points: Points
    differences: Points
    coefficients: Values
    mollifiers: Values

    @staticmethod
    def of(collisions: NormalCollisions, points: Points) -> Stencils:
        """At (V, 3) points, where features may be closest that were not when they were found."""
        points, count = np.ascontiguousarray(points), len(collisions)
        differences, coefficients = np.empty((count, 3)), np.empty((count, 4))
        mollifiers = np.empty(count)
        own = collisions.vertices, collisions.features, collisions.thresholds
        evaluate_stencils(points, *own, differences, coefficients, mollifiers)
        return Stencils(collisions, points, differences, coefficients, mollifiers)

    def where(self, kept: NDArray[np.bool_]) -> Stencils:
        """Those of (K,) that are kept."""
        return Stencils(
            self.collisions.where(kept),
            self.points,
            self.differences[kept],
            self.coefficients[kept],
            self.mollifiers[kept],
        )

    def __len__(self) -> int:
        return len(self.collisions)

    @property
    def weights(self) -> Values:
        """(K,) weights of collisions times mollifiers."""
        return self.collisions.weights * self.mollifiers

    @cached_property
    def distances(self) -> Values:
        """(K,) in metres."""
        return np.asarray(np.sqrt(np.einsum("ki,ki->k", self.differences, self.differences)))

    @cached_property
    def normals(self) -> Points:
        """(K, 3) of length one, along the differences."""
        return self.differences / self.distances[:, None]

    @cached_property
    def normal_jacobians(self) -> Points:
        """(K, 4, 3) w, in 1/m: as vertices go by δx_i, the normal n turns by Σ w_i n·δx_i in the
        directions that the parts have. Between two points it is zero."""
        jacobians, own = np.empty((len(self), 4, 3)), self.collisions
        fill_normal_jacobians(self.points, own.vertices, own.features, jacobians)
        return jacobians
