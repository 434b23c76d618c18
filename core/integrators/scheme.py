# SPDX-License-Identifier: GPL-3.0-or-later
"""What frames of equal steps ask of a method."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ..system import System
from .integrator import Integrator
from .substep import Substep


class Scheme(Integrator):
    """A method that goes from step to step without looking back or ahead."""

    #: What users call it.
    label: ClassVar[str]
    #: Whether energy that comes from nowhere tells that its steps are too long.
    keeps_energy: ClassVar[bool] = True

    @abstractmethod
    def substep(self, system: System, step: float) -> Substep:
        """A step of ``step`` seconds."""
