# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulator asks of a time integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from ..state import State
from ..system import System


class TimeStepper(ABC):
    """Carries the states of one system from frame to frame.

    Args:
        substeps: time steps a frame at the start.
        adapts: whether a frame that needs more may take them.
    """

    #: What users call the method.
    label: str

    @property
    @abstractmethod
    def most_work(self) -> str:
        """What a frame takes at most, such as ``420 iterations``."""

    def __init__(self, substeps: int, adapts: bool) -> None:
        self.substeps, self.adapts = substeps, adapts
        #: (3, N) positions through the last frame, and their times as fractions of it, from 0 to 1,
        #: of a method that records them.
        self.sampled_positions: list[Tensor] = []
        self.sample_fractions: list[float] = []

    @property
    def current(self) -> TimeStepper:
        """What took the last frame, of a method that chooses among several."""
        return self

    @abstractmethod
    def advance(self, state: State) -> State:
        """The state a frame later; ``state`` is left as it was.

        Raises:
            InstabilityError: when the frame cannot be made.
        """


class Integrator(ABC):
    """A method and its settings."""

    @abstractmethod
    def stepper(self, system: System, substeps: int | None) -> TimeStepper:
        """The method at work on a system.

        Args:
            system: to be carried on.
            substeps: time steps a frame; None lets the method choose, and take more where the
                motion needs them.

        Raises:
            InstabilityError: when so many ``substeps`` are known to be too few.
            SceneError: when the method cannot simulate the scene.
        """
