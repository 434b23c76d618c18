# SPDX-License-Identifier: GPL-3.0-or-later
"""The enclosed volume of bodies: its pressure and its target."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS, BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..compiled import runs_loops
from ..errors import InstabilityError
from ..kernels.enclosed_volume import add_area_vectors, volume_inside
from ..math3.torch_matrices import segment_sums
from .potential import PrescribedPotential, TimeStep

# Inflated tenfold along each axis: rubber tears sooner.
MAX_VOLUME_RATIO = 1e3
# The blocks of a triangle (a, b, c), written as the tet (a, b, c, c), and by which corner's
# cross product each is.
_BLOCKS = tuple(CORNER_PAIRS.index(pair) for pair in ((0, 1), (0, 2), (1, 2)))
_OPPOSITE, _SIGNS = (2, 1, 0), (-1.0, 1.0, -1.0)


class EnclosedVolume:
    """V = Σ x_a · (x_b × x_c) / 6 over weighted triangles.

    Its gradient at a corner is a third of the area of the triangles around it, along their normals.

    Args:
        triangles: (S, 3) vertex indices, seen counter-clockwise from outside of the volume.
        weights: (S,) of the triangles.
        rest_positions: (3, N) in metres.
        name: of the body it is inside of.
    """

    def __init__(
        self,
        triangles: NDArray[np.int32],
        weights: NDArray[np.float64],
        rest_positions: Tensor,
        name: str,
    ) -> None:
        self._name, self._triangles, device = name, triangles, rest_positions.device
        self._corners = torch.as_tensor(triangles.T.astype(np.int64), device=device)
        self._sixths = torch.as_tensor(weights / 6.0).to(rest_positions)
        # Unsigned, since a loop would ask of each signed index whether it counts from the end.
        self._loop_triangles = np.ascontiguousarray(triangles.T.astype(np.uint32))
        corners = triangles.ravel()
        order = np.argsort(corners, kind="stable")
        vertices, starts = np.unique(corners[order], return_index=True)
        self._vertices = torch.as_tensor(vertices.astype(np.int64), device=device)
        self._around = torch.as_tensor(order // 3, device=device)
        self._offsets = torch.as_tensor(np.append(starts, len(corners)), device=device)
        # Kept for the last pattern.
        self._element_map = lru_cache(maxsize=1)(
            lambda pattern: pattern.locate(triangles.T[[0, 1, 2, 2]])
        )
        #: The volume of the modelled shape, in m³.
        self.at_rest = float(self.of(rest_positions))

    def of(self, positions: Tensor) -> Tensor:
        """V in m³."""
        if not runs_loops(positions) or positions.requires_grad:
            return self.parts(positions).sum()
        return positions.new_tensor(volume_inside(*self._arrays(positions)))

    def parts(self, positions: Tensor) -> Tensor:
        """Return the (S,) parts of the volume V, in m³."""
        a, b, c = self._local(positions)
        return self._sixths * (a * torch.linalg.cross(b, c, dim=0)).sum(0)

    def add_gradient(self, factor: Tensor, positions: Tensor, out: Tensor) -> None:
        """Adds a factor times the (3, N) gradient of V, in m², to ``out``."""
        on_tape = any(part.requires_grad for part in (factor, positions, out))
        if runs_loops(positions) and not on_tape:
            add_area_vectors(float(factor), *self._arrays(positions), out.numpy())
            return
        a, b, c = (positions[:, corner] for corner in self._corners)
        areas = self._sixths * torch.linalg.cross(b - a, c - a, dim=0)
        forces = segment_sums(areas.T[self._around], self._offsets)
        out[:, self._vertices] += factor * forces.T

    def add_hessian(self, factor: Tensor, positions: Tensor, matrix: BlockMatrix) -> None:
        """Adds a factor times the second derivative of V, in m, which is indefinite."""
        blocks = positions.new_zeros(len(self._triangles), len(CORNER_PAIRS), 9)
        corners = self._local(positions)
        for block, corner, sign in zip(_BLOCKS, _OPPOSITE, _SIGNS, strict=True):
            x, y, z = sign * factor * self._sixths * corners[corner]
            for place, value in ((1, -z), (2, y), (3, z), (5, -x), (6, -y), (7, x)):
                blocks[:, block, place] = value
        matrix.add_elements(self._element_map(matrix.pattern), blocks)

    def check(self, positions: Tensor, frame: int) -> None:
        """Refuse positions at which gas has burst its body.

        Raises:
            InstabilityError: if gas has burst its body, at the (3, N) positions of a frame.
        """
        ratio = float(self.of(positions)) / self.at_rest
        if ratio > MAX_VOLUME_RATIO:
            raise InstabilityError(
                f"{self._name}: by frame {frame} the pressure inside has burst it, to {ratio:.2g} "
                "times its volume. Lower the pressure, or raise the stiffness (Young's modulus)."
            )

    def _arrays(self, positions: Tensor) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return what compiled loops read."""
        return self._loop_triangles, self._sixths.numpy(), positions.numpy()

    def _local(self, positions: Tensor) -> list[Tensor]:
        """The (3, S) corners, from one of them, so that rounding is that of the body's size."""
        origin = positions[:, self._corners[0, :1]]
        return [positions[:, corner] - origin for corner in self._corners]


class Pressure(PrescribedPotential):
    """−p V: gas at the pressure p, of the volume V.

    Args:
        channel: p, () in Pa.
        volume: of the gas.
    """

    def __init__(self, channel: TensorChannel, volume: EnclosedVolume) -> None:
        super().__init__(channel)
        self.volume = volume
        self._cancellation = 0.0

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> Pressure:
        return self._taped(quantities, index, frame, fraction)

    @property
    def stiffest(self) -> Tensor:
        samples = self.channel.samples
        return samples[samples.abs().argmax()]

    @property
    def cancellation(self) -> float:
        return self._cancellation

    def begin_time_step(self, step: TimeStep) -> None:
        self._cancellation = float((self.parameters * self.volume.parts(step.start)).abs().sum())

    def energy(self, positions: Tensor) -> Tensor:
        return -self.parameters * self.volume.of(positions)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.volume.add_gradient(-self.parameters, positions, out)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Add the Hessian of the pressure alone. It is indefinite, since an opening in one
        direction closes another: projected, nothing is added."""
        if not projected:
            self.volume.add_hessian(-self.parameters, positions, matrix)


class TargetVolume(PrescribedPotential):
    """k (V − f V₀)² / 2 V₀: gas whose pressure is p = k (f V₀ − V) / V₀, V₀ its volume at rest.

    Args:
        channel: f, ().
        stiffness: k in Pa.
        volume: of the gas.
    """

    def __init__(self, channel: TensorChannel, stiffness: float, volume: EnclosedVolume) -> None:
        super().__init__(channel)
        self.volume = volume
        #: k/V₀, in J/m⁶.
        self.second_derivative = stiffness / volume.at_rest
        # The sum of the magnitudes of the subtracted terms, in J/m³, and its error.
        self._whole, self._last_excess = 0.0, channel.samples.new_zeros(())

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> TargetVolume:
        volume, at_rest = copy(self.volume), quantities[f"at rest {index}"]
        vars(volume).update(at_rest=at_rest)
        factor = self.second_derivative * self.volume.at_rest / at_rest
        members = {"volume": volume, "second_derivative": factor}
        return self._taped(quantities, index, frame, fraction, **members)

    @property
    def stiffest(self) -> Tensor:
        samples = self.channel.samples
        return samples[(samples - 1.0).abs().argmax()]

    @property
    def cancellation(self) -> float:
        return float(self._last_excess.abs()) * self._whole

    def begin_time_step(self, step: TimeStep) -> None:
        sizes = self.volume.parts(step.start).abs().sum()
        whole = sizes + self.parameters.abs() * self.volume.at_rest
        self._whole = float(self.second_derivative * whole)

    def pressure(self, positions: Tensor) -> Tensor:
        """p in Pa."""
        return -self.second_derivative * self._excess(positions)

    def energy(self, positions: Tensor) -> Tensor:
        # It is known as well as the volumes that are subtracted in it are.
        self._last_excess = self._excess(positions)
        return 0.5 * self.second_derivative * self._last_excess.square()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.volume.add_gradient(-self.pressure(positions), positions, out)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """That of the volume by itself is of rank one: k ∇V ∇Vᵀ / V₀. Projected it is all; the
        second derivative of the pressure term is indefinite."""
        gradient = self._volume_gradient(positions)[:, matrix.pattern.vertices]
        matrix.add_rank_one(gradient.T.contiguous(), self.second_derivative)
        if not projected:
            self.volume.add_hessian(-self.pressure(positions), positions, matrix)

    def relax(self, positions: Tensor, mobility: Tensor) -> None:
        """As a constraint of XPBD, of the compliance V₀/k: changes (3, N) positions in place.

        Args:
            mobility: (N,) the squared step over the mass, zero where a vertex is pinned, in s²/kg.
        """
        gradient = self._volume_gradient(positions)
        moves = mobility * gradient
        flexibility = (moves * gradient).sum() + 1.0 / self.second_derivative
        positions.sub_(moves * (self._excess(positions) / flexibility))

    def _volume_gradient(self, positions: Tensor) -> Tensor:
        """Return the (3, N) gradient of the volume, in m²."""
        gradient = torch.zeros_like(positions)
        self.volume.add_gradient(positions.new_ones(()), positions, gradient)
        return gradient

    def _excess(self, positions: Tensor) -> Tensor:
        """V − f V₀ in m³."""
        return self.volume.of(positions) - self.parameters * self.volume.at_rest
