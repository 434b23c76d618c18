# SPDX-License-Identifier: GPL-3.0-or-later
"""The barrier between surfaces on autograd's tape: its gradient and exact second derivative."""

from __future__ import annotations

import torch
from torch import Tensor

from .closest_points import ClosestPoints


def barrier_gradients(
    pairs: ClosestPoints, corners: Tensor, distances: Tensor, scales: Tensor
) -> Tensor:
    """(K, 4, 3) of −s m (q − 1)² ln q, q = d²/d̂², by the vertices of pairs, in newtons.

    Args:
        corners: (K, 4, 3) where these are; it requires grad.
        distances: (K,) d̂ in metres.
        scales: (K,) s in joules, as ``ContactBarrier`` has them.
    """
    difference, _ = pairs.at(corners)
    ratios = (difference.square().sum(1) / distances.square()).clamp(max=1.0)
    energies = -(ratios - 1.0).square() * ratios.log() * pairs.mollifiers(corners)
    total = (scales * energies).sum()
    (found,) = torch.autograd.grad(total, corners, create_graph=True)
    return found


def barrier_hessians(
    pairs: ClosestPoints, corners: Tensor, distances: Tensor, scales: Tensor
) -> Tensor:
    """(K, 12, 12) the second derivative, in N/m, which need not be positive semi-definite."""
    count = len(pairs)
    if not count:
        return corners.new_zeros(0, 12, 12)
    with torch.enable_grad():
        own = corners.detach().clone().requires_grad_()
        forces = barrier_gradients(pairs, own, distances, scales).view(count, 12)
        units = torch.eye(12, dtype=forces.dtype)[:, None].expand(12, count, 12)
        (rows,) = torch.autograd.grad(forces, own, units, is_grads_batched=True)
    return rows.reshape(12, count, 12).transpose(0, 1)
