# SPDX-License-Identifier: GPL-3.0-or-later
"""What flows at points, as a grid has it: by a compiled loop, else as torch passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..compiled import is_compiled, use_threads
from ..kernels.torch_matrices import cofactors3
from ..kernels.trilinear import grid_slopes, grid_values
from ..scene.velocity_grid import VelocityGrid

_VERTICES_PER_THREAD = 5_000
_CORNERS = tuple((x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1))


class FieldFlow:
    """
    Args:
        grid: what flows, and where.
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

    def at(self, parameters: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """(3, N) velocities in m/s, and (N,) how much they count, 0 outside of the box.

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
        return speed * _turned(matrix[:, :3], values[:3]), counted

    def _values(self, time: Tensor, points: Tensor) -> Tensor:
        """(3 or 4, N) at (3, N) points in cells and a number of frames."""
        if is_compiled() and not points.is_cuda:
            found: Tensor = _Compiled.apply(self, time, points)  # type: ignore[no-untyped-call]
            return found
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
        use_threads(points.shape[1], _VERTICES_PER_THREAD)
        out = points.new_empty(flow._cells.shape[-1], points.shape[1])
        grid_values(*flow.grids(time), points.detach().contiguous().numpy(), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[None, None, Tensor]:
        (points,) = ctx.saved_tensors
        (wanted,) = gradients
        if torch.is_grad_enabled():
            # What is differentiated once more stays on the tape.
            values = ctx.flow.torch_values(ctx.time, points)
            (found,) = torch.autograd.grad(values, points, wanted, create_graph=True)
            return None, None, found
        slopes = points.new_empty(len(wanted), 3, points.shape[1])
        before, after, part = ctx.flow.grids(ctx.time)
        grid_slopes(before, after, part, points.contiguous().numpy(), slopes.numpy())
        return None, None, (wanted[:, None] * slopes).sum(0)


def _with_density(grid: VelocityGrid) -> tuple[Any, Any]:
    assert grid.density is not None
    return grid.velocities, grid.density[..., None]


def _inverse(matrix: Tensor) -> Tensor:
    """Of a (3, 3) matrix; torch's own would make the host wait for a device."""
    rows = cofactors3(matrix.T)
    return rows / torch.dot(matrix[:, 0], rows[0])


def _turned(matrix: Tensor, vectors: Tensor) -> Tensor:
    """(3, N) vectors through a (3, 3) matrix, as long as before: what scales the box does not scale
    them."""
    turned = matrix @ vectors
    before, after = (vectors * vectors).sum(0), (turned * turned).sum(0)
    moves = before * after > 0.0
    ratio = torch.where(moves, before, 1.0) / torch.where(moves, after, 1.0)
    return ratio.sqrt() * turned
