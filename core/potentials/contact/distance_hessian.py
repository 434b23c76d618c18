# SPDX-License-Identifier: GPL-3.0-or-later
"""The second derivative of energies of distances, bounded by Gauss–Newton factors."""

from __future__ import annotations

import numpy as np

from .hessian_factors import HessianFactors
from .stencils import Stencils
from .topology import Points, Values

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

    In others d'' is not negative, and left out. Of −2 s τ = ((s − L τ)² − (s + L τ)²) / 2L the
    first is kept, for each t. L makes s and L τ as large as each other; then it is all that is
    positive of it.

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
    # Of two edges one alone may have its closest point inside.
    own = np.where(jacobians[:, 1].any(axis=1)[:, None], jacobians[:, 1], jacobians[:, 2])
    first = own - np.einsum("ki,ki->k", own, normals)[:, None] * normals
    first = first / np.maximum(np.linalg.norm(first, axis=1), MIN_NORM)[:, None]
    return first, np.cross(normals, first)


def _norms(rows: Points) -> Values:
    return np.asarray(np.sqrt(np.einsum("kai,kai->k", rows, rows)))
