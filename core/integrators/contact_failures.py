# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures of steps, and scenes without contact in explicit steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InstabilityError
from ..system import System


class DivergedStepError(InstabilityError):
    """Steps gain energy although they are as short as allowed."""


def unsupported_contact_reason(system: System) -> str:
    """Return the reason why explicit steps do not support the contact of a scene, as the end of a
    sentence; empty if they do."""
    contact, cure = system.scene.contact, "choose Automatic or Implicit Euler"
    if system.scene.attachments:
        return f"cannot attach bodies; {cure}, or do without attachments."
    if system.obstacles.need_explicit_steps:
        return "cannot let surfaces meet beside spheres or a bouncy ground; do without those."
    if contact is not None and contact.formulation == "original" and contact.stiffness is None:
        return (
            f"cannot adapt the stiffness of contact, as its method Original does; {cure}, or the "
            "method Convergent."
        )
    if system.device.type != "cpu":
        return f"lets surfaces meet on CPUs alone; {cure}, or compute on the CPU."
    return ""


# The largest deformation of a body in one step, relative to its diagonal. Beyond it the search for
# collisions would take long.
MAX_CHANGE_RATIO = 0.25


class DivergenceCheck:
    """The largest change of a system's bodies in a step before it counts as divergence."""

    def __init__(self, system: System) -> None:
        self._names, self._slices = system.names, system.body_slices()
        self._most = [MAX_CHANGE_RATIO * mesh.diagonal for mesh in system.meshes]

    def is_possible(self, longest: float) -> bool:
        """Whether moves with this largest component, in metres or NaN, may have to be refused."""
        # Two go apart by no more than twice the longest move.
        return not 2.0 * longest <= min(self._most)

    def refuse(self, moves: NDArray[np.float64]) -> None:
        """Refuse moves after which bodies would have diverged.

        Args:
            moves: (N, 3) displacements of vertices in a step, in metres.

        Raises:
            DivergedStepError: if moves are not finite, or vertices of a body move too far apart.
        """
        bodies = zip(self._slices, self._most, strict=True)
        if not all((np.ptp(moves[where], axis=0) <= most).all() for where, most in bodies):
            raise DivergedStepError(f"{self._names}: explicit steps diverge.")
