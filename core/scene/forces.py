# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene may bring along beside what it describes: energies of its author's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ..potentials import Potential
    from ..system import System


@runtime_checkable
class Force(Protocol):
    """Anything that makes an energy of a scene as tensors, such as a dataclass of parameters."""

    def potential(self, system: System) -> Potential:
        """The energy whose gradient, taken away, is the force."""
        ...
