# SPDX-License-Identifier: GPL-3.0-or-later
"""How a distance between two parts bends as they slide and turn."""

from __future__ import annotations

import numpy as np

from .pairs import Pairs, Values
from .squares import Squares
from .surface import Points

# Instead of zero, which nothing can be divided by.
NOTHING = 1e-300


def distance_squares(pairs: Pairs, points: Points, forces: Values, curvatures: Values) -> Squares:
    """The second derivative of Σ e(d) over pairs, d their distance, bounded from above by squares.

    With unit normal n, way δ = Σ c_i δx_i and force F = −e' it is

        e'' (n·δ)² − F d''

    where d'' is the second derivative of the distance. In a direction t along an edge or in a face
    that is close, σ = t·δ is how far the parts slide, and the normal turns by τ = Σ t·w_i n·δx_i:

        d'' = Σ_t (2 σ τ − d τ²) = Σ_t 2 s τ,  s = σ − ½ d τ

    In others d'' is not negative, and left out. Of −2 s τ = ((s − L τ)² − (s + L τ)²) / 2L the
    first is kept, for each t. L makes s and L τ as large as each other; then it is all that is
    positive of it.

    Args:
        points: (V, 3).
        forces: (K,) F of each pair, in newtons, none negative.
        curvatures: (K,) e'' in N/m, none negative.
    """
    differences = pairs.differences(points)
    distances = np.linalg.norm(differences, axis=1)
    normals = differences / distances[:, None]
    across = pairs.coefficients[:, :, None] * normals[:, None]
    rows, weights = [across], [curvatures]
    for tangents in _tangents(pairs.turning, normals):
        turns = np.einsum("kai,ki->ka", pairs.turning, tangents)
        slides = pairs.coefficients[:, :, None] * tangents[:, None]
        turned = turns[:, :, None] * normals[:, None]
        slides -= (0.5 * distances)[:, None, None] * turned
        most, least = _norms(slides), _norms(turned)
        inverse = least / np.maximum(most, NOTHING)
        lever = np.divide(most, least, out=np.zeros(len(pairs)), where=least > 0.0)
        rows.append(slides - lever[:, None, None] * turned)
        weights.append(0.5 * forces * inverse)
    return Squares(pairs.vertices, np.stack(rows, axis=1), np.stack(weights, axis=1))


def _tangents(turning: Points, normals: Points) -> tuple[Points, Points]:
    """Two (K, 3) unit directions across normals, the first that in which an edge's ends turn it."""
    first = turning[:, 1] - np.einsum("ki,ki->k", turning[:, 1], normals)[:, None] * normals
    first = first / np.maximum(np.linalg.norm(first, axis=1), NOTHING)[:, None]
    return first, np.cross(normals, first)


def _norms(rows: Points) -> Values:
    return np.asarray(np.sqrt(np.einsum("kai,kai->k", rows, rows)))
