# SPDX-License-Identifier: GPL-3.0-or-later
"""What gas does inside of a body."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS, BlockMatrix, BlockPattern, ElementMap
from ..assembly.segments import segment_sums
from ..assembly.tensor_channel import TensorChannel
from ..errors import InstabilityError
from .potential import TimeStep
from .prescribed import PrescribedPotential

# Inflated tenfold along each axis: rubber tears sooner.
MAX_VOLUME_RATIO = 1e3
# The blocks of a triangle (a, b, c), written as the tet (a, b, c, c), and by which corner's
# cross product each is.
_BLOCKS = tuple(CORNER_PAIRS.index(pair) for pair in ((0, 1), (0, 2), (1, 2)))
_OPPOSITE, _SIGNS = (2, 1, 0), (-1.0, 1.0, -1.0)


class Pressure(PrescribedPotential):
    """−p V: gas at the pressure p, of the volume V inside of closed, weighted triangles.

    V is the sum of x_a · (x_b × x_c) / 6, and the force on a corner p times a third of the area of
    the triangles around it, along their normals.

    Args:
        channel: p, () in Pa.
        triangles: (S, 3) vertex indices, seen counter-clockwise from outside of the gas.
        weights: (S,) of the triangles.
        rest_positions: (3, N) in metres.
        name: of the body.
    """

    def __init__(
        self,
        channel: TensorChannel,
        triangles: NDArray[np.int32],
        weights: NDArray[np.float64],
        rest_positions: Tensor,
        name: str,
    ) -> None:
        super().__init__(channel)
        self._name, self._triangles, device = name, triangles, rest_positions.device
        self._corners = torch.as_tensor(triangles.T.astype(np.int64), device=device)
        self._sixths = torch.as_tensor(weights / 6.0).to(rest_positions)
        corners = triangles.ravel()
        order = np.argsort(corners, kind="stable")
        vertices, starts = np.unique(corners[order], return_index=True)
        self._vertices = torch.as_tensor(vertices.astype(np.int64), device=device)
        self._around = torch.as_tensor(order // 3, device=device)
        self._offsets = torch.as_tensor(np.append(starts, len(corners)), device=device)
        self._map: tuple[BlockPattern, ElementMap] | None = None
        self._cancellation = 0.0
        self._rest_volume = float(self.volume(rest_positions))

    @property
    def stiffest(self) -> Tensor:
        samples = self._channel.samples
        return samples[samples.abs().argmax()]

    @property
    def cancellation(self) -> float:
        return self._cancellation

    def begin_time_step(self, step: TimeStep) -> None:
        self._cancellation = float((self.parameters * self._volumes(step.start)).abs().sum())

    def volume(self, positions: Tensor) -> Tensor:
        """Of the gas, in m³."""
        return self._volumes(positions).sum()

    def check(self, positions: Tensor, frame: int) -> None:
        """
        Raises:
            InstabilityError: when it has burst what holds it, at (3, N) positions of a frame.
        """
        ratio = float(self.volume(positions)) / self._rest_volume
        if ratio > MAX_VOLUME_RATIO:
            raise InstabilityError(
                f"{self._name}: by frame {frame} the pressure inside has burst it, to {ratio:.2g} "
                "times its volume. Lower the pressure, or raise Young's modulus."
            )

    def energy(self, positions: Tensor) -> Tensor:
        return -self.parameters * self.volume(positions)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        a, b, c = (positions[:, corner] for corner in self._corners)
        areas = self._sixths * torch.linalg.cross(b - a, c - a, dim=0)
        forces = segment_sums(areas.T[self._around], self._offsets)
        out[:, self._vertices] -= self.parameters * forces.T

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Of it alone; projected it is none, since what opens one way closes the other."""
        if projected:
            return
        blocks = positions.new_zeros(len(self._triangles), len(CORNER_PAIRS), 9)
        corners = self._local(positions)
        for block, corner, sign in zip(_BLOCKS, _OPPOSITE, _SIGNS, strict=True):
            x, y, z = -sign * self.parameters * self._sixths * corners[corner]
            for place, value in ((1, -z), (2, y), (3, z), (5, -x), (6, -y), (7, x)):
                blocks[:, block, place] = value
        matrix.add_elements(self._located(matrix.pattern), blocks)

    def _volumes(self, positions: Tensor) -> Tensor:
        a, b, c = self._local(positions)
        return self._sixths * (a * torch.linalg.cross(b, c, dim=0)).sum(0)

    def _local(self, positions: Tensor) -> list[Tensor]:
        """The (3, S) corners, from one of them, so that rounding is that of the body's size."""
        origin = positions[:, self._corners[0, :1]]
        return [positions[:, corner] - origin for corner in self._corners]

    def _located(self, pattern: BlockPattern) -> ElementMap:
        if self._map is None or self._map[0] is not pattern:
            self._map = pattern, pattern.locate(self._triangles.T[[0, 1, 2, 2]])
        return self._map[1]
