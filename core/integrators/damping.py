# SPDX-License-Identifier: GPL-3.0-or-later
"""Damping in proportion to mass: it means the same whatever the time step.

Over a step of h seconds, v' = −α v + a with a constant a has the solution
e^(−αh) v + a (1 − e^(−αh))/α. Every integrator takes its velocities so: what is pulled steadily
ends at the speed a/α, and a body at rest presses on what it lies on with its whole weight.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..system import System


def decay(rate: Tensor | float, step: float) -> Tensor | float:
    """The factor on velocities over a step.

    Args:
        rate: α in 1/s, a number or (N,).
        step: in seconds.
    """
    if isinstance(rate, float):
        return math.exp(-rate * step)
    return (-step * rate).exp()


def impulse_time(rate: Tensor | float, step: float) -> Tensor | float:
    """(1 − e^(−αh))/α in seconds: a force over mass times this is what it adds to a velocity that
    decays meanwhile.

    Args:
        rate: α in 1/s, a number or (N,).
        step: h in seconds.
    """
    if isinstance(rate, float):
        return -math.expm1(-rate * step) / rate if rate > 0.0 else step
    damped = rate > 0.0
    exact = -torch.expm1(-step * rate) / torch.where(damped, rate, 1.0)
    # What it is at a rate of zero has a slope there, too.
    return torch.where(damped, exact, step - 0.5 * step * step * rate)


def velocity_retention(system: System, step: float) -> Tensor:
    """(N,) the share of its velocity that each vertex keeps over a step; prescribed ones keep
    theirs."""
    whole = torch.ones_like(system.mass)
    return torch.where(system.free, whole * decay(system.damping, step), whole)


def impulse_times(system: System, step: float) -> Tensor:
    """(N,) ``impulse_time`` of each vertex."""
    return torch.ones_like(system.mass) * impulse_time(system.damping, step)
