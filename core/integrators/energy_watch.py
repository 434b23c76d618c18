# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy of bodies that nothing drives: implicit steps add none and tell what they lose.

A step of second order treats Coriolis's force explicitly, and a soft body that spins fast feeds its
vibrations with it. Where no pins, fields or surfaces do work, the energy cannot rise above the one
with which the motion began. What exceeds it is taken from the motion within bodies.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ..geometry.rigid_motion import slowed
from ..state import State
from ..system import System
from .rigid_frames import RigidFrames

# The energy of a step of second order goes up and down. This share of the kinetic energy is let be.
GAIN_RATIO = 0.01


class EnergyWatch:
    """Watches the energy of a system from step to step.

    Args:
        system: of the bodies.
        frames: of its bodies.
        has_contact: whether surfaces may push each other, with an energy that nobody counts.
    """

    def __init__(self, system: System, frames: RigidFrames, has_contact: bool) -> None:
        self._system, self._frames, self._has_contact = system, frames, has_contact
        scene = system.scene
        is_driven = system.is_driven or system.prescribed or system.moving_pins is not None
        # Their energy is no part of what a system reports.
        is_held = scene.attachments or scene.stitches
        #: Whether all that does work on the bodies is known.
        self.is_possible = not (is_driven or is_held)
        # Else flow takes an energy that nobody counts.
        self._loses_by_damping_alone = not system.plastic_flow

    def after_step(self, before: State, after: State, seconds: float, touched: bool) -> State:
        """The end of a step, without the energy that nothing gave it, and with what was lost.

        Args:
            before, after: the state at its start and at its end.
            seconds: of the step.
            touched: whether surfaces pushed each other in it.
        """
        if not self.is_possible:
            return after
        if touched:
            return replace(after, energy_limit=None)
        system, limit = self._system, before.energy_limit
        if limit is None and self._has_contact:
            # What surfaces have given is there only now.
            return replace(after, energy_limit=system.energies(after).total)
        start, end = system.energies(before), system.energies(after)
        limit = start.total if limit is None else limit
        after = replace(after, energy_limit=limit)
        excess = end.total - limit - GAIN_RATIO * end.kinetic
        if excess > 0.0:
            after = replace(after, velocities=self._calmed(after, excess))
            end = system.energies(after)
        if not self._loses_by_damping_alone or start.ground > 0.0 or end.ground > 0.0:
            return after
        damped = 0.5 * seconds * (self._damping_power(before) + self._damping_power(after))
        statistics = after.solver_statistics
        lost = statistics.lost_energy + start.total - end.total - damped
        return replace(after, solver_statistics=replace(statistics, lost_energy=lost))

    def _calmed(self, state: State, excess: float) -> Tensor:
        """(3, N) velocities in m/s with so many joules less within bodies; each of these keeps its
        momentum and its angular momentum."""
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
