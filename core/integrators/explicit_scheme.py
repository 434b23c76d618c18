# SPDX-License-Identifier: GPL-3.0-or-later
"""What explicit schemes have in common: a step that is not to be too long."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from ..errors import InstabilityError
from ..system import System
from .explicit_stepper import ExplicitStepper, refuse_contact, refuse_too_many, too_long
from .scheme import Scheme
from .stability import Spectrum, spectrum

# Automatic steps use this fraction of the longest one at rest: compressed tets are stiffer.
SAFETY = 0.5


class ExplicitScheme(Scheme):
    """A scheme that takes its steps from forces alone, without solving anything."""

    #: Its error at a given time goes with this power of the step.
    order: ClassVar[int]

    def stepper(self, system: System, frame_time: float, substeps: int | None) -> ExplicitStepper:
        refuse_contact(system, self.label)
        return self.free_stepper(system, frame_time, substeps)

    def free_stepper(
        self, system: System, frame_time: float, substeps: int | None, keeps_ways: bool = False
    ) -> ExplicitStepper:
        """``stepper`` of a system whose contact it leaves to others.

        Args:
            keeps_ways: whether it keeps places on the way through its last frame.
        """
        found = spectrum(system)
        if substeps is None:
            needed = max(1, math.ceil(frame_time / self.good_step(found)))
            refuse_too_many(system, self.label, needed)
            return ExplicitStepper(self, system, frame_time, needed, True, keeps_ways)
        limit = self.longest_step(found)
        if frame_time / substeps > limit:
            raise InstabilityError(too_long(system, substeps, math.ceil(frame_time / limit)))
        return ExplicitStepper(self, system, frame_time, substeps, False, keeps_ways)

    @abstractmethod
    def longest_step(self, spectrum: Spectrum) -> float:
        """In seconds; longer ones are known to diverge."""

    def good_step(self, spectrum: Spectrum) -> float:
        """In seconds; what is taken when nobody says."""
        return SAFETY * self.longest_step(spectrum)
