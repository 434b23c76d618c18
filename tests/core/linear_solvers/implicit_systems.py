# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear systems of implicit steps, and what they are as dense matrices."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from supple.core import TetMesh
from supple.core.assembly.block_matrix import BlockMatrix, BlockPattern
from supple.core.linear_solvers.rigid_modes import bisect
from supple.core.materials import StableNeoHookean
from supple.core.potentials import Elasticity

CPU = torch.device("cpu")
STEP = 1.0 / 24.0
DENSITY = 1000.0


@dataclass
class ImplicitSystem:
    """M / h² + K of bodies shaken out of rest, and where its unknowns are."""

    matrix: BlockMatrix
    positions: torch.Tensor
    group_offsets: np.ndarray

    @property
    def pattern(self) -> BlockPattern:
        return self.matrix.pattern

    @property
    def dense(self) -> np.ndarray:
        """(3n, 3n)."""
        return dense(self.matrix)

    def rhs(self) -> torch.Tensor:
        generator = torch.Generator().manual_seed(3)
        values = torch.randn(self.positions.shape, generator=generator, dtype=torch.float64)
        return values.to(self.positions)


def implicit_system(
    *meshes: TetMesh,
    young: float = 1e6,
    poisson: float = 0.4,
    pinned: tuple[int, ...] = (),
    group_size: int = 20,
    step: float = STEP,
    device: torch.device = CPU,
) -> ImplicitSystem:
    firsts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    vertices = np.concatenate([mesh.vertices for mesh in meshes])
    noise = np.random.default_rng(5).normal(scale=0.01, size=vertices.shape)
    positions = torch.tensor((vertices + noise).T, dtype=torch.float64, device=device).contiguous()
    elasticity = Elasticity(
        StableNeoHookean(young, poisson),
        list(zip(firsts.tolist(), meshes, strict=False)),
        positions[0],
    )
    free = np.setdiff1d(np.arange(len(vertices)), pinned)
    groups = [
        group
        for first, last in pairwise(firsts)
        for group in bisect(vertices, free[(free >= first) & (free < last)], group_size)
    ]
    order = np.concatenate(groups)
    pattern = BlockPattern(elasticity.corners.cpu().numpy(), order, len(vertices), device)
    matrix = BlockMatrix(pattern, torch.float64)
    masses = np.concatenate([mesh.lumped_mass(DENSITY) for mesh in meshes])[order]
    matrix.add_diagonal(torch.tensor(masses / step**2, dtype=torch.float64, device=device))
    elasticity.add_hessian(positions, matrix)
    offsets = np.cumsum([0, *map(len, groups)]).astype(np.int32)
    return ImplicitSystem(matrix, positions[:, order].T.contiguous(), offsets)


def dense(matrix: BlockMatrix) -> np.ndarray:
    """(3n, 3n)."""
    pattern, size = matrix.pattern, matrix.pattern.size
    blocks = np.zeros((size, size, 3, 3))
    rows = np.repeat(np.arange(size), np.diff(pattern.offsets))
    blocks[rows, pattern.columns] = matrix.values.view(-1, 3, 3).cpu().double().numpy()
    return blocks.swapaxes(1, 2).reshape(3 * size, 3 * size)
