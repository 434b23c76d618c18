# SPDX-License-Identifier: GPL-3.0-or-later
"""Energies that change over time by themselves."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from ..assembly.tensor_channel import TensorChannel
from .potential import Potential


class PrescribedPotential(Potential):
    """An energy whose parameters are prescribed over time: those that ``go_to`` or ``act`` chose
    last, at first those of the start.

    Args:
        channel: of the parameters, a tensor of any shape.
    """

    #: Whether ``change`` takes longer than a gradient.
    changes_slowly: ClassVar[bool] = False

    def __init__(self, channel: TensorChannel) -> None:
        #: Of the parameters.
        self.channel = channel
        #: As ``channel`` has them, in place.
        self.parameters = channel.at(0, 0.0).clone()

    @property
    def is_constant(self) -> bool:
        return self.channel.is_constant

    def at(self, frame: int, fraction: float) -> Tensor:
        """The parameters a ``fraction`` of the way from a frame to the next."""
        return self.channel.at(frame, fraction)

    @property
    def stiffest(self) -> Tensor:
        """The parameters, of all times, of which its second derivative is the largest; those of
        now where it is the same."""
        return self.parameters

    def go_to(self, frame: int, fraction: float) -> None:
        """Takes the parameters of a time."""
        if not self.is_constant:
            self.act(self.at(frame, fraction))

    def act(self, parameters: Tensor) -> None:
        """Takes parameters. On CUDA this is recorded: nothing in it may look at values."""
        self.parameters.copy_(parameters)

    def energy_with(self, parameters: Tensor, positions: Tensor) -> Tensor:
        """The energy in joules, were these the parameters."""
        present = self.parameters.clone()
        self.act(parameters)
        energy = self.energy(positions)
        self.act(present)
        return energy

    def energy_change(self, before: Tensor, after: Tensor, positions: Tensor) -> Tensor:
        """In joules, what a change of the parameters adds to the energy."""
        return self.energy_with(after, positions) - self.energy_with(before, positions)

    def change(self, before: Tensor, after: Tensor, positions: Tensor) -> Tensor:
        """``energy_change``, with whatever parameters afterwards."""
        return self.energy_change(before, after, positions)

    def energy_at(self, positions: Tensor, frame: int) -> Tensor:
        """In joules, after a frame."""
        if self.is_constant:
            return self.energy(positions)
        return self.energy_with(self.at(frame, 0.0), positions)
