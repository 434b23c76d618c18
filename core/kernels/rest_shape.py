# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of what is constant of tets at rest, where their rest shape changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .vectors import cross, dot, tet_edges

if TYPE_CHECKING:
    from ..assembly.tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 6000


def write_rest_shape(tets: Tets, positions: Tensor) -> None:
    """Writes the arrays of the compiled loops for tets whose vertices rest at (3, N) positions."""
    use_threads(len(tets), TETS_PER_THREAD)
    _write(
        positions.numpy(),
        tets.corners.numpy(),
        tets.volumes.numpy(),
        tets.gradients_by_tet,
        tets.metric_by_tet,
    )
    tets.forget_passes(is_written=True)


@compiled(parallel=True)
def _write(positions: Any, corners: Any, volumes: Any, gradients: Any, metric: Any) -> None:
    """Gradients: (M, 3, 3), metric (7, M), as ``Tets`` has them."""
    for e in shared_range(corners.shape[1]):
        one, two, three = tet_edges(positions, corners, e)
        # The area vectors of the faces across from the corners 1 to 3, twice.
        g1, g2, g3 = cross(two, three), cross(three, one), cross(one, two)
        determinant = dot(one, g1)
        # Of what has no volume, those who let it come to that hold it apart.
        inverse = 1.0 / determinant if determinant != 0.0 else 0.0
        volumes[e] = determinant / 6.0
        for i in range(3):
            gradients[e, 0, i], gradients[e, 1, i] = inverse * g1[i], inverse * g2[i]
            gradients[e, 2, i] = inverse * g3[i]
        # V / det²
        scale = inverse / 6.0
        metric[0, e], metric[1, e] = scale * dot(g1, g1), scale * dot(g1, g2)
        metric[2, e], metric[3, e] = scale * dot(g1, g3), scale * dot(g2, g2)
        metric[4, e], metric[5, e] = scale * dot(g2, g3), scale * dot(g3, g3)
        metric[6, e] = 6.0 * inverse
