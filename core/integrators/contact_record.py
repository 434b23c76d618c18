# SPDX-License-Identifier: GPL-3.0-or-later
"""What contact in explicit steps lets be taken down."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..kernels.contact_constraints import Constraints
from ..kernels.continuous_collision import CandidateStencils

Points = NDArray[np.float64]


class Contacts(NamedTuple):
    """K contacts, made linear and about to be relaxed: those of pairs, then those with the ground.

    Args:
        start: (N, 3) where nodes were when the step began, in metres.
        at: (N, 3) where they are.
        points, ends: (V, 3) where the points of the surface are, and would go.
        moves: (N, 3) that nodes would make; it is changed in place, as ``constraints`` are.
        mobility: (N,) in metres a newton over the step.
        constraints: whose first ``contact_count`` they are.
        pairs: (P,) of them among candidates.
        stencils: of the candidates.
    """

    start: Points
    at: Points
    points: Points
    ends: Points
    moves: Points
    mobility: NDArray[np.float64]
    constraints: Constraints
    contact_count: int
    pairs: NDArray[np.int64]
    stencils: CandidateStencils


class ContactRecord(Protocol):
    """Takes down how contacts are relaxed."""

    def relaxes(self, contacts: Contacts, flat_tets: int) -> None:
        """
        Args:
            contacts: what stays in place of it is to be copied.
            flat_tets: that are relaxed with them.
        """
