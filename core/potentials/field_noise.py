# SPDX-License-Identifier: GPL-3.0-or-later
"""The gradient noise of turbulence: by a compiled loop, else as torch passes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..compiled import is_compiled, use_threads
from ..kernels.gradient_noise import (
    GRADIENTS,
    OCTAVES,
    PERMUTATION,
    noise_slopes,
    noise_vectors,
)

_VERTICES_PER_THREAD = 5_000
_CORNERS = tuple((x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1))


class GradientNoise:
    """
    Args:
        template: of whose device and type points will be.
    """

    def __init__(self, template: Tensor) -> None:
        self._permutation = torch.as_tensor(PERMUTATION, device=template.device)
        self._gradients = torch.as_tensor(GRADIENTS).to(template).T.contiguous()
        self._corners = torch.tensor(_CORNERS, device=template.device).T.contiguous()

    def vectors(self, points: Tensor) -> Tensor:
        """(3, N) of noise, each component −1 … 1.

        Args:
            points: (3, N), 1 the longest wavelength.
        """
        if is_compiled() and not points.is_cuda:
            found: Tensor = _CompiledNoise.apply(self, points)  # type: ignore[no-untyped-call]
            return found
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
        """(N,) at (3, N) points."""
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
        use_threads(points.shape[1], _VERTICES_PER_THREAD)
        out = torch.empty_like(points)
        noise_vectors(points.detach().numpy(), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[None, Tensor]:
        (points,) = ctx.saved_tensors
        (wanted,) = gradients
        if torch.is_grad_enabled():
            # What is differentiated once more stays on the tape.
            values = ctx.noise.torch_vectors(points)
            (found,) = torch.autograd.grad(values, points, wanted, create_graph=True)
            return None, found
        slopes = points.new_empty(3, 3, points.shape[1])
        noise_slopes(points.detach().numpy(), slopes.numpy())
        return None, (wanted[:, None] * slopes).sum(0)
