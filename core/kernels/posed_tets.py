# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of elastic forces and energies of tets whose rest shape changes from step to step.

A rest shape that one step asks for is never written: it goes from the pose to the forces in
registers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .elasticity import (
    TETS_PER_SUM,
    TETS_PER_THREAD,
    ElasticityKernel,
    sum_at_vertices,
    tet_energy,
    tet_forces,
)
from .held_tets import held_shape
from .matrices import (
    add3,
    cofactors,
    determinant,
    matmul3,
    matrix_in,
    scaled,
    set_column,
    tet_edges,
    transposed,
)
from .matrices import dot as contraction
from .symmetric_matrices import scaled_symmetric, squared

if TYPE_CHECKING:
    from ..assembly.tets import Tets


@dataclass(frozen=True)
class HeldShapes:
    """Tets whose rest shapes are squeezed no more than to a limit.

    Args:
        which: (A,) indices of the tets.
        is_held: (M,) whether a tet is one of them.
        gradients: (A, 3, 3) of the shape functions of corners 1 to 3 where no stretch is, in 1/m.
        volumes: (A,) there, in m³.
        least: stretch.
        low, high: range of J in which the law holds by which they push in the pose.
    """

    which: NDArray[Any]
    is_held: NDArray[np.bool_]
    gradients: NDArray[Any]
    volumes: NDArray[Any]
    least: float
    low: Any
    high: Any


class PosedTetsKernel:
    """Energy and gradient of the tets of one material, by where vertices rest.

    Args:
        kernel: of the same tets and their material.
        tets: of which only the corners are read.
        held: None where no tet is.
    """

    def __init__(self, kernel: ElasticityKernel, tets: Tets, held: HeldShapes | None) -> None:
        self._corners, self._held = tets.corners.numpy(), held
        self._law = kernel.moduli, *kernel.law
        self._forces: NDArray[Any] = np.empty((9, len(tets)), dtype=kernel.moduli.dtype)
        nothing = np.zeros(0, dtype=bool)
        self._is_held = nothing if held is None else held.is_held

    def add_gradient(self, positions: Tensor, rest: Tensor, out: Tensor) -> None:
        """Adds the gradient at (3, N) positions of tets that rest at (3, N) others to ``out``, in
        newtons, less what held tets push with at rest."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        x, y, forces = positions.numpy(), rest.numpy(), self._forces
        _edge_forces(x, y, self._corners, *self._law, forces)
        if (held := self._held) is not None:
            _held_forces(x, y, self._corners, *self._law, *(*_arguments(held), forces))
        sum_at_vertices(forces, self._corners, out.numpy())

    def energy(self, positions: Tensor, rest: Tensor) -> float:
        """In joules; the sum is the same whatever the number of threads."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        x, y = positions.numpy(), rest.numpy()
        sums = np.zeros(-(-self._corners.shape[1] // TETS_PER_SUM))
        _energy_sums(x, y, self._corners, *self._law, self._is_held, sums)
        energy = float(sums.sum())
        if (held := self._held) is not None:
            energy += _held_energy(x, y, self._corners, *self._law, *_arguments(held))
        return energy


def _arguments(held: HeldShapes) -> tuple[Any, ...]:
    return held.which, held.gradients, held.volumes, held.least, held.low, held.high


@compiled(inline=True)
def _inverse(determinant_of_edges: Any) -> Any:
    """One over it; zero where there is no volume."""
    # A division under a condition would keep LLVM from vector instructions.
    return 1.0 / (determinant_of_edges if determinant_of_edges != 0.0 else math.inf)


@compiled()
def _held_rest(edges: Any, gradients: Any, volume: Any, least: float) -> Any:
    """V S and 1 / V of a held tet by its edges at rest, as ``Tets.metric_by_tet`` has them."""
    inverse, ratio = held_shape(matmul3(edges, gradients), least)
    held = volume * ratio
    return scaled_symmetric(held, squared(transposed(matmul3(gradients, inverse)))), 1.0 / held


@compiled(parallel=True)
def _edge_forces(
    positions: Any, rest: Any, corners: Any, moduli: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """Forces along edges, (9, M), where no tet is held."""
    sixth = out.dtype.type(1.0 / 6.0)
    for e in shared_range(corners.shape[1]):
        d_rest = tet_edges(rest, corners, e)
        # The columns are the area vectors of the faces across from the corners 1 to 3, twice.
        c = cofactors(d_rest)
        inverse = _inverse(determinant(d_rest, c))
        metric, inverse_volume = scaled_symmetric(inverse / 6.0, squared(c)), 6.0 * inverse
        d, mu, lam = tet_edges(positions, corners, e), moduli[0, e], moduli[1, e]
        set_column(out, e, tet_forces(d, metric, inverse_volume, law, low, high, mu, lam, sixth))


@compiled()
def _held_forces(
    positions: Any,
    rest: Any,
    corners: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    which: Any,
    gradients: Any,
    volumes: Any,
    least: float,
    rest_low: Any,
    rest_high: Any,
    out: Any,
) -> None:
    """Writes those of held tets, less their forces at rest."""
    sixth = out.dtype.type(1.0 / 6.0)
    for index in range(which.shape[0]):
        e = which[index]
        d, d_rest = tet_edges(positions, corners, e), tet_edges(rest, corners, e)
        metric, inverse_volume = _held_rest(
            d_rest, matrix_in(gradients, index), volumes[index], least
        )
        mu, lam = moduli[0, e], moduli[1, e]
        forces = tet_forces(d, metric, inverse_volume, law, low, high, mu, lam, sixth)
        at_rest = tet_forces(
            d_rest, metric, inverse_volume, law, rest_low, rest_high, mu, lam, sixth
        )
        set_column(out, e, add3(forces, scaled(-1.0, at_rest)))


@compiled(parallel=True)
def _energy_sums(
    positions: Any,
    rest: Any,
    corners: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    is_held: Any,
    out: Any,
) -> None:
    """Energies of chunks of ``TETS_PER_SUM`` tets that are not held, in J."""
    for chunk in shared_range(out.shape[0]):
        total = 0.0
        for e in range(chunk * TETS_PER_SUM, min(corners.shape[1], (chunk + 1) * TETS_PER_SUM)):
            if is_held.shape[0] > 0 and is_held[e]:
                continue
            d_rest = tet_edges(rest, corners, e)
            c = cofactors(d_rest)
            inverse = _inverse(determinant(d_rest, c))
            metric, inverse_volume = scaled_symmetric(inverse / 6.0, squared(c)), 6.0 * inverse
            d, mu, lam = tet_edges(positions, corners, e), moduli[0, e], moduli[1, e]
            total += tet_energy(d, metric, inverse_volume, law, low, high, mu, lam)
        out[chunk] = total


@compiled()
def _held_energy(
    positions: Any,
    rest: Any,
    corners: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    which: Any,
    gradients: Any,
    volumes: Any,
    least: float,
    rest_low: Any,
    rest_high: Any,
) -> float:
    """Energy of held tets in J, less the work of their forces at rest."""
    total = 0.0
    sixth = moduli.dtype.type(1.0 / 6.0)
    for index in range(which.shape[0]):
        e = which[index]
        d, d_rest = tet_edges(positions, corners, e), tet_edges(rest, corners, e)
        metric, inverse_volume = _held_rest(
            d_rest, matrix_in(gradients, index), volumes[index], least
        )
        mu, lam = moduli[0, e], moduli[1, e]
        at_rest = tet_forces(
            d_rest, metric, inverse_volume, law, rest_low, rest_high, mu, lam, sixth
        )
        total += tet_energy(d, metric, inverse_volume, law, low, high, mu, lam)
        total -= contraction(at_rest, d)
    return total
