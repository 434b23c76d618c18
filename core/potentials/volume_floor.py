# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps tets from being turned inside out by implicit steps, where their model would let them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.off_pattern_blocks import OffPatternBlocks
from ..materials import StableNeoHookean
from .elasticity import Elasticity
from .potential import Potential

#: The J below which it pushes.
FLOOR = 0.25
#: What it pushes with at J = 0, in units of λ + 2μ.
PRESSURE_RATIO = 20.0

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Flat:
    """The A tets of an elasticity that are below the floor.

    Args:
        corners: (A, 4) vertices.
        energies: (A,) V P J̄ of each, in joules.
        edges: (A, 3, 3) from corner 0 to the others, in metres: edge, component.
        volumes: (A,) V in m³.
        depths: (A,) 1 − J/J̄, above 0.
    """

    corners: NDArray[np.int32]
    energies: Values
    edges: Values
    volumes: Values
    depths: Values

    @property
    def first_derivatives(self) -> Values:
        """(A,) derivatives of the energy in J, in joules."""
        return -self.energies * self.depths**2 / FLOOR

    @property
    def second_derivatives(self) -> Values:
        """(A,) second derivatives of the energy in J, in joules."""
        return 2.0 * self.energies * self.depths / FLOOR**2

    @property
    def volume_gradients(self) -> Values:
        """(A, 3, 3) of J in the edges, in 1/m."""
        one, two, three = self.edges.swapaxes(0, 1)
        crossed = [np.cross(two, three), np.cross(three, one), np.cross(one, two)]
        return np.asarray(np.stack(crossed, axis=1) / (6.0 * self.volumes[:, None, None]))


class VolumeFloor(Potential):
    """Σ V P J̄ (1 − J/J̄)³ / 3 over the tets below J̄: a pressure that grows from none there to P at
    J = 0, and on.

    It is finite, so that no step has to end before a tet is flat, but P is 20 (λ + 2μ) of the solid
    in the tet, more than what presses on it. It leaves alone what a model does above J̄, bodies that
    are being unfolded, and all models but the stable Neo-Hookean: others have a barrier of their
    own, or lose volume where they are pulled.

    Args:
        elasticities: of a scene.
        inverted: (N,) vertices of bodies that begin inside out, which unfold by turning tets.
    """

    is_stiff = True

    def __init__(self, elasticities: list[Elasticity], inverted: Tensor) -> None:
        self._parts = [
            (part, PRESSURE_RATIO * _moduli(part), ~inverted[part.corners[0].long()])
            for part in elasticities
            if isinstance(part.material, StableNeoHookean)
        ]

    @property
    def parts(self) -> list[tuple[Values, Values, Values]]:
        """Of the elasticities it is for: (4, M) corners, (M,) volumes in m³ and pressures in Pa,
        which are zero where it leaves tets alone."""
        return [
            (
                part.tets.corners.cpu().numpy(),
                part.tets.volumes.cpu().double().numpy(),
                np.where(kept.cpu().numpy(), pressures, 0.0),
            )
            for part, pressures, kept in self._parts
            if not part.is_limited
        ]

    def energy(self, positions: Tensor) -> Tensor:
        parts = (flat.energies @ flat.depths**3 / 3.0 for flat in self._flat(positions))
        return positions.new_tensor(float(sum(parts)))

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        for flat in self._flat(positions):
            forces = flat.first_derivatives[:, None, None] * flat.volume_gradients
            forces = np.concatenate([-forces.sum(axis=1, keepdims=True), forces], axis=1)
            corners = torch.as_tensor(flat.corners.ravel(), device=out.device)
            out.index_add_(1, corners, torch.as_tensor(forces.reshape(-1, 3).T.copy()).to(out))

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Projected, it leaves out what turns the pressure: the rest is positive semi-definite."""
        entries = [_entries(flat, projected) for flat in self._flat(positions)]
        if not entries:
            return
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        size, pattern = positions.numel(), matrix.pattern
        hessian = sparse.coo_array((values, (rows, columns)), (size, size)).tocsr()
        matrix.add_off_pattern(
            OffPatternBlocks.of(hessian, pattern.vertex_to_unknown, pattern.size, matrix.dtype)
        )

    def _flat(self, positions: Tensor) -> Iterator[_Flat]:
        for part, pressures, kept in self._parts:
            # What is being unfolded may have to turn on the way.
            if part.is_limited:
                continue
            tets = part.tets
            ratios = tets.volume_ratios(positions)
            which = torch.nonzero(kept & (ratios < FLOOR)).ravel()
            if len(which) == 0:
                continue
            corners = tets.corners[:, which].T.cpu().numpy()
            points = positions.T.cpu().double().numpy()[corners]
            volumes = tets.volumes[which].cpu().double().numpy()
            stiffness = float(part.stiffness)
            energies = stiffness * volumes * pressures[which.cpu().numpy()] * FLOOR
            depths = 1.0 - ratios[which].cpu().double().numpy() / FLOOR
            yield _Flat(corners, energies, points[:, 1:] - points[:, :1], volumes, depths)


def _moduli(part: Elasticity) -> Values:
    """(M,) λ + 2μ in Pa, of full tets: those that are all but empty fold first."""
    material = part.material
    moduli = torch.as_tensor(material.lam + 2.0 * material.mu, dtype=torch.float64)
    fill = [
        mesh.fill if mesh.fill is not None else np.ones(len(mesh.tets))
        for _, mesh in part.tets.meshes
    ]
    return np.broadcast_to(moduli.cpu().numpy(), len(part.tets)) / np.concatenate(fill)


def _entries(flat: _Flat, projected: bool) -> tuple[Values, Values, Values]:
    """Rows, columns and values, of which those of one place are to be added up."""
    count, along = len(flat.depths), flat.volume_gradients.reshape(-1, 9)
    of_edges = flat.second_derivatives[:, None, None] * along[:, :, None] * along[:, None]
    if not projected:
        geometric = (flat.first_derivatives / (6.0 * flat.volumes))[:, None, None]
        for a in range(3):
            # The product of the next two edges changes with each of them.
            b, c = (a + 1) % 3, (a + 2) % 3
            of_edges[:, 3 * a : 3 * a + 3, 3 * b : 3 * b + 3] -= geometric * _cross(
                flat.edges[:, c]
            )
            of_edges[:, 3 * a : 3 * a + 3, 3 * c : 3 * c + 3] += geometric * _cross(
                flat.edges[:, b]
            )
    to_edges = np.kron(np.concatenate([-np.ones((3, 1)), np.eye(3)], axis=1), np.eye(3))
    blocks = to_edges.T @ of_edges @ to_edges
    numbers = (3 * flat.corners[:, :, None].astype(np.int64) + np.arange(3)).reshape(count, 12)
    rows, columns = np.repeat(numbers, 12, axis=1), np.tile(numbers, 12)
    return rows.ravel(), columns.ravel(), blocks.ravel()


def _cross(vectors: Values) -> Values:
    """(A, 3, 3) matrices of the cross product with (A, 3) vectors."""
    x, y, z = vectors.T
    zero = np.zeros_like(x)
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)
