# SPDX-License-Identifier: GPL-3.0-or-later
"""Where bodies would go in a step if nothing were in their way."""

from __future__ import annotations

import torch
from scipy.spatial import KDTree
from torch import Tensor

from ..geometry.rigid_motion import rigid_velocity
from ..state import State
from ..system import System


class UnhinderedMotion:
    """Predicts motion without contact and without solving for anything.

    Free bodies go on as rigid ones, since their stiffness limits how far they deform. Vertices of
    pinned bodies go on as they went, faster or slower by as much as the nearest pin.

    Args:
        system: whose bodies move.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._slices = system.body_slices()
        self._are_free = [bool(system.free[where].all()) for where in self._slices]
        #: (F,) vertices that follow moving pins, and (F,) the places of these among all pins.
        self._followers, self._leaders = self._nearest_pins()

    def displacement(self, state: State, seconds: float, frame: int, fraction: float) -> Tensor:
        """(3, N) in metres, of so many seconds until a fraction of the way from a frame to the
        next; the system is taken there."""
        system = self._system
        system.go_to(frame, fraction)
        velocities, acceleration = state.velocities.clone(), system.free_acceleration
        forces = torch.zeros_like(state.positions)
        for part in system.forces:
            if not (part.is_dissipative or part.is_stiff):
                part.add_gradient(state.positions, forces)
        for where, is_free in zip(self._slices, self._are_free, strict=True):
            mass = system.mass[where]
            # As a whole: what pulls single vertices deforms them, more than it moves the body.
            pull = forces[:, where].sum(dim=1) / mass.sum()
            acceleration[:, where] -= pull[:, None] * system.free[where]
            if is_free:
                at = state.positions[:, where]
                velocities[:, where] = rigid_velocity(mass, at, velocities[:, where]).at(at)
        moved = seconds * velocities + 0.5 * seconds * seconds * acceleration
        moved = torch.where(system.free, moved, 0.0)
        if (pins := system.moving_pins) is not None:
            prescribed = pins.positions(frame, fraction) - state.positions[:, pins.vertices]
            change = prescribed - seconds * state.velocities[:, pins.vertices]
            moved[:, self._followers] += change[:, self._leaders]
            moved[:, pins.vertices] = prescribed
        return moved

    def _nearest_pins(self) -> tuple[Tensor, Tensor]:
        system, device = self._system, self._system.device
        followers, leaders = [], []
        if (pins := system.moving_pins) is not None:
            rest = system.rest_positions()
            for where in self._slices:
                own = torch.arange(where.start, where.stop, device=device)
                own = own[system.free[where]]
                is_own = (pins.vertices >= where.start) & (pins.vertices < where.stop)
                places = torch.nonzero(is_own)[:, 0]
                if len(places):
                    followers.append(own)
                    leaders.append(places[_nearest(rest[:, own], rest[:, pins.vertices[places]])])
        nothing = torch.empty(0, dtype=torch.long, device=device)
        return torch.cat([nothing, *followers]), torch.cat([nothing, *leaders])


def _nearest(points: Tensor, others: Tensor) -> Tensor:
    """(P,) the index of the nearest of (3, Q) others to each of (3, P) points."""
    tree = KDTree(others.T.cpu().numpy())
    return torch.as_tensor(tree.query(points.T.cpu().numpy())[1]).to(points.device)
