# SPDX-License-Identifier: GPL-3.0-or-later
"""Integrators whose frames are equal steps."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ..system import System
from .explicit_step import ExplicitStep
from .integrator import Integrator


class FixedStepIntegrator(Integrator):
    """A method of single steps of a given length."""

    #: The name in the interface.
    label: ClassVar[str]
    #: Whether its energy is bounded, so that growth tells that its steps are too long.
    has_bounded_energy: ClassVar[bool] = True

    @abstractmethod
    def make_step(self, system: System, step: float) -> ExplicitStep:
        """A step of ``step`` seconds."""
