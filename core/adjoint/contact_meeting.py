# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept of how surfaces meet at the end of explicit steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InstabilityError
from ..integrators.contact_nodes import ground_points
from ..integrators.contact_record import Contacts
from ..kernels.contact_constraints import Constraints, gather
from ..kernels.detection import CandidateStencils
from ..system import System

Values = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Relaxation:
    """K contacts as they were before they were relaxed.

    Args:
        moves, mobility: (N, 3) and (N,) as ``Contacts`` has them.
        constraints: of P pairs, then of G points on the ground.
        pairs: (P,) among candidates, of which ``stencils`` are.
        points, ends: (V, 3) where the points of the surface are, and would go.
        feet: (G,) points on the ground.
    """

    moves: Values
    mobility: Values
    constraints: Constraints
    pairs: Indices
    stencils: CandidateStencils
    points: Values
    ends: Values
    feet: Indices


@dataclass(frozen=True)
class SurfaceMeeting:
    """
    Args:
        positions, velocities: (3, N) before surfaces corrected them.
        relaxation: of what touched.
    """

    positions: Tensor
    velocities: Tensor
    relaxation: Relaxation


class SurfaceRecord:
    """Takes down how surfaces meet in steps that nothing stopped.

    Args:
        system: with contact.
    """

    def __init__(self, system: System) -> None:
        self._names, self._ground = system.names, ground_points(system)
        self._relaxation: Relaxation | None = None

    def taken(self, positions: Tensor, velocities: Tensor) -> SurfaceMeeting | None:
        """Of the step that has ended, from (3, N) positions and velocities before surfaces met;
        None where nothing touched."""
        own, self._relaxation = self._relaxation, None
        return None if own is None else SurfaceMeeting(positions, velocities, own)

    def relaxes(self, contacts: Contacts, flat_tets: int) -> None:
        if flat_tets:
            raise InstabilityError(
                f"{self._names}: there are no gradients through tets that are pressed flat in "
                "explicit steps; choose ImplicitEuler or BDF2, or a stiffer material."
            )
        if contacts.contact_count:
            self._relaxation = self._kept(contacts)

    def _kept(self, contacts: Contacts) -> Relaxation:
        count, feet = contacts.contact_count, self._on_ground(contacts)
        assert len(contacts.pairs) + len(feet) == count
        return Relaxation(
            contacts.moves.copy(),
            contacts.mobility.copy(),
            Constraints(*(part[:count].copy() for part in contacts.constraints)),
            contacts.pairs,
            contacts.stencils,
            contacts.points,
            contacts.ends,
            feet,
        )

    def _on_ground(self, contacts: Contacts) -> Indices:
        """As ``ground_constraints.find_ground`` finds them."""
        if self._ground is None:
            return np.empty(0, dtype=np.int64)
        points, laws = self._ground
        now, moves = np.empty((2, len(points.nodes), 3))
        gather(points, contacts.at, now)
        gather(points, contacts.moves, moves)
        height = now[:, 2] - laws.height
        return np.flatnonzero(np.minimum(height, height + moves[:, 2]) < laws.distances)
