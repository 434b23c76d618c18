# SPDX-License-Identifier: GPL-3.0-or-later
"""A pressure on tets that are pressed flat, by how high they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import CachedAt
from ..assembly.tets import Tets
from ..compiled import runs_loops
from ..kernels.flat_tets import LEAST_SQUARE, ROOT_3, PressedTets, height_ratios_on_cpu
from ..materials import StableNeoHookean
from .elasticity import Elasticity
from .posed_elasticity import PosedElasticity
from .potential import Potential

Values = NDArray[np.float64]

# ε_ijk, the signs of permutations.
_EPSILON = np.zeros((3, 3, 3))
_EPSILON[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = 1.0
_EPSILON[[0, 2, 1], [2, 1, 0], [1, 0, 2]] = -1.0


def height_ratios(tets: Tets, positions: Tensor) -> Tensor:
    """(M,) η of each tet at (3, N) positions."""
    if runs_loops(positions):
        return height_ratios_on_cpu(positions, tets.corners, tets.gradients_by_tet)
    return height_derivatives_of(tets.deformation_gradients(positions))[0]


def height_derivatives_of(f: Tensor) -> tuple[Tensor, Tensor]:
    """(M,) η of (3, 3, M) deformation gradients, and (3, 3, M) its derivatives; on autograd's tape
    where F is."""
    cofactor = 0.5 * _mixed_cofactor(f, f)
    square = cofactor.square().sum((0, 1)) + LEAST_SQUARE
    scale, j = ROOT_3 / square.sqrt(), (f[0] * cofactor[0]).sum(0)
    return scale * j, scale * (cofactor - j / square * _mixed_cofactor(f, cofactor))


def _mixed_cofactor(f: Tensor, g: Tensor) -> Tensor:
    """(3, 3, M) derivative of cof F in a direction G; of G = F twice the cofactor."""
    rows = []
    for j, k in ((1, 2), (2, 0), (0, 1)):
        rows.append(torch.linalg.cross(f[j], g[k], dim=0) + torch.linalg.cross(g[j], f[k], dim=0))
    return torch.stack(rows)


class HeightRatios:
    """The height ratios of tets, and their derivatives.

    Args:
        f: (A, 3, 3) deformation gradients.
    """

    def __init__(self, f: Values) -> None:
        # The Hessian of J; times F it is twice the cofactor, times the cofactor half the
        # derivative of the square: J is a cubic, and its second derivative is linear in F.
        self._hessians = _hessians_of_j(f)
        self._cofactors = 0.5 * _times(self._hessians, f.reshape(-1, 9))
        self._inner = _times(self._hessians, self._cofactors)
        self._j = (self._cofactors * f.reshape(-1, 9)).sum(axis=1) / 3.0
        self._squares = (self._cofactors**2).sum(axis=1) + LEAST_SQUARE

    @property
    def values(self) -> Values:
        """Return the (A,) height ratios η."""
        return np.asarray(ROOT_3 * self._j / np.sqrt(self._squares))

    @cached_property
    def gradients(self) -> Values:
        """(A, 3, 3) derivatives in F."""
        inner = (self._j / self._squares)[:, None] * self._inner
        scale = ROOT_3 / np.sqrt(self._squares)[:, None]
        return np.asarray(scale * (self._cofactors - inner)).reshape(-1, 3, 3)

    @property
    def hessians(self) -> Values:
        """(A, 9, 9) second derivatives in the entries of F, row by row."""
        cofactors, inner, squares = self._cofactors, self._inner, self._squares[:, None, None]
        ratios = self._j[:, None, None] / squares
        mixed = cofactors[:, :, None] * inner[:, None]
        half_square = self._hessians @ self._hessians + _hessians_of_j(cofactors.reshape(-1, 3, 3))
        square_term = 3.0 * inner[:, :, None] * inner[:, None] / squares - half_square
        sums = self._hessians - (mixed + mixed.swapaxes(1, 2)) / squares + ratios * square_term
        return np.asarray(ROOT_3 / np.sqrt(squares) * sums)


def _hessians_of_j(f: Values) -> Values:
    """(A, 9, 9) second derivatives of det F in the entries of F, row by row."""
    products = np.einsum("imn,jpq,amp->aijnq", _EPSILON, _EPSILON, f)
    return np.asarray(products.reshape(-1, 9, 9))


def _times(matrices: Values, vectors: Values) -> Values:
    """(A, 9) products of (A, 9, 9) and (A, 9)."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


#: The height ratio below which it pushes: that of a tet pressed to a quarter of its height without
#: spreading.
FLOOR_RATIO = 0.4
#: The pressure at zero height, relative to λ + 2μ = ρ c²: the pressure ρ v² of a blow at 45 times
#: the speed of sound c.
PRESSURE_RATIO = 2000.0
#: The same of tets that are meant to be flat: those that begin below the floor, which are to open
#: at the pace of their elasticity, and of bodies that rest in poses.
GENTLE_PRESSURE_RATIO = 20.0


@dataclass(frozen=True, eq=False)
class _Flat:
    """The A tets of an elasticity that are below the floor, with energies by its stiffness.

    Args:
        corners: (A, 4) vertices.
        energies: (A,) V P η̄ of each, in joules.
        shape_gradients: (A, 4, 3) of the corners, in 1/m.
        points: (A, 4, 3) where the corners are.
        ratios: (A,) η.
    """

    corners: NDArray[np.int32]
    energies: Values
    shape_gradients: Values
    points: Values
    ratios: Values

    @cached_property
    def _heights(self) -> HeightRatios:
        return HeightRatios(self.points.swapaxes(1, 2) @ self.shape_gradients)

    @property
    def _depths(self) -> Values:
        """(A,) 1 − η/η̄, above 0."""
        return 1.0 - self.ratios / FLOOR_RATIO

    @property
    def energy(self) -> float:
        """In joules."""
        return float(self.energies @ self._depths**3) / 3.0

    @property
    def _first_derivatives(self) -> Values:
        """(A,) derivatives of the energy in η, in joules."""
        return -self.energies * self._depths**2 / FLOOR_RATIO

    @property
    def forces(self) -> Values:
        """(A, 4, 3) derivatives of the energy in the corners, in newtons."""
        stresses = self._first_derivatives[:, None, None] * self._heights.gradients
        return np.asarray(self.shape_gradients @ stresses.swapaxes(1, 2))

    def hessians(self, projected: bool) -> Values:
        """(A, 12, 12) second derivatives in the corners, corner by corner, in N/m."""
        gradients = self._heights.gradients.reshape(-1, 9)
        second_derivatives = 2.0 * self.energies * self._depths / FLOOR_RATIO**2
        values = second_derivatives[:, None, None] * gradients[:, :, None] * gradients[:, None]
        if not projected:
            values += self._first_derivatives[:, None, None] * self._heights.hessians
        count, to_corners = len(values), self.shape_gradients
        entries = values.reshape(count, 3, 3, 3, 3)
        blocks = np.einsum("eaj,eijkl,ebl->eaibk", to_corners, entries, to_corners)
        return np.asarray(blocks.reshape(count, 12, 12))


class HeightFloor(Potential):
    """Σ V P η̄ (1 − η/η̄)³ / 3 over the tets whose height ratio η is below η̄: a pressure that grows
    from none there to P at η = 0, and on.

    It is finite, so that no step has to end before a tet is flat. P is 2000 (λ + 2μ) of the solid
    in the tet, more than any load; it is a hundredth of that in tets that start below η̄, and in
    bodies with rest poses. It does not change a model above η̄, bodies that are being unfolded, or
    models other than the stable Neo-Hookean: those have their own barrier, or lose volume when
    stretched.

    Args:
        elasticities: of a scene.
        start: (3, N) positions at which the scene begins, in metres.
        inverted: (N,) vertices of bodies that begin inside out, which unfold by turning tets.
    """

    is_stiff = True

    def __init__(self, elasticities: list[Elasticity], start: Tensor, inverted: Tensor) -> None:
        self._parts = [
            _Part(part, _pressures(part, start), ~inverted[part.corners[0].long()])
            for part in elasticities
            if isinstance(part.material, StableNeoHookean)
        ]

    @property
    def parts(self) -> list[PressedTets]:
        """Return the pressed tets of each elasticity, on a CPU; they follow rest shapes that
        change."""
        return [
            PressedTets(
                part.tets.corners.numpy(),
                part.tets.gradients_by_tet,
                part.tets.metric_by_tet,
                part.tets.volumes.double().numpy(),
                np.where(floor.is_supported.numpy(), floor.pressures, 0.0),
            )
            for floor in self._parts
            if not (part := floor.elasticity).is_limited
        ]

    def energy(self, positions: Tensor) -> Tensor:
        parts = (stiffness * flat.energy for stiffness, flat in self._flat(positions))
        return positions.new_tensor(sum(parts))

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        for stiffness, flat in self._flat(positions):
            corners = torch.as_tensor(flat.corners.ravel(), device=out.device)
            forces = torch.as_tensor(stiffness * flat.forces.reshape(-1, 3).T)
            out.index_add_(1, corners, forces.to(out))

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """The projected Hessian omits the change of the pressure's direction and is positive
        semi-definite."""
        for stiffness, flat in self._flat(positions):
            matrix.add_few_elements(flat.corners, stiffness * flat.hessians(projected))

    def _flat(self, positions: Tensor) -> Iterator[tuple[float, _Flat]]:
        for part in self._parts:
            # Tets that are being unfolded may have to invert on the way.
            if part.elasticity.is_limited:
                continue
            flat = part.flat(positions)
            if flat is not None:
                yield float(part.elasticity.stiffness), flat


class _Part:
    """The tets of an elasticity.

    Args:
        pressures: (M,) P in Pa.
        is_supported: (M,) whether a tet is kept from being pressed flat.
    """

    def __init__(self, elasticity: Elasticity, pressures: Values, is_supported: Tensor) -> None:
        self.elasticity, self.pressures, self.is_supported = elasticity, pressures, is_supported
        # Energy, gradient and Hessian are evaluated at the same positions.
        self._flat, self._rest_changes = CachedAt(self._find_flat), 0

    def flat(self, positions: Tensor) -> _Flat | None:
        """Return the tets below the floor at (3, N) positions, if there are any."""
        if self._rest_changes != self.elasticity.tets.rest_changes:
            self._rest_changes = self.elasticity.tets.rest_changes
            self._flat.forget()
        return self._flat(positions)

    def _find_flat(self, positions: Tensor) -> _Flat | None:
        tets = self.elasticity.tets
        ratios = height_ratios(tets, positions)
        which = torch.nonzero(self.is_supported & (ratios < FLOOR_RATIO)).ravel()
        if len(which) == 0:
            return None
        corners = tets.corners[:, which].T.cpu().numpy()
        volumes = tets.volumes[which].cpu().double().numpy()
        return _Flat(
            corners,
            volumes * self.pressures[which.cpu().numpy()] * FLOOR_RATIO,
            tets.shape_gradients[:, :, which].permute(2, 0, 1).cpu().double().numpy(),
            positions.T.cpu().double().numpy()[corners],
            ratios[which].cpu().double().numpy(),
        )


def pressure_ratios(part: Elasticity, start: Tensor) -> Tensor:
    """(M,) P of tets in units of λ + 2μ, by the (3, N) positions where the scene begins."""
    is_gentle = height_ratios(part.tets, start) < FLOOR_RATIO
    if isinstance(part, PosedElasticity):
        is_gentle |= True
    ratios = torch.full_like(is_gentle, PRESSURE_RATIO, dtype=torch.float64)
    return ratios.masked_fill(is_gentle, GENTLE_PRESSURE_RATIO)


def _pressures(part: Elasticity, start: Tensor) -> Values:
    """(M,) P in Pa."""
    return np.asarray(pressure_ratios(part, start).cpu().numpy() * _moduli(part))


def _moduli(part: Elasticity) -> Values:
    """Return (M,) λ + 2μ of full tets in Pa; nearly empty tets fold first."""
    material = part.material
    moduli = torch.as_tensor(material.lam + 2.0 * material.mu, dtype=torch.float64)
    fill = [
        mesh.fill if mesh.fill is not None else np.ones(len(mesh.tets))
        for _, mesh in part.tets.meshes
    ]
    return np.broadcast_to(moduli.cpu().numpy(), len(part.tets)) / np.concatenate(fill)
