# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of what is constant of tets at rest, where their rest shape changes."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, shared_range, use_threads
from .matrices import cofactors, determinant, tet_edges
from .symmetric_matrices import scaled_symmetric, squared

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 6000


def write_rest_shape(
    positions: Any, corners: Any, volumes: Any, gradients: Any, metric: Any
) -> None:
    """Write the arrays of the compiled loops for tets whose vertices rest at (3, N) positions: (M,)
    volumes, (M, 3, 3) gradients and (7, M) metric, as ``Tets`` has them."""
    use_threads(corners.shape[1], TETS_PER_THREAD)
    _write(positions, corners, volumes, gradients, metric)


@compiled(parallel=True)
def _write(positions: Any, corners: Any, volumes: Any, gradients: Any, metric: Any) -> None:
    for e in shared_range(corners.shape[1]):
        d = tet_edges(positions, corners, e)
        # The columns are the area vectors of the faces across from the corners 1 to 3, twice.
        c = cofactors(d)
        det = determinant(d, c)
        # Of what has no volume, those who let it come to that hold it apart.
        inverse = 1.0 / det if det != 0.0 else 0.0
        volumes[e] = det / 6.0
        for i in range(3):
            gradients[e, 0, i], gradients[e, 1, i] = inverse * c[3 * i], inverse * c[3 * i + 1]
            gradients[e, 2, i] = inverse * c[3 * i + 2]
        # Times V / det².
        products = scaled_symmetric(inverse / 6.0, squared(c))
        metric[0, e], metric[1, e], metric[2, e] = products[0], products[1], products[2]
        metric[3, e], metric[4, e], metric[5, e] = products[3], products[4], products[5]
        metric[6, e] = 6.0 * inverse
