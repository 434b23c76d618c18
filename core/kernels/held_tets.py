# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of the rest shapes of tets that a pose squeezes: no stretch below a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled
from .deformation import signed_svd
from .matrices import matmul3, matrix_in, of_columns, tet_edges, transposed
from .symmetric_matrices import scaled_symmetric, squared
from .vectors import scaled

if TYPE_CHECKING:
    from ..assembly.tets import Tets


def write_held_shapes(
    tets: Tets,
    positions: Tensor,
    which: NDArray[Any],
    gradients: NDArray[Any],
    volumes: NDArray[Any],
    least: float,
) -> None:
    """Writes the arrays of the compiled loops for some tets whose vertices rest at (3, N)
    positions, with stretches raised to ``least``.

    Args:
        which: (A,) indices of the tets.
        gradients: (A, 3, 3) of the shape functions of corners 1 to 3 where no stretch is, in 1/m.
        volumes: (A,) there, in m³.
        least: stretch.
    """
    of_loops = tets.volumes.numpy(), tets.gradients_by_tet, tets.metric_by_tet
    at = positions.numpy(), tets.corners.numpy(), which
    _write(*at, gradients, volumes, least, *of_loops)
    tets.forget_passes(is_written=True)


@compiled()
def _write(
    positions: Any,
    corners: Any,
    which: Any,
    modelled: Any,
    modelled_volumes: Any,
    least: float,
    volumes: Any,
    gradients: Any,
    metric: Any,
) -> None:
    """Gradients: (M, 3, 3), metric (7, M), as ``Tets`` has them."""
    for index in range(which.shape[0]):
        e, g = which[index], matrix_in(modelled, index)
        u, s, v = signed_svd(matmul3(tet_edges(positions, corners, e), g))
        a, b, c = max(s[0], least), max(s[1], least), max(s[2], least)
        unstretched = of_columns(
            scaled(1.0 / a, v[0]), scaled(1.0 / b, v[1]), scaled(1.0 / c, v[2])
        )
        turned = matmul3(unstretched, transposed(of_columns(u[0], u[1], u[2])))
        held, volume = matmul3(g, turned), modelled_volumes[index] * (a * b * c)
        volumes[e] = volume
        for k in range(3):
            gradients[e, k, 0], gradients[e, k, 1] = held[3 * k], held[3 * k + 1]
            gradients[e, k, 2] = held[3 * k + 2]
        products = scaled_symmetric(volume, squared(transposed(held)))
        metric[0, e], metric[1, e], metric[2, e] = products[0], products[1], products[2]
        metric[3, e], metric[4, e], metric[5, e] = products[3], products[4], products[5]
        metric[6, e] = 1.0 / volume
