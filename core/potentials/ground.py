# SPDX-License-Identifier: GPL-3.0-or-later
"""The barrier of the ground, its friction, and the colliding points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS, BlockMatrix
from ..assembly.tensor_channel import CachedAt
from ..compiled import runs_loops
from ..kernels import obstacles as loops
from ..kernels.barrier import barrier, barrier_derivatives
from ..math3.torch_matrices import segment_sums
from ..scene.friction import MIN_SLIDE_RATIO, Coefficients, f0, f1, slide_stiffness
from .potential import Potential, TimeStep


class GroundPoints(ABC):
    """S points that follow N vertices."""

    #: (U,) vertices that move and carry points.
    vertices: Tensor

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def gather(self, values: Tensor) -> Tensor:
        """Interpolate (…, N) values of the vertices to (…, S) values at the points."""

    @abstractmethod
    def add(self, values: Tensor, out: Tensor) -> None:
        """Adds (…, S) forces on the points to the (…, N) on the vertices."""

    @abstractmethod
    def from_bodies(self, values: Tensor) -> Tensor:
        """Return (S,) values of points from (N,) values that all vertices of a body share."""

    @abstractmethod
    def add_blocks(self, blocks: Tensor, matrix: BlockMatrix) -> None:
        """Adds (S, 9) second derivatives by the positions of the points."""


class GroundVertices(GroundPoints):
    """Vertices that are points themselves.

    Args:
        vertices: (S,) different ones that move.
    """

    def __init__(self, vertices: Tensor) -> None:
        self.vertices = vertices

    def __len__(self) -> int:
        return len(self.vertices)

    def gather(self, values: Tensor) -> Tensor:
        return values[..., self.vertices]

    def add(self, values: Tensor, out: Tensor) -> None:
        out.index_add_(-1, self.vertices, values)

    def from_bodies(self, values: Tensor) -> Tensor:
        return values[self.vertices]

    def add_blocks(self, blocks: Tensor, matrix: BlockMatrix) -> None:
        matrix.add_diagonal_blocks(self.vertices, blocks)


class EmbeddedPoints(GroundPoints):
    """Points that are sums of the vertices of one tet each.

    Args:
        corners: (4, S) indices of vertices; a point that is a vertex names it four times.
        shares: (4, S) of each corner, which sum to one.
        free: (N,) which vertices move by themselves.
    """

    def __init__(self, corners: Tensor, shares: Tensor, free: Tensor) -> None:
        self.corners, self.shares = corners, shares
        self._flat = corners.reshape(-1)
        flat = corners.cpu().numpy().ravel()
        order = np.argsort(flat, kind="stable")
        carriers, offsets = np.unique(flat[order], return_index=True)
        self.vertices = _on(carriers[free.cpu().numpy()[carriers]], corners)
        self._carriers, self._order = _on(carriers, corners), _on(order, corners)
        self._offsets = _on(np.append(offsets, len(order)), corners)
        # Kept for the last pattern.
        self._element_map = lru_cache(maxsize=1)(
            lambda pattern: pattern.locate(corners.cpu().numpy())
        )
        self._places = lru_cache(maxsize=1)(lambda pattern: pattern.places(corners.numpy()))

    @cached_property
    def _products(self) -> Tensor:
        """Return the (S, 10) products of the shares of two corners."""
        first, second = np.array(CORNER_PAIRS).T
        return (self.shares[first] * self.shares[second]).T.contiguous()

    @cached_property
    def _arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Corners and shares."""
        return self.corners.numpy(), self.shares.numpy()

    def __len__(self) -> int:
        return self.corners.shape[1]

    def gather(self, values: Tensor) -> Tensor:
        if self._has_loops(values):
            out = values.new_empty(*values.shape[:-1], len(self))
            self._loop(loops.gather, values, out)
            return out
        at_corners = values.index_select(-1, self._flat).view(*values.shape[:-1], 4, -1)
        return (at_corners * self.shares).sum(-2)

    def add(self, values: Tensor, out: Tensor) -> None:
        if self._has_loops(values, out):
            self._loop(loops.add, values, out)
            return
        parts = (values[..., None, :] * self.shares).flatten(-2).index_select(-1, self._order)
        # Summed in one order on every device.
        sums = segment_sums(parts.movedim(-1, 0).contiguous(), self._offsets)
        out[..., self._carriers] += sums.movedim(0, -1)

    def add_pulls(self, values: Tensor, goals: Tensor, factors: Tensor, out: Tensor) -> None:
        """Adds factor × (value − goal) of points, from (…, N) values at the vertices, to (…, N).

        Args:
            goals: (…, S) of the points.
            factors: (S,) of the points.
        """
        if self._has_loops(values, goals, factors, out):
            arrays = _rows(values), _rows(goals), factors.numpy()
            loops.add_pulls(*arrays, *self._arrays, out.numpy())
            return
        self.add(self.gather(values).sub_(goals).mul_(factors), out)

    def pull_energy_change(
        self, values: Tensor, before: Tensor, after: Tensor, factors: Tensor
    ) -> Tensor:
        """Return the change of Σ ½ factor |value − goal|² over points when (…, S) goals change,
        for (…, N) values at the vertices."""
        if self._has_loops(values):
            arrays = _rows(values), _rows(before), _rows(after), factors.numpy()
            change = loops.pull_energy_change(*arrays, *self._arrays)
            return values.new_tensor(change)
        # ½ k (|p − t'|² − |p − t|²) = k (t − t')·(p − (t + t')/2)
        middle = self.gather(values).sub_(0.5 * (before + after))
        return (factors * ((before - after) * middle)).sum()

    def from_bodies(self, values: Tensor) -> Tensor:
        return values[self.corners[0]]

    @staticmethod
    def _has_loops(values: Tensor, *others: Tensor) -> bool:
        on_tape = any(part.requires_grad for part in (values, *others))
        return runs_loops(values) and not on_tape and values.is_floating_point()

    def _loop(self, loop: Callable[..., None], values: Tensor, out: Tensor) -> None:
        rows = values.contiguous().view(-1, values.shape[-1]).numpy()
        loop(rows, self.corners.numpy(), self.shares.numpy(), out.view(-1, out.shape[-1]).numpy())

    def add_blocks(self, blocks: Tensor, matrix: BlockMatrix) -> None:
        if self._has_loops(blocks):
            places = self._places(matrix.pattern)
            loops.add_blocks(blocks.numpy(), places, self.shares.numpy(), matrix.values.numpy())
            return
        where = self._element_map(matrix.pattern)
        # Few points touch at a time.
        some = torch.nonzero(blocks.any(1)).flatten()
        if len(some) > 0:
            products = self._products[some, :, None] * blocks[some, None]
            elements = blocks.new_zeros(len(self), len(CORNER_PAIRS), 9)
            matrix.add_elements(where, elements.index_copy_(0, some, products))


def _rows(values: Tensor) -> NDArray[Any]:
    """Its numbers, row by row: loops are compiled for no other order."""
    return values.contiguous().numpy()


def _on(indices: NDArray[Any], template: Tensor) -> Tensor:
    return torch.as_tensor(indices.astype(np.int64), device=template.device)


class GroundBarrier(Potential):
    """Σ w d̂ β(d/d̂) over the points of surfaces, d their height above the ground.

    Args:
        points: S that touch the ground, or the (S,) indices of vertices that do.
        weights: (S,) barrier stiffness in Pa times area around a point in m², so in newtons.
        height: of the ground, in metres.
        distances: (S,) d̂ in metres, at which the barrier begins to act.
    """

    is_stiff = True

    def __init__(
        self, points: GroundPoints | Tensor, weights: Tensor, height: float, distances: Tensor
    ) -> None:
        self.points = GroundVertices(points) if isinstance(points, Tensor) else points
        self.weights, self.height, self.distances = weights, height, distances
        # Energy, forces, Hessian, friction and paths all ask for them.
        self._ratio, self._derivatives = (
            CachedAt(self._find_ratio),
            CachedAt(self._find_derivatives),
        )

    @property
    def vertices(self) -> Tensor:
        """Return the movable vertices that carry the points."""
        return self.points.vertices

    def energy(self, positions: Tensor) -> Tensor:
        ratio = self.ratio(positions)
        if not ratio.is_cuda and not bool((ratio < 1.0).any()):
            return positions.new_zeros(())
        return (self.weights * self.distances * barrier(ratio)).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.points.add(-self.normal_force(positions), out[2])

    def normal_force(self, positions: Tensor) -> Tensor:
        """Return the (S,) forces with which the ground pushes each point up, in newtons."""
        return -self.weights * self._derivatives.on_host(positions)[0]

    def second_derivative(self, positions: Tensor) -> Tensor:
        """(S,) second derivative by the height, in N/m."""
        return self.weights / self.distances * self._derivatives.on_host(positions)[1]

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        blocks = self.weights.new_zeros(len(self.points), 9)
        blocks[:, 8] = self.second_derivative(positions)
        self.points.add_blocks(blocks, matrix)

    def ratio(self, positions: Tensor) -> Tensor:
        """(S,) heights above the ground over the distances at which it begins to act."""
        return self._ratio.on_host(positions)

    def _find_ratio(self, positions: Tensor) -> Tensor:
        return (self.points.gather(positions[2]) - self.height) / self.distances

    def _find_derivatives(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the (S,) first and second derivatives of the barrier by the ratio."""
        ratio = self.ratio(positions)
        if not ratio.is_cuda and not bool((ratio < 1.0).any()):
            return torch.zeros_like(ratio), torch.zeros_like(ratio)
        return barrier_derivatives(ratio.clamp(max=1.0))


def slide_lengths(squares: Tensor, thresholds: Tensor) -> Tensor:
    """(K,) lengths of displacements along surfaces by their squares, above zero, in metres."""
    # The root of a clamped square has a derivative at zero.
    return squares.clamp(min=(MIN_SLIDE_RATIO * thresholds).square()).sqrt()


# Below this share of its body's diagonal a second, a vertex sticks.
STICK_SPEED_DIAGONALS_PER_S = 1e-4


class GroundFriction(Potential):
    """Σ μ N ε f₀(|u|/ε), u the horizontal velocity of a point at the end of the step times the
    seconds from velocities to positions.

    The law is that of ``core/scene/friction.py``: a point that moves less than ε sticks by a force
    that grows with it, one that moves more slides against μ N, or less where its kinetic
    coefficient is lower. The normal force N is the one that the ground pushed with when
    ``update_lagged`` was called last.

    Args:
        barrier: the barrier, which gives the normal force.
        coefficients: (S,) tensors, of its points.
        sizes: (S,) diagonals of the bodies of the points, in metres.
    """

    is_stiff = True
    has_friction = True

    def __init__(
        self,
        barrier: GroundBarrier,
        coefficients: Coefficients,
        sizes: Tensor,
    ) -> None:
        self._barrier, self._coefficients = barrier, coefficients
        self._drop: Tensor = coefficients.drop
        self._sizes = sizes
        self.points = barrier.points
        #: (S,) μ N that breaks a point loose, in newtons.
        self.limit = torch.zeros_like(barrier.weights)
        self._start: Tensor | None = None
        #: (S,) ε in metres.
        self.stick_threshold = torch.ones_like(barrier.weights)
        # Energy, forces, Hessian and paths all ask for them.
        self._displacement = CachedAt(self._find_displacement)
        self._last_stiffness: tuple[tuple[Tensor, ...], tuple[Tensor, Tensor]] | None = None

    def begin_time_step(self, step: TimeStep) -> None:
        slip = STICK_SPEED_DIAGONALS_PER_S * step.stick_time * self._sizes
        self.begin_step(step.friction_origin, slip, normal_at=step.start)

    def begin_step(
        self, positions: Tensor, stick_threshold: Tensor, normal_at: Tensor | None = None
    ) -> None:
        """Measures displacements from (3, N) ``positions``.

        Args:
            stick_threshold: (S,) metres below which a point sticks.
            normal_at: (3, N) where normal forces are taken at first; None is ``positions``.
        """
        self._start, self.stick_threshold = self.points.gather(positions[:2]), stick_threshold
        self._displacement.forget()
        self.update_lagged(positions if normal_at is None else normal_at)

    def update_lagged(
        self, positions: Tensor, fraction: float = 1.0, settled: bool = True
    ) -> tuple[float, float]:
        limit = self._coefficients.static * self._barrier.normal_force(positions)
        change = limit - self.limit
        # A whole update leaves no rounding of earlier values, so that a resumed run has the same
        # bits.
        self.limit = limit if fraction == 1.0 else self.limit + fraction * change
        return float(change.detach().abs().sum()), float(limit.detach().sum())

    @property
    def start_points(self) -> Tensor:
        """Return the (2, S) places where the points have no displacement, in metres."""
        assert self._start is not None
        return self._start

    def displacement(self, positions: Tensor) -> Tensor:
        """(2, S) horizontal velocity times the seconds from velocities to positions, in metres."""
        return self._displacement.on_host(positions)

    def _find_displacement(self, positions: Tensor) -> Tensor:
        return self.points.gather(positions[:2]) - self.start_points

    def stick_drift(self, before: Tensor, after: Tensor) -> float:
        """Return the largest drift of points that stuck at (3, N) ``before``, over ε.

        A drift of one ε is enough to slip, even if a point looks at rest within the tolerance.
        """
        sticks = (self.limit > 0.0) & (
            torch.hypot(*self.displacement(before)) < self.stick_threshold
        )
        moved = torch.hypot(*self.points.gather((after - before)[:2]))
        return float((sticks * moved / self.stick_threshold).max())

    def energy(self, positions: Tensor) -> Tensor:
        threshold = self.stick_threshold
        if not threshold.is_cuda and not bool(self.limit.any()):
            return positions.new_zeros(())
        ratio = torch.hypot(*self.displacement(positions)) / threshold
        return torch.dot(self.limit * threshold, f0(ratio, self._drop))

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.points.add(self.force(self.displacement(positions)), out[:2])

    def limit_at(self, displacement: Tensor) -> Tensor:
        """Return the (S,) friction limits at (2, S) ``displacement``, in newtons: of sticking
        points the force at which they slip, of others the force that slows them."""
        ratio = (torch.hypot(*displacement) / self.stick_threshold).clamp(min=1.0)
        return self.limit * f1(ratio, self._drop)

    def force(self, displacement: Tensor) -> Tensor:
        """(2, S) gradient by the displacement, in newtons."""
        stiffness, _ = self._stiffness(displacement)
        return stiffness * displacement

    def second_derivative(self, displacement: Tensor, bounded: bool = False) -> Tensor:
        """(2, 2, S) second derivative by the displacement, in N/m; positive semi-definite: none
        along it where the force falls.

        Args:
            bounded: whether the derivative along the displacement is replaced by the one across.
                With this bound no straight step passes the position where a point would stick.
                Without it, light corners of partly filled tets slide to and fro.
        """
        across, along = self._stiffness(displacement)
        unit = displacement / self._length(displacement)
        change = torch.zeros_like(across) if bounded else along.clamp(min=0.0) - across
        curvature = unit[:, None] * unit[None] * change
        curvature[0, 0] += across
        curvature[1, 1] += across
        return curvature

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        curvature = self.second_derivative(self.displacement(positions), projected)
        blocks = curvature.new_zeros(len(self.points), 3, 3)
        blocks[:, :2, :2] = curvature.permute(2, 0, 1)
        self.points.add_blocks(blocks.view(-1, 9), matrix)

    def _stiffness(self, displacement: Tensor) -> tuple[Tensor, Tensor]:
        """(S,) the force over the displacement, across it, and its derivative along it, in N/m."""
        arguments = displacement, self.limit, self.stick_threshold
        last = self._last_stiffness
        if last is None or any(
            now is not then for now, then in zip(arguments, last[0], strict=True)
        ):
            length = self._length(displacement)
            stiffness = slide_stiffness(length, self.stick_threshold, self.limit, self._drop)
            last = self._last_stiffness = arguments, stiffness
        return last[1]

    def _length(self, displacement: Tensor) -> Tensor:
        """(S,) never quite zero, for the sake of directions."""
        if displacement.requires_grad:
            return slide_lengths(displacement.square().sum(0), self.stick_threshold)
        return torch.maximum(torch.hypot(*displacement), MIN_SLIDE_RATIO * self.stick_threshold)
