# SPDX-License-Identifier: GPL-3.0-or-later
"""Unfolds bodies out of equilibria in which their tets lie over each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..geometry.folding import Folds, Points
from ..geometry.rigid_motion import rigid_velocity
from ..state import State
from ..system import System

# Bodies that keep less of their volume come back from every start that was tried; nearer to 0.5
# the energy has other minima.
MAX_POISSON = 0.3
# The most frames in which bodies have to unfold before they are left folded.
MAX_FRAMES = 48
# The largest kinetic energy of a body at rest without its rigid motion, relative to Σ μV. A fold
# stores about a thousandth of Σ μV.
REST_ENERGY_RATIO = 1e-5

#: In ``State.unfolding``: left alone, since it does not come back.
CAUGHT = -1


class Unfolding:
    """Find bodies that are stuck in a fold, and soften them until they unfold.

    A folded body at rest is in a spurious equilibrium: Stable Neo-Hookean solids without load have
    only one, their rest shape. Until the body is unfolded, its Poisson's ratio is at most 0.3.

    Args:
        system: the system of the bodies.
        can_soften: whether its integrator follows changes of materials.
    """

    def __init__(self, system: System, can_soften: bool = True) -> None:
        self._system, self._frames = system, MAX_FRAMES if can_soften else 0

    def prepare(self, state: State) -> None:
        """Gives the bodies the materials that the frame after a state needs."""
        softened = () if state.unfolding is None else np.flatnonzero(state.unfolding > 0).tolist()
        self._system.limit_poisson(tuple(softened), MAX_POISSON)

    def watch(self, state: State) -> State:
        """Return the state with an updated ``unfolding``, the frames since each body is folded."""
        counts = self._counts(state)
        changed = []
        for body, count in enumerate(counts.tolist()):
            if not (count or self._rests(state, body)) or not self._is_folded(state, body):
                changed.append(0)
            elif count == CAUGHT or count >= self._frames:
                changed.append(CAUGHT)
            else:
                changed.append(count + 1)
        return replace(state, unfolding=np.array(changed) if any(changed) else None)

    def unfolded_equilibrium(self, solve: Callable[[State], State], state: State) -> State:
        """The equilibrium that ``solve`` finds from a state, unfolded where that is possible."""
        self._system.limit_poisson((), MAX_POISSON)
        state = solve(state)
        if folded := self._folded(state):
            try:
                self._system.limit_poisson(folded, MAX_POISSON)
                state = solve(state)
            finally:
                self._system.limit_poisson((), MAX_POISSON)
            state = solve(state)
            folded = self._folded(state)
        counts = np.zeros(len(self._system.bodies), dtype=np.int64)
        counts[list(folded)] = CAUGHT
        return replace(state, unfolding=counts if counts.any() else None)

    def names(self, state: State, caught: bool) -> tuple[str, ...]:
        """Return the names of the bodies that are caught, or that are unfolding."""
        counts = self._counts(state)
        chosen = counts == CAUGHT if caught else counts > 0
        return tuple(self._system.bodies[body].name for body in np.flatnonzero(chosen))

    def _is_folded(self, state: State, body: int) -> bool:
        return self._folds[body].has_folds(self._body_state(state, body)[0])

    def _folded(self, state: State) -> tuple[int, ...]:
        bodies = range(len(self._system.bodies))
        return tuple(body for body in bodies if self._is_folded(state, body))

    def _counts(self, state: State) -> NDArray[np.int64]:
        if state.unfolding is None:
            return np.zeros(len(self._system.bodies), dtype=np.int64)
        return state.unfolding

    @cached_property
    def _folds(self) -> list[Folds]:
        return [Folds(mesh) for mesh in self._system.meshes]

    @cached_property
    def _masses(self) -> list[Tensor]:
        mass = self._system.mass.double().cpu()
        return [mass[where] for where in self._system.body_slices()]

    @cached_property
    def _stiffness(self) -> list[float]:
        """Σ μV of each body, in joules."""
        pairs = zip(self._system.bodies, self._system.meshes, strict=True)
        return [float((body.material.mu * mesh.rest_volumes).sum()) for body, mesh in pairs]

    def _body_state(self, state: State, body: int) -> tuple[Points, Points]:
        """(n, 3) positions and velocities of a body."""
        where = self._system.body_slices()[body]
        positions, velocities = (
            part[:, where].T.cpu().numpy().astype(float)
            for part in (state.positions, state.velocities)
        )
        return positions, velocities

    def _rests(self, state: State, body: int) -> bool:
        positions, velocities = (torch.from_numpy(part.T) for part in self._body_state(state, body))
        mass = self._masses[body]
        moving = velocities - rigid_velocity(mass, positions, velocities).at(positions)
        energy = float(0.5 * (mass * moving.square()).sum())
        return energy < REST_ENERGY_RATIO * self._stiffness[body]
