# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of explicit integrators: a step within the limit of stability."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial
from typing import ClassVar

from torch import Tensor

from ..errors import InstabilityError, SceneError
from ..system import System
from .contact_failures import unsupported_contact_reason
from .explicit_stepper import (
    ExplicitStepper,
    more_substeps,
    refuse_stiff_forces,
    refuse_too_many,
    unstable_step_message,
)
from .fixed_step_integrator import FixedStepIntegrator
from .mesh_contact_step import MeshContactStep
from .stability import Spectrum, spectrum, spectrum_at

# Default steps are this fraction of the stability limit at rest: compressed tets are stiffer.
SAFETY_FACTOR = 0.5
# The same of the limit where bodies are deformed, once that is known.
DEFORMED_SAFETY_FACTOR = 0.8


class ExplicitIntegrator(FixedStepIntegrator):
    """An integrator that takes its steps from forces alone, without solving anything."""

    #: Its error at a given time is proportional to this power of the step.
    order: ClassVar[int]

    def stepper(self, system: System, substeps: int | None) -> ExplicitStepper:
        refuse_stiff_forces(system, self.label)
        if not system.scene.couples_bodies:
            return self.contact_free_stepper(system, substeps)
        if why := unsupported_contact_reason(system):
            raise SceneError(f"{system.names}: {self.label} {why}")
        contact = MeshContactStep(system)
        return self._stepper(system, substeps, contact=contact)

    def contact_free_stepper(
        self,
        system: System,
        substeps: int | None,
        records_positions: bool = False,
    ) -> ExplicitStepper:
        """``stepper`` of a system without its contact.

        Args:
            records_positions: whether it samples positions through its last frame.
        """
        return self._stepper(system, substeps, records_positions)

    def _stepper(
        self,
        system: System,
        substeps: int | None,
        records_positions: bool = False,
        contact: MeshContactStep | None = None,
    ) -> ExplicitStepper:
        vibrations, options = spectrum(system), (records_positions, contact)
        longest = system.frame_times.longest
        if substeps is None:
            needed = max(1, math.ceil(longest / self.default_step(vibrations)))
            refuse_too_many(system, self.label, needed)
            deformed = None if contact is None else partial(self.deformed_step, system)
            return ExplicitStepper(self, system, needed, True, *options, deformed)
        limit = self.stability_limit(vibrations)
        if longest / substeps > limit:
            cure = more_substeps(math.ceil(longest / limit))
            raise InstabilityError(unstable_step_message(system, substeps, "", cure))
        return ExplicitStepper(self, system, substeps, False, *options)

    @abstractmethod
    def stability_limit(self, spectrum: Spectrum) -> float:
        """In seconds; longer ones are known to diverge."""

    def deformed_step(self, system: System, positions: Tensor) -> float:
        """In seconds, the longest one where bodies are deformed as they are at (3, N) positions."""
        return DEFORMED_SAFETY_FACTOR * self.stability_limit(spectrum_at(system, positions))

    def default_step(self, spectrum: Spectrum) -> float:
        """The step without a choice of the user, in seconds."""
        return SAFETY_FACTOR * self.stability_limit(spectrum)
