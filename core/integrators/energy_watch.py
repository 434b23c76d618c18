# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy of undriven bodies: implicit steps add none and report their losses.

A step of second order treats Coriolis's force explicitly, and a soft body that spins fast feeds
its vibrations with it. Without work by pins, fields or surfaces, the energy cannot rise above its
initial value. Any excess is taken from the motion within bodies.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ..geometry.rigid_motion import slowed
from ..state import State
from ..system import System
from .rigid_frames import RigidFrames

# The tolerated energy oscillation of a step of second order, relative to the kinetic energy.
GAIN_RATIO = 0.01


class EnergyWatch:
    """Watches the energy of a system from step to step.

    Args:
        system: the system of the bodies.
        frames: the rigid frames of its bodies.
        has_contact: whether surfaces may push each other, whose energy is not counted.
    """

    def __init__(self, system: System, frames: RigidFrames, has_contact: bool) -> None:
        self._system, self._frames, self._has_contact = system, frames, has_contact
        scene = system.scene
        is_driven = system.is_driven or system.prescribed or system.moving_pins is not None
        # The energy of a system does not include theirs.
        is_held = scene.attachments or scene.stitches
        #: Whether all work on the bodies is known.
        self.is_possible = not (is_driven or is_held)
        # Flow would otherwise take an energy that is not counted.
        self._loses_by_damping_alone = not system.plastic_flow

    def after_step(self, before: State, after: State, seconds: float, touched: bool) -> State:
        """Return the end of a step without surplus energy, and with the lost energy noted.

        Args:
            before, after: the states at the start and at the end.
            seconds: the length of the step.
            touched: whether surfaces pushed each other in the step.
        """
        if not self.is_possible:
            return after
        if touched:
            return replace(after, energy_limit=None)
        system, limit = self._system, before.energy_limit
        if limit is None and self._has_contact:
            # The energy from surfaces is known only now.
            return replace(after, energy_limit=system.energies(after).total)
        start, end = system.energies(before), system.energies(after)
        limit = start.total if limit is None else limit
        after = replace(after, energy_limit=limit)
        excess = end.total - limit - GAIN_RATIO * end.kinetic
        if excess > 0.0:
            after = replace(after, velocities=self._without_surplus(after, excess))
            end = system.energies(after)
        if not self._loses_by_damping_alone or start.ground > 0.0 or end.ground > 0.0:
            return after
        damped = 0.5 * seconds * (self._damping_power(before) + self._damping_power(after))
        statistics = after.solver_statistics
        lost_energy = statistics.lost_energy + start.total - end.total - damped
        return replace(after, solver_statistics=replace(statistics, lost_energy=lost_energy))

    def _without_surplus(self, state: State, excess: float) -> Tensor:
        """Return (3, N) velocities in m/s with ``excess`` joules less within bodies; each body
        keeps its momentum and angular momentum."""
        frames, positions, velocities = self._frames, state.positions, state.velocities
        arms = positions - frames.spread(frames.centres(positions))
        mean = frames.spread(frames.mean_velocities(velocities))
        angular = frames.angular_velocities(arms, frames.momentum(arms, velocities))
        turn = frames.spread(angular).expand_as(arms)
        rigid = self._system.free * (mean + torch.linalg.cross(turn, arms, dim=0))
        return rigid + slowed(self._system.free_mass, velocities - rigid, excess)

    def _damping_power(self, state: State) -> float:
        """The rate at which damping takes energy, in watts."""
        system, velocities = self._system, state.velocities
        forces = system.damping * system.free_mass * velocities
        system.add_rate_forces(state.positions, velocities, forces)
        return float((forces * velocities).sum())
