# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulator asks of a time integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..system import State, System


class Integrator(ABC):
    """Carries a state from one frame to the next."""

    @abstractmethod
    def choose_substeps(self, system: System, frame_time: float, asked: int | None) -> int:
        """Time steps a frame: as ``asked``, or as needed when that is None.

        Raises:
            InstabilityError: when as many as ``asked`` are known to be too few.
        """

    @abstractmethod
    def advance(self, system: System, state: State, frame_time: float, adapt: bool) -> State:
        """The state a frame later; ``state`` is left as it was.

        Args:
            frame_time: in seconds.
            adapt: whether more substeps may be taken than ``state.substeps``.

        Raises:
            InstabilityError: when the step was too long.
        """
