# SPDX-License-Identifier: GPL-3.0-or-later
"""What acts on a scene, or on a body of it, beside what all have.

The registry of ``potentials`` makes the energies of the forces that are described here.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


class DescribedForce:
    """Base of the dataclasses that describe a force on all bodies of a scene."""


class BodyForce:
    """Base of the dataclasses that describe a force on one body, such as the pressure in it."""


@runtime_checkable
class CustomForce(Protocol):
    """A force of a script: anything that makes an energy of a scene as tensors."""

    def potential(self, system: Any) -> Any:
        """Return the ``Potential`` whose gradient, taken away, is the force; or several."""
        ...


Force = DescribedForce | CustomForce
