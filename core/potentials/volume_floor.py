# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps tets from being turned inside out by implicit steps, where their model would let them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..materials import StableNeoHookean
from .elasticity import Elasticity
from .inversion_bound import inversion_bound

#: The J below which it pushes.
FLOOR = 0.2

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Flat:
    """The A tets of an elasticity that are below the floor.

    Args:
        corners: (A, 4) vertices.
        energies: (A,) V M J̄ of each, in joules.
        edges: (A, 3, 3) from corner 0 to the others, in metres: edge, component.
        volumes: (A,) V in m³.
        ratios: (A,) q = J/J̄, at most 1.
    """

    corners: NDArray[np.int32]
    energies: Values
    edges: Values
    volumes: Values
    ratios: Values

    @property
    def slopes(self) -> tuple[Values, Values]:
        """(A,) first and second derivatives of the energy in J, in joules."""
        q = self.ratios
        gap, logarithm = q - 1.0, np.log(q)
        first = -gap * (2.0 * logarithm + gap / q)
        second = -2.0 * logarithm - 4.0 * gap / q + (gap / q) ** 2
        return self.energies * first / FLOOR, self.energies * second / FLOOR**2

    @property
    def volume_gradients(self) -> Values:
        """(A, 3, 3) of J in the edges, in 1/m."""
        one, two, three = self.edges.swapaxes(0, 1)
        crossed = [np.cross(two, three), np.cross(three, one), np.cross(one, two)]
        return np.asarray(np.stack(crossed, axis=1) / (6.0 * self.volumes[:, None, None]))


class VolumeFloor:
    """Σ −V M J̄ (q − 1)² ln q over tets of q = J/J̄ below 1; M is λ + 2μ of the solid in them.

    At J = J̄/3 it has grown to a pressure of 3 M, at J = 0 it is infinite: the clamped barrier of
    incremental potential contact (Li et al., 2020), on volumes. It leaves alone what a model does
    above J̄; tets around vertices of one that begins a step inside out, which has to find its way
    back; those whose corners are led, which go where they are told; and all models but the stable
    Neo-Hookean: others have a barrier of their own, or lose volume where they are pulled.

    Args:
        elasticities: of a scene.
        left: (N,) vertices that are moved by others than forces, or of bodies that begin inside out
            and have to unfold.
    """

    def __init__(self, elasticities: list[Elasticity], left: Tensor | None = None) -> None:
        self._parts = [
            (part, _moduli(part))
            for part in elasticities
            if isinstance(part.material, StableNeoHookean)
        ]
        self._left = left
        self._kept = [
            torch.ones_like(part.tets.volumes, dtype=torch.bool) for part, _ in self._parts
        ]
        if self._left is not None:
            self._let_go(self._left)

    def begin(self, start: Tensor) -> None:
        """Begins a step at (3, N) positions."""
        # What is being unfolded may have to turn on the way.
        self._kept = [
            torch.full_like(kept, not part.is_limited)
            for kept, (part, _) in zip(self._kept, self._parts, strict=True)
        ]
        if self._left is not None:
            self._let_go(self._left)
        self.admit(start)

    def admit(self, positions: Tensor) -> None:
        """Lets go of what is inside out at (3, N) positions where a search is to begin."""
        turned = torch.zeros_like(positions[0], dtype=torch.bool)
        for part, _ in self._parts:
            corners = part.corners[:, part.tets.volume_ratios(positions) <= 0.0]
            turned[corners.ravel().long()] = True
        if bool(turned.any()):
            self._let_go(turned)

    def _let_go(self, vertices: Tensor) -> None:
        """Of the tets around (N,) vertices."""
        self._kept = [
            kept & ~vertices[part.corners.long()].any(0)
            for kept, (part, _) in zip(self._kept, self._parts, strict=True)
        ]

    def energy(self, positions: Tensor) -> Tensor:
        """In joules."""
        total = 0.0
        for flat in self._flat(positions):
            if flat.ratios.min() <= 0.0:
                return positions.new_tensor(torch.inf)
            q = flat.ratios
            total -= float((flat.energies * (q - 1.0) ** 2 * np.log(q)).sum())
        return positions.new_tensor(total)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds (3, N) in newtons to ``out``."""
        for flat in self._flat(positions):
            forces = flat.slopes[0][:, None, None] * flat.volume_gradients
            forces = np.concatenate([-forces.sum(axis=1, keepdims=True), forces], axis=1)
            corners = torch.as_tensor(flat.corners.ravel(), device=out.device)
            out.index_add_(1, corners, torch.as_tensor(forces.reshape(-1, 3).T.copy()).to(out))

    def hessian(self, positions: Tensor, projected: bool) -> Any:
        """(3N, 3N) sparse, in N/m; None where nothing is below the floor."""
        blocks = [_blocks(flat, projected) for flat in self._flat(positions)]
        if not blocks:
            return None
        rows, columns, values = (np.concatenate(part) for part in zip(*blocks, strict=True))
        size = positions.numel()
        return sparse.coo_array((values, (rows, columns)), (size, size)).tocsr()

    def max_step(self, positions: Tensor, direction: Tensor) -> float:
        """The share, at most 1, of a step (3, N) along which no tet that is kept turns."""
        share = 1.0
        for (part, _), kept in zip(self._parts, self._kept, strict=True):
            turned = kept & (part.tets.volume_ratios(positions + direction) <= 0.0)
            if bool(turned.any()):
                edges, change = (part.tets.edges(of)[:, :, turned] for of in (positions, direction))
                share = min(share, inversion_bound(edges, change))
        return share

    def _flat(self, positions: Tensor) -> Iterator[_Flat]:
        for (part, moduli), kept in zip(self._parts, self._kept, strict=True):
            tets = part.tets
            ratios = tets.volume_ratios(positions)
            which = torch.nonzero(kept & (ratios < FLOOR)).ravel()
            if len(which) == 0:
                continue
            corners = tets.corners[:, which].T.cpu().numpy()
            points = positions.T.cpu().double().numpy()[corners]
            volumes = tets.volumes[which].cpu().double().numpy()
            energies = volumes * moduli[which.cpu().numpy()] * FLOOR
            flat = ratios[which].cpu().double().numpy() / FLOOR
            yield _Flat(corners, energies, points[:, 1:] - points[:, :1], volumes, flat)


def _moduli(part: Elasticity) -> Values:
    """(M,) λ + 2μ in Pa, of full tets: those that are all but empty fold first."""
    material = part.material
    moduli = torch.as_tensor(material.lam + 2.0 * material.mu, dtype=torch.float64)
    fill = [
        mesh.fill if mesh.fill is not None else np.ones(len(mesh.tets))
        for _, mesh in part.tets.meshes
    ]
    return np.broadcast_to(moduli.cpu().numpy(), len(part.tets)) / np.concatenate(fill)


def _blocks(flat: _Flat, projected: bool) -> tuple[Values, Values, Values]:
    """Rows, columns and values, of which those of one place are to be added up."""
    first, second = flat.slopes
    count, along = len(first), flat.volume_gradients.reshape(-1, 9)
    of_edges = second[:, None, None] * along[:, :, None] * along[:, None]
    turning = (first / (6.0 * flat.volumes))[:, None, None]
    for a in range(3):
        # The product of the next two edges changes with each of them.
        b, c = (a + 1) % 3, (a + 2) % 3
        of_edges[:, 3 * a : 3 * a + 3, 3 * b : 3 * b + 3] -= turning * _cross(flat.edges[:, c])
        of_edges[:, 3 * a : 3 * a + 3, 3 * c : 3 * c + 3] += turning * _cross(flat.edges[:, b])
    if projected:
        values, vectors = np.linalg.eigh(of_edges)
        of_edges = (vectors * np.maximum(values, 0.0)[:, None]) @ vectors.swapaxes(1, 2)
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
