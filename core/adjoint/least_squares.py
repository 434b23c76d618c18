# SPDX-License-Identifier: GPL-3.0-or-later
"""Few parameters that bring a simulation near what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import InstabilityError
from .observer import Observer

# Of the residual's norm: what is gained less by a step ends the search.
LEAST_GAIN = 1e-4
# The damping of the first step, in units of the largest curvature, and how it changes.
FIRST_DAMPING, DAMPING_FACTOR = 1e-3, 10.0


@dataclass(frozen=True)
class Fit:
    """
    Args:
        parameters: (K,) found.
        residual: the root of the mean squared residual there.
        jacobian: (R, K) of the residuals there.
        runs: forward simulations that it took.
        losses: the residual after each step that counted.
    """

    parameters: Tensor
    residual: float
    jacobian: Tensor
    runs: int
    losses: tuple[float, ...]


def least_squares(
    residuals: Callable[[Tensor], Tensor],
    start: Tensor,
    enough: float,
    max_runs: int,
    observe: Observer | None = None,
    if_flat: str = "What is wanted does not depend on what may change.",
) -> Fit:
    """Levenberg–Marquardt (Marquardt, "An Algorithm for Least-Squares Estimation of Nonlinear
    Parameters", Journal of the Society for Industrial and Applied Mathematics 11, 1963) on
    residuals that hang on autograd's tape; one backward pass for each residual makes its row.

    Args:
        residuals: of (K,) parameters; few of them.
        start: (K,) where it begins.
        enough: root of the mean squared residual that ends the search.
        max_runs: simulations at most.
        observe: hears of the root of the mean squared residual after each.
        if_flat: what the error says where residuals depend on no parameter.
    """
    parameters = start.detach().double()
    found, rows = _linearized(residuals, parameters)
    damping, runs, losses = FIRST_DAMPING, 1, [_mean(found)]
    while True:
        if observe is not None:
            observe(losses[-1], runs / max_runs)
        if losses[-1] <= enough or runs >= max_runs:
            break
        normal = rows.T @ rows
        size = normal.diagonal().max()
        if not float(size) > 0.0:
            raise InstabilityError(if_flat)
        step = torch.linalg.solve(
            normal + damping * size * torch.eye(len(parameters), dtype=normal.dtype),
            -rows.T @ found,
        )
        runs += 1
        try:
            trial, trial_rows = _linearized(residuals, parameters + step)
        except InstabilityError:
            damping *= DAMPING_FACTOR
            continue
        if not _mean(trial) < losses[-1]:
            damping *= DAMPING_FACTOR
            if float(step.norm()) <= 1e-9 * (1e-9 + float(parameters.norm())):
                break
            continue
        gain = 1.0 - _mean(trial) / losses[-1]
        parameters, found, rows = parameters + step, trial, trial_rows
        losses.append(_mean(found))
        damping /= DAMPING_FACTOR
        if gain < LEAST_GAIN:
            break
    return Fit(parameters, losses[-1], rows, runs, tuple(losses))


def _linearized(residuals: Callable[[Tensor], Tensor], parameters: Tensor) -> tuple[Tensor, Tensor]:
    own = parameters.clone().requires_grad_()
    found = residuals(own)
    rows = [torch.autograd.grad(part, own, retain_graph=True)[0] for part in found]
    return found.detach(), torch.stack(rows)


def _mean(residual: Tensor) -> float:
    return float(residual.square().mean().sqrt())
