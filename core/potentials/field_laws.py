# SPDX-License-Identifier: GPL-3.0-or-later
"""The response of bodies to force fields, behind absorbers and in sampled flows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import runs_loops, use_threads
from ..kernels.broad_phase import box_nodes, build_tree
from ..kernels.field_response import (
    DRAG_ROWS,
    FALLOFFS,
    KINDS,
    PLAIN_ROWS,
    ROWS,
    SHAPES,
    SIDES,
    TURBULENCE,
    FieldNumbers,
    FieldType,
    acceleration,
    add_response_forces,
    away_from_source,
    decay_rate,
    field_response,
    turbulence_place,
    write_responses,
)
from ..kernels.force_fields import (
    GRADIENTS,
    OCTAVES,
    PERMUTATION,
    TriangleTree,
    absorb,
    grid_slopes,
    grid_values,
    noise_slopes,
    noise_vectors,
)
from ..math3.elementwise import on_tensors
from ..math3.torch_matrices import cofactors3
from ..scene.channel import Channel
from ..scene.forces import Absorber, ForceField, VelocityGrid

FloatArray = NDArray[np.float64]


class FieldShadow:
    """The share of a field that arrives at vertices: each absorber on the straight way to the
    source takes its part once, however many of its triangles are crossed.

    Args:
        absorbers: the obstacles that absorb fields.
        template: of whose device and type the share is.
    """

    def __init__(self, absorbers: Sequence[Absorber], template: Tensor) -> None:
        self._casters = [_Caster(absorber) for absorber in absorbers]
        #: (N,) 0 … 1, of the points at which it was cast; 1 until then.
        self.visibility = template.new_ones(1)

    def cast(self, positions: Tensor, sources: Tensor, frame: int) -> None:
        """Find the arriving part of fields from (3, N) sources at (3, N) positions, with absorbers
        as after a frame."""
        starts, ends = _rows(positions), _rows(sources)
        visibility = np.ones(len(starts))
        for caster in self._casters:
            caster.shade(starts, ends, frame, visibility)
        arriving = torch.as_tensor(visibility)
        # In place if possible, since recorded CUDA graphs read it.
        if len(arriving) == len(self.visibility):
            self.visibility.copy_(arriving)
        else:
            self.visibility = arriving.to(self.visibility)


class _Caster:
    """An absorber with a tree over its triangles, of the shape that it has at the start."""

    def __init__(self, absorber: Absorber) -> None:
        self._absorber = absorber
        self._absorption = Channel.of(absorber.absorption, absorber.name)
        centres = absorber.vertices.at(0)[absorber.triangles].mean(axis=1)
        self._order = np.arange(len(centres), dtype=np.int32)
        self._ends, self._ranges = build_tree(centres, self._order)

    def shade(
        self, starts: FloatArray, ends: FloatArray, frame: int, visibility: FloatArray
    ) -> None:
        """Takes its part of (N,) ``visibility``."""
        arriving = 1.0 - float(self._absorption.at(frame))
        if arriving < 1.0:
            still = self._absorber.vertices.is_constant
            tree = self._still if still else self._tree(frame)
            absorb(starts, ends, tree, arriving, visibility)

    @cached_property
    def _still(self) -> TriangleTree:
        return self._tree(0)

    def _tree(self, frame: int) -> TriangleTree:
        corners = self._absorber.vertices.at(frame)[self._absorber.triangles[self._order]]
        boxes = np.empty((len(self._ends), 6))
        faces = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
        box_nodes(self._ends, self._ranges, faces, boxes)
        return TriangleTree(self._ends, self._ranges, boxes, corners)


def _rows(points: Tensor) -> FloatArray:
    """Return (N, 3) rows from (3, N) points."""
    return np.ascontiguousarray(points.detach().cpu().numpy().T, dtype=np.float64)


#: Fewer vertices than this a thread cost more to hand out than to compute.
VERTICES_PER_THREAD = 5_000
_CORNERS = tuple((x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1))


class GradientNoise:
    """Gradient noise with its derivatives.

    Args:
        template: of whose device and type points will be.
    """

    def __init__(self, template: Tensor) -> None:
        self._permutation = torch.as_tensor(PERMUTATION, device=template.device)
        self._gradients = torch.as_tensor(GRADIENTS).to(template).T.contiguous()
        self._corners = torch.tensor(_CORNERS, device=template.device).T.contiguous()

    def vectors(self, points: Tensor) -> Tensor:
        """Return (3, N) noise, each component −1 … 1.

        Args:
            points: (3, N), 1 the longest wavelength.
        """
        if runs_loops(points):
            vectors: Tensor = _CompiledNoise.apply(self, points)  # type: ignore[no-untyped-call]
            return vectors
        return self.torch_vectors(points)

    def torch_vectors(self, points: Tensor) -> Tensor:
        """``vectors`` without compiled loops."""
        turned = torch.stack([points.roll(-shift, 0) for shift in range(3)], dim=1)
        scales = 2.0 ** torch.arange(OCTAVES, dtype=points.dtype, device=points.device)
        values = self._values((turned[:, :, None] * scales[:, None]).flatten(1))
        weights = 1.0 / scales
        octaves = values.view(3, OCTAVES, -1)
        return torch.einsum("ion,o->in", octaves, weights / weights.sum())

    def _values(self, points: Tensor) -> Tensor:
        """Return the (N,) noise at (3, N) points."""
        cells = points.detach().floor()
        inside = points - cells
        # (3, 8, N) of the corners of each cell.
        corners = self._corners[:, :, None]
        x, y, z = (cells.long()[:, None] + corners) & 255
        hashed = self._permutation[(self._permutation[x] + y) & 255]
        hashed = self._permutation[(hashed + z) & 255] & 15
        away = inside[:, None] - corners
        slopes = (self._gradients[:, hashed] * away).sum(0)
        smooth = inside**3 * (inside * (6.0 * inside - 15.0) + 10.0)
        shares = torch.where(corners == 1, smooth[:, None], 1.0 - smooth[:, None]).prod(0)
        return (shares * slopes).sum(0)


class _CompiledNoise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, noise: GradientNoise, points: Tensor) -> Tensor:
        ctx.save_for_backward(points)
        ctx.noise = noise
        use_threads(points.shape[1], VERTICES_PER_THREAD)
        out = torch.empty_like(points)
        noise_vectors(points.detach().numpy(), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[None, Tensor]:
        (points,) = ctx.saved_tensors
        (upstream,) = gradients
        if torch.is_grad_enabled():
            # Second derivatives need it on the tape.
            values = ctx.noise.torch_vectors(points)
            (grad_points,) = torch.autograd.grad(values, points, upstream, create_graph=True)
            return None, grad_points
        slopes = points.new_empty(3, 3, points.shape[1])
        noise_slopes(points.detach().numpy(), slopes.numpy())
        return None, (upstream[:, None] * slopes).sum(0)


class FieldFlow:
    """The flow of a fluid in a grid.

    Args:
        grid: the flow and its domain.
        template: of whose device and type positions will be.
    """

    def __init__(self, grid: VelocityGrid, template: Tensor) -> None:
        parts = [grid.velocities] if grid.density is None else [*_with_density(grid)]
        cells = np.concatenate(parts, axis=-1, dtype=np.float32)
        #: (T, Z, Y, X, 3 or 4).
        self._cells = torch.as_tensor(cells).to(template.device)
        self._counts = template.new_tensor(cells.shape[3:0:-1])[:, None]
        self._start = template.new_tensor(grid.start)[:, None]
        self._cell = template.new_tensor(grid.cell)[:, None]
        self._corners = torch.tensor(_CORNERS, device=template.device).T.contiguous()[:, :, None]

    def at(self, parameters: Tensor, positions: Tensor) -> Tensor:
        """(4, N) velocities in m/s, and their weights, which are 0 outside of the box.

        Args:
            parameters: (14,) matrix, speed and time, as ``ForceField.parameters`` has them.
            positions: (3, N) in metres.
        """
        matrix, speed, time = parameters[:12].view(3, 4), parameters[12], parameters[13]
        local = _inverse(matrix[:, :3]) @ (positions - matrix[:, 3:])
        points = (local - self._start) / self._cell
        values = self._values(time.detach(), points)
        nearest = points.clamp(min=0.0).minimum(self._counts)
        is_inside = (points == nearest).all(0).to(positions)
        counted = is_inside if len(values) == 3 else is_inside * values[3]
        return torch.cat([speed * _turned(matrix[:, :3], values[:3]), counted[None]])

    def _values(self, time: Tensor, points: Tensor) -> Tensor:
        """Return the (3 or 4, N) values at (3, N) points in cells and a number of frames."""
        if runs_loops(points):
            values: Tensor = _Compiled.apply(self, time, points)  # type: ignore[no-untyped-call]
            return values
        return self.torch_values(time, points)

    def torch_values(self, time: Tensor, points: Tensor) -> Tensor:
        """Without compiled loops."""
        frame = time.floor()
        frames = torch.stack([frame, frame + 1.0]).clamp(max=len(self._cells) - 1).long()
        lower = (points.detach() - 0.5).floor()
        # (3, 8, N) of the corners of each cell.
        places = (lower.long()[:, None] + self._corners).clamp(min=0)
        x, y, z = places.minimum(self._counts.long()[:, None] - 1)
        inside = (points - 0.5 - lower)[:, None]
        u, v, w = torch.where(self._corners == 1, inside, 1.0 - inside)
        width, height, depth = self._counts.long()
        flat = ((frames[:, None, None] * depth + z) * height + y) * width + x
        numbers = self._cells.flatten(0, 3)[flat].to(points)
        before, after = (u * v * w * numbers.permute(0, 3, 1, 2)).sum(2)
        return before + (time - frame) * (after - before)

    def grids(self, time: Tensor) -> tuple[Any, Any, float]:
        """For compiled loops: the (Z, Y, X, 3 or 4) arrays before and after a time, and the part
        of the way from one to the other."""
        frame, part = divmod(float(time), 1.0)
        last = len(self._cells) - 1
        first, second = min(int(frame), last), min(int(frame) + 1, last)
        return self._cells[first].numpy(), self._cells[second].numpy(), part


class _Compiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, flow: FieldFlow, time: Tensor, points: Tensor) -> Tensor:
        ctx.save_for_backward(points)
        ctx.flow, ctx.time = flow, time.clone()
        use_threads(points.shape[1], VERTICES_PER_THREAD)
        out = points.new_empty(flow._cells.shape[-1], points.shape[1])
        grid_values(*flow.grids(time), points.detach().contiguous().numpy(), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[None, None, Tensor]:
        (points,) = ctx.saved_tensors
        (upstream,) = gradients
        if torch.is_grad_enabled():
            # Second derivatives need it on the tape.
            values = ctx.flow.torch_values(ctx.time, points)
            (grad_points,) = torch.autograd.grad(values, points, upstream, create_graph=True)
            return None, None, grad_points
        slopes = points.new_empty(len(upstream), 3, points.shape[1])
        before, after, part = ctx.flow.grids(ctx.time)
        grid_slopes(before, after, part, points.contiguous().numpy(), slopes.numpy())
        return None, None, (upstream[:, None] * slopes).sum(0)


def _with_density(grid: VelocityGrid) -> tuple[Any, Any]:
    assert grid.density is not None
    return grid.velocities, grid.density[..., None]


def _inverse(matrix: Tensor) -> Tensor:
    """Return the inverse of a (3, 3) matrix; torch's own would make the host wait for a device."""
    rows = cofactors3(matrix.T)
    return rows / torch.dot(matrix[:, 0], rows[0])


def _turned(matrix: Tensor, vectors: Tensor) -> Tensor:
    """Rotate (3, N) vectors by a (3, 3) matrix without changing their lengths, even if it scales
    the box."""
    turned = matrix @ vectors
    before, after = (vectors * vectors).sum(0), (turned * turned).sum(0)
    moves = before * after > 0.0
    ratio = torch.where(moves, before, 1.0) / torch.where(moves, after, 1.0)
    return ratio.sqrt() * turned


@dataclass(frozen=True)
class Response:
    """The acceleration push − (rate + speed_rate |v|) v + v × spin at the velocity v.

    Args:
        rows: (8, N): three of the push in m/s², the rate in 1/s, the speed rate in 1/m, and three
            of the spin in rad/s.
    """

    rows: Tensor

    @property
    def push(self) -> Tensor:
        """Return the (3, N) push in m/s²."""
        return self.rows[:3]

    @property
    def rate(self) -> Tensor:
        """Return the (N,) rates in 1/s."""
        return self.rows[3]

    @property
    def speed_rate(self) -> Tensor:
        """Return the (N,) speed rates in 1/m."""
        return self.rows[4]

    @property
    def spin(self) -> Tensor:
        """Return the (3, N) spins in rad/s."""
        return self.rows[5:]

    def detached(self) -> Response:
        """Return the response without autograd's tape."""
        return Response(self.rows.detach())

    def rates(self, velocities: Tensor) -> Tensor:
        """Return the (N,) rates at which (3, N) velocities decay, in 1/s."""
        rates: Tensor = on_tensors(decay_rate)(self.rate, self.speed_rate, velocities.unbind())
        return rates

    def acceleration(self, velocities: Tensor) -> Tensor:
        """Return the (3, N) acceleration in m/s², at (3, N) velocities in m/s."""
        return torch.stack(on_tensors(acceleration)(self.rows.unbind(), velocities.unbind()))

    def add_forces(self, mass: Tensor, velocities: Tensor, out: Tensor) -> None:
        """Subtract the forces in newtons on vertices of (N,) masses in kg, at (3, N) velocities in
        m/s, from ``out``."""
        if takes_loops(self.rows, velocities, mass):
            use_threads(len(mass), VERTICES_PER_THREAD)
            add_response_forces(self.rows.numpy(), mass.numpy(), velocities.numpy(), out.numpy())
        else:
            out.sub_(mass * self.acceleration(velocities))


def takes_loops(*tensors: Tensor) -> bool:
    """Whether compiled loops take the tensors, which autograd does not follow then."""
    return runs_loops(tensors[0]) and not any(each.requires_grad for each in tensors)


class Law(ABC):
    """The response of a force to its parameters at points."""

    #: The rows of its responses that are not always zero.
    row_count = ROWS

    def begin_frame(  # noqa: B027 (most have nothing to take)
        self, parameters: Tensor, positions: Tensor, frame: int
    ) -> None:
        """Take the values that stay constant through a frame from its first (3, N) positions."""

    @abstractmethod
    def __call__(self, parameters: Tensor, positions: Tensor) -> Response:
        """Return the response at positions.

        Args:
            parameters: as the channel of the potential has them.
            positions: (3, N) in metres; each vertex by itself.
        """
        ...


class WindLaw(Law):
    """The law of ``Wind``."""

    def __call__(self, parameters: Tensor, positions: Tensor) -> Response:
        velocity, drag = parameters[:3], parameters[3:]
        row = torch.cat([drag * velocity, drag, drag.new_zeros(ROWS - PLAIN_ROWS)])
        return Response(row[:, None].repeat(1, positions.shape[1]))


class FieldLaw(Law):
    """The law of a ``ForceField``.

    Args:
        template: of whose device and type positions will be.
        shadow: the part of the field that arrives; None is all.
    """

    def __init__(
        self, field: ForceField, template: Tensor, shadow: FieldShadow | None = None
    ) -> None:
        self._noise, self._shadow = GradientNoise(template), shadow
        self._flow = None if field.grid is None else FieldFlow(field.grid, template)
        self._type = FieldType(
            KINDS.index(field.kind),
            SHAPES.index(field.shape),
            FALLOFFS.index(field.falloff.shape),
            SIDES.index(field.falloff.side),
            field.is_inverse_square,
            field.is_global,
            field.unit,
        )
        counts = {"magnetic": ROWS, "drag": DRAG_ROWS}
        self.row_count = counts.get(field.kind, PLAIN_ROWS)

    def begin_frame(self, parameters: Tensor, positions: Tensor, frame: int) -> None:
        if self._shadow is not None:
            place = self._type, *_origin_and_axis(parameters.unbind()), positions.unbind()
            away = torch.stack(on_tensors(away_from_source)(*place))
            self._shadow.cast(positions, positions - self._type.unit * away, frame)

    def __call__(self, parameters: Tensor, positions: Tensor) -> Response:
        flow = None
        if self._flow is not None:
            flow = self._flow.at(parameters[_OWN_PARAMETERS:], positions)
        if takes_loops(positions, parameters):
            return self._looped_response(parameters, positions, flow)
        values = parameters.unbind()
        origin, axis = _origin_and_axis(values)
        numbers = FieldNumbers(*values[6:_OWN_PARAMETERS])
        point, sample = positions.unbind(), None if flow is None else flow.unbind()
        if self._type.kind == TURBULENCE:
            place = on_tensors(turbulence_place)(self._type, numbers.size, origin, axis, point)
            sample = self._noise.vectors(torch.stack(place)).unbind()
        arriving = 1.0 if self._shadow is None else self._shadow.visibility
        push, rate, speed_rate, spin = on_tensors(field_response)(
            self._type, numbers, origin, axis, point, arriving, sample
        )
        return Response(torch.stack([*push, rate, speed_rate, *spin]))

    def _looped_response(
        self, parameters: Tensor, positions: Tensor, flow: Tensor | None
    ) -> Response:
        values = parameters.tolist()
        origin, axis = _origin_and_axis(values)
        arriving = _WHOLE if self._shadow is None else self._shadow.visibility.numpy()
        sample = _NO_FLOW if flow is None else flow.numpy()
        rows = positions.new_empty(ROWS, positions.shape[1])
        use_threads(positions.shape[1], VERTICES_PER_THREAD)
        numbers = FieldNumbers(*values[6:_OWN_PARAMETERS])
        places = origin, axis, positions.numpy()
        write_responses(self._type, numbers, *places, arriving, sample, rows.numpy())
        return Response(rows)


# The parameters of every kind; behind them come those of a grid.
_OWN_PARAMETERS = 6 + len(FieldNumbers._fields)
# For fields without absorbers, and without a flow.
_WHOLE, _NO_FLOW = np.ones(1), np.empty((4, 0))


def _origin_and_axis(numbers: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the origin in metres and the axis, of length 1, by the parameters of a field."""
    x, y, z = numbers[3:6]
    length = (x * x + y * y + z * z) ** 0.5
    return tuple(numbers[:3]), (x / length, y / length, z / length)
