# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface between a simulator and a time integrator."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from ..compiled import runs_loops, use_threads
from ..kernels.explicit_motion import advance_vertices
from ..state import State
from ..system import System


class TimeStepper(ABC):
    """Carries the states of one system from frame to frame.

    Args:
        substeps: time steps a frame at the start.
        adapts: whether a frame that needs more may take them.
    """

    #: The name of the method in the interface.
    label: str

    @property
    @abstractmethod
    def most_work(self) -> str:
        """Return the most work of a frame, such as ``420 iterations``."""

    def __init__(self, substeps: int, adapts: bool) -> None:
        self.substeps, self.adapts = substeps, adapts
        #: (3, N) positions through the last frame, and their times as fractions of it, from 0 to 1,
        #: of a method that records them.
        self.sampled_positions: list[Tensor] = []
        self.sample_fractions: list[float] = []

    @property
    def current(self) -> TimeStepper:
        """Return the stepper of the last frame, for a method that chooses among several."""
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
            InstabilityError: if the ``substeps`` are known to be too few.
            SceneError: when the method cannot simulate the scene.
        """


#: Fewer vertices than this a thread cost more to hand out than to move.
VERTICES_PER_THREAD = 8000


def move(
    positions: Tensor,
    velocities: Tensor,
    gradient: Tensor,
    dt_over_mass: Tensor,
    retention: Tensor,
    step: float,
) -> None:
    """v ← r v − k ∇E, x ← x + step v, in place.

    Args:
        positions, velocities, gradient: (3, N) in metres, m/s and newtons.
        dt_over_mass: (N,) k, the step over mass, in s/kg.
        retention: (N,) r, the share of the velocity that damping leaves.
        step: in seconds.
    """
    if runs_loops(positions):
        use_threads(len(retention), VERTICES_PER_THREAD)
        x, v, pull = positions.numpy(), velocities.numpy(), gradient.numpy()
        advance_vertices(x, v, pull, dt_over_mass.numpy(), retention.numpy(), step)
        return
    velocities.mul_(retention).addcmul_(gradient, dt_over_mass, value=-1.0)
    positions.add_(velocities, alpha=step)
