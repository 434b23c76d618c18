# SPDX-License-Identifier: GPL-3.0-or-later
"""The smallest control that brings a simulation where it is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ..errors import InstabilityError

# The first weight of residuals over what one of them answers to, and by how much it grows.
FIRST_WEIGHT, WEIGHT_GROWTH, MAX_GROWTH = 10.0, 10.0, 1e3
# Of what was answered at first: residuals that a control answers to so little cannot be helped.
MIN_GRADIENT_RATIO = 1e-10
# Of all that conjugate gradients have gained: one that gains less, times its number, is the last.
LINEAR_GAIN, MAX_DIRECTIONS = 0.1, 40
# Of the gain that the linear problem promises: a step that comes this near to it, or promises so
# little of the cost, is at the minimum.
KEPT_PROMISE, LEAST_PROMISE = 0.2, 0.01
# Of the residual, what a greater weight must promise to gain, and gain; so many that do not gain it
# end the search.
LEAST_GAIN, MAX_STALLED = 0.05, 3
# A step of which no more serves is none.
LEAST_SHARE = 1.0 / 16.0
TINY = 1e-150


class Controlled(Protocol):
    """A simulation under a control."""

    def residual(self, control: Tensor) -> Tensor:
        """What is left to go, a (R,) vector."""
        ...

    def linearized(self, control: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """The same, and its derivative J as w ↦ Jᵀ w, which has the shape of the control."""
        ...


@dataclass(frozen=True)
class LeastControl:
    """
    Args:
        control: found.
        residual: (R,) there.
        runs: simulations that it took.
    """

    control: Tensor
    residual: Tensor
    runs: int


@dataclass(frozen=True)
class _Point:
    """A control, what it leaves, r, the derivative of that there, transposed, and Jᵀ r."""

    control: Tensor
    residual: Tensor
    pull: Callable[[Tensor], Tensor]
    slope: Tensor

    @property
    def gradient_ratio(self) -> float:
        """|Jᵀ r| / |r|."""
        size = float(self.residual.norm())
        return float(self.slope.norm()) / size if size > 0.0 else 0.0

    def cost(self, weight: float) -> float:
        """|u|² + w |r|²."""
        return float(self.control.square().sum() + weight * self.residual.square().sum())


class LeastControlSearch:
    """Finds the least |u| with r(u) about zero: the least |u|² + w |r(u)|², w growing until r is
    near enough, so that what hardly answers is not forced.

    Gauss–Newton steps by conjugate gradients on (1 + w Jᵀ J) v = −u − w Jᵀ r, in which Jᵀ is a
    backward pass and J the difference of two simulations. (Nocedal and Wright, "Numerical
    Optimization", 2006, sections 7.1 and 17.1, has the method and the growing weight.)

    Args:
        problem: is simulated.
        excess: of a residual, in units of one that is small enough.
        trial: the norm of a change of residuals that tells their derivative.
        max_runs: simulations at most.
        heard: of the residual of each point that was tried, or that others are tried about, and of
            how much of the most work is done, 0 … 1.
    """

    def __init__(
        self,
        problem: Controlled,
        excess: Callable[[Tensor], float],
        trial: float,
        max_runs: int,
        heard: Callable[[Tensor, float], object],
    ) -> None:
        self._problem, self._excess, self._heard = problem, excess, heard
        self._trial, self._max_runs, self._runs = trial, max_runs, 0
        # |J| at least.
        self._largest = 0.0

    def found(self, start: Tensor) -> LeastControl:
        """The best from a control ``start``."""
        point, stalled = self._at(start), 0
        ratio = self._largest = point.gradient_ratio
        weight, least = FIRST_WEIGHT / max(ratio, TINY) ** 2, MIN_GRADIENT_RATIO * ratio
        if start.any():
            # All its effort counts as much as a residual that is just small enough.
            small = float(point.residual.norm()) / max(self._excess(point.residual), TINY)
            weight = max(weight, float(start.square().sum()) / max(small, TINY) ** 2)
        is_least = not start.any()
        while (
            self._runs < self._max_runs and stalled < MAX_STALLED and point.gradient_ratio > least
        ):
            excess = self._excess(point.residual)
            if is_least and excess <= 1.0:
                break
            is_heavier = is_least and bool(point.control.any())
            if is_heavier:
                weight *= min(max(WEIGHT_GROWTH, 2.0 * excess), MAX_GROWTH)
            direction, promised = self._newton_step(point, weight)
            missed = weight * float(point.residual.square().sum())
            if is_heavier and promised < 2.0 * LEAST_GAIN * missed:
                break
            better = self._searched(point, direction, weight)
            if better is None:
                break
            gain = point.cost(weight) - better.cost(weight)
            is_least = abs(
                gain - promised
            ) <= KEPT_PROMISE * promised or promised <= LEAST_PROMISE * better.cost(weight)
            came = 1.0 - float(better.residual.norm()) / float(point.residual.norm())
            stalled = 0 if came > LEAST_GAIN else stalled + is_heavier
            point = better
        return LeastControl(point.control, point.residual, self._runs)

    def _at(self, control: Tensor) -> _Point:
        self._runs += 1
        residual, pull = self._problem.linearized(control)
        self._heard(residual, self._runs / self._max_runs)
        return _Point(control, residual, pull, pull(residual))

    def _newton_step(self, point: _Point, weight: float) -> tuple[Tensor, float]:
        """v, and by how much the linear problem says that it lowers the cost."""
        step = torch.zeros_like(point.control)
        left = -point.control - weight * point.slope
        direction, square, gained = left, float(left.square().sum()), 0.0
        for count in range(1, MAX_DIRECTIONS + 1):
            if self._runs >= self._max_runs or square == 0.0:
                break
            image = direction + weight * point.pull(self._pushed(point, direction))
            length = square / float((direction * image).sum())
            step, left = step + length * direction, left - length * image
            gained += length * square
            if count * length * square <= LINEAR_GAIN * gained and count > 1:
                break
            before, square = square, float(left.square().sum())
            direction = left + square / before * direction
        return step, gained

    def _pushed(self, point: _Point, direction: Tensor) -> Tensor:
        """J times a direction of the control."""
        self._runs += 1
        length = float(direction.norm())
        size = self._trial / max(self._largest * length, TINY)
        changed = self._problem.residual(point.control + size * direction)
        self._heard(point.residual, self._runs / self._max_runs)
        found = (changed - point.residual) / size
        self._largest = max(self._largest, float(found.norm()) / max(length, TINY))
        return found

    def _searched(self, point: _Point, direction: Tensor, weight: float) -> _Point | None:
        """Where as much of a step as lowers the cost leads."""
        share = 1.0
        while share >= LEAST_SHARE and self._runs < self._max_runs:
            try:
                found = self._at(point.control + share * direction)
            except InstabilityError:  # the run failed, or there is no derivative through it
                found = None
            if found is not None and found.cost(weight) < point.cost(weight):
                return found
            share *= 0.5
        return None
