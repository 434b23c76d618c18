# SPDX-License-Identifier: GPL-3.0-or-later
"""Damping as a rate: it means the same whatever the time step."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..system import System


def decay(rate: Tensor | float, step: float) -> Tensor | float:
    """The factor on velocities over a step.

    Args:
        rate: in 1/s, a number or (N,).
        step: in seconds.
    """
    if isinstance(rate, float):
        return math.exp(-rate * step)
    return (-step * rate).exp()


def kept(system: System, step: float) -> Tensor:
    """(N,) the share of its velocity that each vertex keeps over a step; led pins keep theirs."""
    whole = torch.ones_like(system.mass)
    return torch.where(system.free, whole * decay(system.damping, step), whole)
