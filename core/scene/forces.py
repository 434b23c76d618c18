# SPDX-License-Identifier: GPL-3.0-or-later
"""What acts on a scene, or on a body of it, beside what all have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ..potentials import Potential
    from ..system import System


@runtime_checkable
class Force(Protocol):
    """Anything that makes an energy of a scene as tensors, such as a dataclass of parameters."""

    def potential(self, system: System) -> Potential | Sequence[Potential]:
        """The energy whose gradient, taken away, is the force; or several."""
        ...


@runtime_checkable
class BodyForce(Protocol):
    """The same of one body, such as the pressure inside of it."""

    def potential(self, system: System, body: int) -> Potential:
        """The energy, of the vertices of the body of that index."""
        ...
