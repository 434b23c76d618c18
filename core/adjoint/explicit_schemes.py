# SPDX-License-Identifier: GPL-3.0-or-later
"""Explicit steps as functions on autograd's tape; the steps themselves work in place."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from ..integrators.damping import decay, impulse_time
from ..integrators.explicit_integrator import ExplicitIntegrator
from ..integrators.runge_kutta import Midpoint, RungeKutta4
from ..system import System
from .gradients import Gradients
from .quantities import Quantities


def stages_of(integrator: ExplicitIntegrator) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of each stage its time in the step, and what it counts for at the end; symplectic Euler has
    one."""
    if isinstance(integrator, (Midpoint, RungeKutta4)):
        return integrator.NODES, integrator.WEIGHTS
    return (0.0,), (1.0,)


class ExplicitScheme:
    """A step of an integrator on a system without obstacles.

    Args:
        integrator: whose steps they are.
        seconds: of a step.
    """

    def __init__(
        self,
        system: System,
        gradients: Gradients,
        integrator: ExplicitIntegrator,
        seconds: float,
        given: Quantities,
    ) -> None:
        self._system, self._gradients, self._given = system, gradients, given
        self._nodes, self._weights = stages_of(integrator)
        self._seconds = seconds
        self._inverse_mass = system.free / given["mass"]
        self._retentions = {node: self._retention(node * seconds) for node in self._times()}
        self._impulses = {node: self._impulse(node * seconds) for node in self._times()}

    def _times(self) -> set[float]:
        nodes = self._nodes
        between = {after - before for before, after in pairwise(nodes)}
        return {1.0, *nodes, *between, *(1.0 - node for node in nodes)}

    def _retention(self, seconds: float) -> Tensor:
        return torch.where(self._system.free, decay(self._given["damping"], seconds), 1.0)

    def _impulse(self, seconds: float) -> Tensor:
        return impulse_time(self._given["damping"], seconds) + torch.zeros_like(self._inverse_mass)

    def advance(
        self, positions: Tensor, velocities: Tensor, frame: int, since: float, until: float
    ) -> tuple[Tensor, Tensor]:
        """(3, N) positions and velocities a step later, which goes from ``since`` to ``until`` of
        the way from a frame to the next."""
        pins = self._system.moving_pins
        if pins is None:
            return self._move(positions, velocities, frame, since, until)
        target = pins.path.with_samples(self._given["pins"]).at(frame, until)
        coasting = (target - positions[:, pins.vertices]) / self._seconds
        velocities = velocities.index_copy(1, pins.vertices, coasting)
        positions, velocities = self._move(positions, velocities, frame, since, until)
        return positions.index_copy(1, pins.vertices, target), velocities

    def _move(
        self, positions: Tensor, velocities: Tensor, frame: int, since: float, until: float
    ) -> tuple[Tensor, Tensor]:
        step, span = self._seconds, until - since
        first = self._acceleration(positions, velocities, frame, since)
        end = self._retentions[1.0] * velocities + self._impulses[1.0] * first
        if len(self._nodes) == 1:
            return positions + step * end, end
        displacement = self._weights[0] * step * velocities
        surplus, stage = torch.zeros_like(first), velocities
        rest = zip(pairwise(self._nodes), self._weights[1:], strict=True)
        for (previous, node), weight in rest:
            at = positions + node * step * stage
            stage = self._retentions[node] * velocities + self._impulses[node] * first
            stage = stage + node * step * self._retentions[node - previous] * surplus
            surplus = self._acceleration(at, stage, frame, since + node * span) - first
            displacement = displacement + weight * step * stage
            end = end + weight * step * self._retentions[1.0 - node] * surplus
        return positions + displacement, end

    def _acceleration(
        self, positions: Tensor, velocities: Tensor, frame: int, fraction: float
    ) -> Tensor:
        for part in self._system.prescribed:
            part.go_to(frame, fraction)
        own = self._gradients
        gradient = own.conservative(positions, self._given, frame, fraction)
        rate = own.rate(positions, velocities, self._given, frame, fraction)
        return -self._inverse_mass * (gradient + rate)
