# SPDX-License-Identifier: GPL-3.0-or-later
"""How a distance between two parts bends as they slide and turn."""

from __future__ import annotations

import numpy as np

from .squares import Squares
from .stencils import Stencils
from .topology import Points, Values

# Instead of zero, which nothing can be divided by.
NOTHING = 1e-300


def distance_squares(stencils: Stencils, forces: Values, curvatures: Values) -> Squares:
    """The second derivative of Σ e(d), d the distances, bounded from above by squares.

    With unit normal n, way δ = Σ c_i δx_i and force F = −e' it is

        e'' (n·δ)² − F d''

    where d'' is the second derivative of the distance. In a direction t along an edge or in a face
    that is close, σ = t·δ is how far the parts slide, and the normal turns by τ = Σ t·w_i n·δx_i:

        d'' = Σ_t (2 σ τ − d τ²) = Σ_t 2 s τ,  s = σ − ½ d τ

    In others d'' is not negative, and left out. Of −2 s τ = ((s − L τ)² − (s + L τ)²) / 2L the
    first is kept, for each t. L makes s and L τ as large as each other; then it is all that is
    positive of it.

    Args:
        forces: (K,) F of each, in newtons, none negative.
        curvatures: (K,) e'' in N/m, none negative.
    """
    coefficients, normals = stencils.coefficients[:, :, None], stencils.normals
    jacobians = stencils.normal_jacobians
    rows, weights = [coefficients * normals[:, None]], [curvatures]
    for tangents in _tangents(jacobians, normals):
        turns = np.einsum("kai,ki->ka", jacobians, tangents)
        slides = coefficients * tangents[:, None]
        turned = turns[:, :, None] * normals[:, None]
        slides -= (0.5 * stencils.distances)[:, None, None] * turned
        most, least = _norms(slides), _norms(turned)
        inverse = least / np.maximum(most, NOTHING)
        lever = np.divide(most, least, out=np.zeros(len(most)), where=least > 0.0)
        rows.append(slides - lever[:, None, None] * turned)
        weights.append(0.5 * forces * inverse)
    vertices = stencils.collisions.vertices
    return Squares(vertices, np.stack(rows, axis=1), np.stack(weights, axis=1))


def _tangents(jacobians: Points, normals: Points) -> tuple[Points, Points]:
    """Two (K, 3) unit directions across normals, the first one in which an edge's ends turn it."""
    # Of two edges one alone may have its closest point inside.
    own = np.where(jacobians[:, 1].any(axis=1)[:, None], jacobians[:, 1], jacobians[:, 2])
    first = own - np.einsum("ki,ki->k", own, normals)[:, None] * normals
    first = first / np.maximum(np.linalg.norm(first, axis=1), NOTHING)[:, None]
    return first, np.cross(normals, first)


def _norms(rows: Points) -> Values:
    return np.asarray(np.sqrt(np.einsum("kai,kai->k", rows, rows)))
