# SPDX-License-Identifier: GPL-3.0-or-later
"""What explicit integrators share: a step within the limit of stability."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from ..errors import InstabilityError
from ..system import System
from .explicit_stepper import (
    ExplicitStepper,
    refuse_contact,
    refuse_too_many,
    unstable_step_message,
)
from .fixed_step_integrator import FixedStepIntegrator
from .stability import Spectrum, spectrum

# Default steps are this fraction of the stability limit at rest: compressed tets are stiffer.
SAFETY_FACTOR = 0.5


class ExplicitIntegrator(FixedStepIntegrator):
    """An integrator that takes its steps from forces alone, without solving anything."""

    #: Its error at a given time goes with this power of the step.
    order: ClassVar[int]

    def stepper(self, system: System, frame_time: float, substeps: int | None) -> ExplicitStepper:
        refuse_contact(system, self.label)
        return self.contact_free_stepper(system, frame_time, substeps)

    def contact_free_stepper(
        self,
        system: System,
        frame_time: float,
        substeps: int | None,
        records_positions: bool = False,
    ) -> ExplicitStepper:
        """``stepper`` of a system without its contact.

        Args:
            records_positions: whether it samples positions through its last frame.
        """
        found = spectrum(system)
        if substeps is None:
            needed = max(1, math.ceil(frame_time / self.default_step(found)))
            refuse_too_many(system, self.label, needed)
            return ExplicitStepper(self, system, frame_time, needed, True, records_positions)
        limit = self.stability_limit(found)
        if frame_time / substeps > limit:
            raise InstabilityError(
                unstable_step_message(system, substeps, math.ceil(frame_time / limit))
            )
        return ExplicitStepper(self, system, frame_time, substeps, False, records_positions)

    @abstractmethod
    def stability_limit(self, spectrum: Spectrum) -> float:
        """In seconds; longer ones are known to diverge."""

    def default_step(self, spectrum: Spectrum) -> float:
        """In seconds, where nobody chooses one."""
        return SAFETY_FACTOR * self.stability_limit(spectrum)
