# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices of collisions at positions, and Gauss–Newton Hessians of their distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...kernels.collisions import evaluate_stencils, fill_normal_jacobians
from .normal_collisions import NormalCollisions
from .topology import Indices, Points, Values


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
        collision_data = collisions.vertices, collisions.features, collisions.thresholds
        evaluate_stencils(points, *collision_data, differences, coefficients, mollifiers)
        return Stencils(collisions, points, differences, coefficients, mollifiers)

    def where(self, mask: NDArray[np.bool_]) -> Stencils:
        """Return the stencils chosen by a (K,) mask."""
        return Stencils(
            self.collisions.where(mask),
            self.points,
            self.differences[mask],
            self.coefficients[mask],
            self.mollifiers[mask],
        )

    def __len__(self) -> int:
        return len(self.collisions)

    @property
    def weights(self) -> Values:
        """(K,) weights of collisions times mollifiers."""
        return self.collisions.weights * self.mollifiers

    @cached_property
    def distances(self) -> Values:
        """Return the (K,) distances in metres."""
        return np.asarray(np.sqrt(np.einsum("ki,ki->k", self.differences, self.differences)))

    @cached_property
    def normals(self) -> Points:
        """Return the (K, 3) unit normals along the differences."""
        return self.differences / self.distances[:, None]

    @cached_property
    def normal_jacobians(self) -> Points:
        """(K, 4, 3) w, in 1/m: as vertices go by δx_i, the normal n turns by Σ w_i n·δx_i in the
        directions that the parts have. Between two points it is zero."""
        jacobians, collisions = np.empty((len(self), 4, 3)), self.collisions
        fill_normal_jacobians(self.points, collisions.vertices, collisions.features, jacobians)
        return jacobians


class PairHessians(Protocol):
    """Second derivatives by the vertices of pairs."""

    @property
    def vertices(self) -> Indices:
        """Return the (K, 4) vertices that each pair lies between; any may be there twice."""

    def __len__(self) -> int: ...

    def matrices(self) -> Values:
        """Return the (K, 12, 12) matrices of each pair, in N/m; rows are 3 × vertex + component."""


@dataclass(frozen=True, eq=False)
class HessianFactors:
    """Return the matrix of Σ w (Σ_i r_i · x_i)², positive semi-definite for any rows.

    Args:
        vertices: (K, 4) that each pair lies between; any may be there twice.
        rows: (K, R, 4, 3) r, by vertex and component.
        weights: (K, R) w, none of them negative, in N/m for rows without units.
    """

    vertices: Indices
    rows: Values
    weights: Values

    def __len__(self) -> int:
        return len(self.vertices)

    def matrices(self) -> Values:
        """Return the (K, 12, 12) matrices of each pair."""
        # Both factors are the same, and so the products are symmetric to the last bit.
        roots = np.sqrt(self.weights)[:, :, None] * self.rows.reshape(*self.weights.shape, 12)
        return np.asarray(roots.swapaxes(1, 2) @ roots)


def assembled(parts: Sequence[PairHessians], count: int) -> Any:
    """Return the (3V, 3V) sum over ``count`` vertices as unique blocks in ascending order; rows
    are 3 × vertex + component."""
    vertices = np.concatenate([part.vertices for part in parts])
    blocks, end = np.empty((len(vertices), 4, 4, 3, 3)), 0
    for part in parts:
        start, end = end, end + len(part)
        blocks[start:end] = part.matrices().reshape(-1, 4, 3, 4, 3).swapaxes(2, 3)
    rows, columns = np.repeat(vertices, 4, axis=1).ravel(), np.tile(vertices, 4).ravel()
    order = _sorted(columns, count)
    order = order[_sorted(rows[order], count)]
    keys = rows[order] * count + columns[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    offsets = np.append(first, len(keys))
    gather = sparse.csr_array((np.ones(len(keys)), order, offsets), shape=(len(first), len(keys)))
    total = (gather @ blocks.reshape(-1, 9)).reshape(-1, 3, 3)
    different = keys[first]
    bounds = np.searchsorted(different, count * np.arange(count + 1))
    return sparse.bsr_array(
        (total, different % count, bounds), shape=(3 * count, 3 * count), blocksize=(3, 3)
    )


def _sorted(indices: Indices, count: int) -> NDArray[np.int32]:
    """Return the stable order of indices below ``count``. A counting sort, as for columns of a
    sparse matrix, takes a third of the time of a comparison sort."""
    size = len(indices)
    entries = (np.ones(size, dtype=np.int8), indices, np.arange(size + 1))
    order: NDArray[np.int32] = sparse.csr_array(entries, shape=(size, count)).tocsc().indices
    return order


# It takes the place of zero, which nothing can be divided by.
MIN_NORM = 1e-300


def distance_hessian_factors(
    stencils: Stencils, forces: Values, second_derivatives: Values
) -> HessianFactors:
    """The second derivative of Σ e(d), d the distances, bounded from above by sums of squares.

    With unit normal n, displacement δ = Σ c_i δx_i and force F = −e' it is

        e'' (n·δ)² − F d''

    where d'' is the second derivative of the distance. In a direction t along an edge or in a face
    that is close, σ = t·δ is the tangential displacement, and the normal turns by
    τ = Σ t·w_i n·δx_i:

        d'' = Σ_t (2 σ τ − d τ²) = Σ_t 2 s τ,  s = σ − ½ d τ

    In others d'' is not negative, and left out. For each t, the first square of −2 s τ = ((s − L
    τ)² − (s + L τ)²) / 2L is kept. L makes s and L τ as large as each other; then it is its whole
    positive part.

    Args:
        forces: (K,) F of each, in newtons, none negative.
        second_derivatives: (K,) e'' in N/m, none negative.
    """
    coefficients, normals = stencils.coefficients[:, :, None], stencils.normals
    jacobians = stencils.normal_jacobians
    rows, weights = [coefficients * normals[:, None]], [second_derivatives]
    for tangents in _tangents(jacobians, normals):
        rotations = np.einsum("kai,ki->ka", jacobians, tangents)
        displacements = coefficients * tangents[:, None]
        rotated = rotations[:, :, None] * normals[:, None]
        displacements -= (0.5 * stencils.distances)[:, None, None] * rotated
        displacement_norms, rotation_norms = _norms(displacements), _norms(rotated)
        inverse = rotation_norms / np.maximum(displacement_norms, MIN_NORM)
        lever = np.divide(
            displacement_norms,
            rotation_norms,
            out=np.zeros(len(displacement_norms)),
            where=rotation_norms > 0.0,
        )
        rows.append(displacements - lever[:, None, None] * rotated)
        weights.append(0.5 * forces * inverse)
    vertices = stencils.collisions.vertices
    return HessianFactors(vertices, np.stack(rows, axis=1), np.stack(weights, axis=1))


def _tangents(jacobians: Points, normals: Points) -> tuple[Points, Points]:
    """Two (K, 3) unit tangents, the first one along the normal Jacobian of an edge's ends."""
    # Only one of two edges may have its closest point inside.
    along = np.where(jacobians[:, 1].any(axis=1)[:, None], jacobians[:, 1], jacobians[:, 2])
    first = along - np.einsum("ki,ki->k", along, normals)[:, None] * normals
    first = first / np.maximum(np.linalg.norm(first, axis=1), MIN_NORM)[:, None]
    return first, np.cross(normals, first)


def _norms(rows: Points) -> Values:
    return np.asarray(np.sqrt(np.einsum("kai,kai->k", rows, rows)))
