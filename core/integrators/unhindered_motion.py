# SPDX-License-Identifier: GPL-3.0-or-later
"""Predict the motion of bodies in a step without contact."""

from __future__ import annotations

from typing import NamedTuple

import torch
from scipy.spatial import KDTree
from torch import Tensor

from ..state import State
from ..system import System
from .rigid_frames import RigidFrames, RigidMotion


class Unhindered(NamedTuple):
    """The motion of a coming interval without obstacles.

    Args:
        displacement: (3, N) displacements in metres.
        acceleration: (3, N) of free fall and of forces on whole bodies, in m/s².
        motion: the motion of the bodies' frames without forces.
    """

    displacement: Tensor
    acceleration: Tensor
    motion: RigidMotion


class UnhinderedMotion:
    """Predict motion without contact and without a solver.

    Free bodies move on as rigid ones, since their stiffness limits deformations. Vertices of
    pinned bodies keep their velocities, plus the change of the nearest pin's velocity.

    Args:
        system: the system of the bodies.
        frames: the rigid frames of its bodies.
    """

    def __init__(self, system: System, frames: RigidFrames) -> None:
        self._system, self._frames = system, frames
        self._slices = system.body_slices()
        #: (F,) vertices that follow moving pins, and (F,) the places of these among all pins.
        self._followers, self._leaders = self._nearest_pins()

    def of(self, state: State, seconds: float, frame: int, fraction: float) -> Unhindered:
        """Return the motion of ``seconds`` until a fraction between two frames, and set the
        system's time to that."""
        system = self._system
        system.go_to(frame, fraction)
        at, acceleration = state.positions, self._acceleration(state.positions)
        motion = self._frames.begin(at, state.velocities, seconds)
        rigid = motion.carried(at, 0.0, seconds) - at
        moved = torch.where(self._frames.are_free, rigid, seconds * state.velocities)
        moved = moved + 0.5 * seconds * seconds * acceleration
        moved = torch.where(system.free, moved, 0.0)
        if (pins := system.moving_pins) is not None:
            prescribed = pins.positions(frame, fraction) - state.positions[:, pins.vertices]
            change = prescribed - seconds * state.velocities[:, pins.vertices]
            moved[:, self._followers] += change[:, self._leaders]
            moved[:, pins.vertices] = prescribed
        return Unhindered(moved, acceleration, motion)

    def _acceleration(self, positions: Tensor) -> Tensor:
        """Return the (3, N) present acceleration by free fall and by forces on whole bodies, in
        m/s²."""
        system = self._system
        acceleration, forces = system.free_acceleration, torch.zeros_like(positions)
        for part in system.forces:
            if not (part.is_dissipative or part.is_stiff):
                part.add_gradient(positions, forces)
        for where in self._slices:
            mass = system.mass[where]
            # The mean acceleration: forces on single vertices deform a body more than they move
            # it.
            pull = forces[:, where].sum(dim=1) / mass.sum()
            acceleration[:, where] -= pull[:, None] * system.free[where]
        return acceleration

    def _nearest_pins(self) -> tuple[Tensor, Tensor]:
        system, device = self._system, self._system.device
        followers, leaders = [], []
        if (pins := system.moving_pins) is not None:
            rest = system.rest_positions()
            for where in self._slices:
                vertices = torch.arange(where.start, where.stop, device=device)
                vertices = vertices[system.free[where]]
                is_own = (pins.vertices >= where.start) & (pins.vertices < where.stop)
                places = torch.nonzero(is_own)[:, 0]
                if len(places):
                    followers.append(vertices)
                    leaders.append(
                        places[_nearest(rest[:, vertices], rest[:, pins.vertices[places]])]
                    )
        nothing = torch.empty(0, dtype=torch.long, device=device)
        return torch.cat([nothing, *followers]), torch.cat([nothing, *leaders])


def _nearest(points: Tensor, others: Tensor) -> Tensor:
    """(P,) the index of the nearest of (3, Q) others to each of (3, P) points."""
    tree = KDTree(others.T.cpu().numpy())
    return torch.as_tensor(tree.query(points.T.cpu().numpy())[1]).to(points.device)
