# SPDX-License-Identifier: GPL-3.0-or-later
"""Define the interface of energies, and of energies that change over time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel


class Past(NamedTuple):
    """A place that a time step looks back to.

    Args:
        weight: of its positions in the velocity (x − Σ w xₖ)/τ at the end of the step. The weights
            of a step add up to one.
        positions: (3, N) in metres.
        seconds: before the end of the step.
    """

    weight: float
    positions: Tensor
    seconds: float


@dataclass(frozen=True)
class TimeStep:
    """An implicit time step that begins, or a stage of one.

    Args:
        start: (3, N) where vertices are, in metres.
        predicted: (3, N) x̃, where they would end without forces.
        seconds: τ, from velocities to positions.
        impulse_time: the seconds that forces over mass change velocities over, a number or (N,).
        past: the positions in the difference for the final velocity; the time step begins at the
            first place. Empty where that is ``start``, ``seconds`` before the end.
        origin: (3, N) x̂ such that a vertex that ends the step at x has the velocity (x − x̂)/τ,
            in metres; None where that is Σ w xₖ over the past. Bodies that turn go otherwise.
        slip_origin: (3, N) start of the displacements for friction, in metres; None if friction
            uses the velocity at the end, from ``origin``.
        collider_origin: (C, 3) x̂ of colliders; None if they stay.
        is_static: whether the step seeks an equilibrium: nothing has a velocity.
        stick_seconds: h of the stick threshold ε_v h of friction; None is ``seconds``.
    """

    start: Tensor
    predicted: Tensor
    seconds: float
    impulse_time: Tensor | float
    past: tuple[Past, ...] = ()
    origin: Tensor | None = None
    slip_origin: Tensor | None = None
    collider_origin: NDArray[np.float64] | None = None
    is_static: bool = False
    stick_seconds: float | None = None

    @property
    def history(self) -> tuple[Past, ...]:
        """``past``, also where it is the start alone."""
        return self.past or (Past(1.0, self.start, self.seconds),)

    @property
    def coasting_origin(self) -> Tensor:
        """Return (3, N) x̂ in metres, such that a vertex that ends the step at x has the velocity
        (x − x̂) / seconds."""
        return weighted_past(self.history) if self.origin is None else self.origin

    @property
    def friction_origin(self) -> Tensor:
        """Return the (3, N) positions from which friction measures displacements, in metres."""
        return self.coasting_origin if self.slip_origin is None else self.slip_origin

    @property
    def length(self) -> float:
        """The seconds from where the time step began to where this one ends; an equilibrium takes
        for ever."""
        return math.inf if self.is_static else self.history[0].seconds

    @property
    def stick_time(self) -> float:
        """In seconds: h of the stick threshold ε_v h."""
        return self.seconds if self.stick_seconds is None else self.stick_seconds


def weighted_past(past: Sequence[Past]) -> Tensor:
    """Return Σ w xₖ, (3, N) in metres."""
    if len(past) == 1 and past[0].weight == 1.0:
        return past[0].positions
    whole = torch.zeros_like(past[0].positions)
    for weight, positions, _ in past:
        whole = whole + weight * positions
    return whole


class Potential(ABC):
    """An energy that depends on the positions of all vertices, (3, N), in metres.

    Explicit steps take its gradient. An implicit step begins it, evaluates it in the search for
    the minimum of the sum of all potentials, and updates it after each iteration.
    """

    #: Whether it is too stiff for explicit steps, and changes too fast for a Hessian of it to serve
    #: twice: barriers, friction, attachments.
    is_stiff: ClassVar[bool] = False
    #: Whether something may rub in it, whose normal forces lag behind a search.
    has_friction: ClassVar[bool] = False
    #: Whether it depends on velocities, as drag does: its energy is that of one implicit step, and
    #: explicit steps call ``add_rate_forces`` instead of its gradient.
    is_dissipative: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """Return the name for messages: the class, for a force that a script defines."""
        return f"the force {type(self).__name__}"

    @property
    def cancellation(self) -> float:
        """Return roughly the sum of its terms before they cancel, in joules; rounding is
        proportional to it."""
        return 0.0

    def begin_frame(self, positions: Tensor, frame: int) -> None:  # noqa: B027
        """Take the values that stay constant through a frame from its first (3, N) positions."""

    def set_down(self, frame: int, where: slice) -> None:  # noqa: B027 (most are not carried)
        """Announce that vertices are already at the end positions of a frame at its start, without
        a motion through it."""

    def begin_time_step(self, step: TimeStep) -> None:  # noqa: B027 (most have nothing to take)
        """Take the values that stay constant through an implicit step from its start."""

    @abstractmethod
    def energy(self, positions: Tensor) -> Tensor:
        """The energy in joules, a tensor of no dimension on the device of ``positions``."""

    @abstractmethod
    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the energy's gradient, (3, N) in newtons, to ``out``."""

    @abstractmethod
    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Adds the energy's second derivative, in N/m.

        Args:
            projected: whether it has to be positive semi-definite.
        """

    def add_rate_forces(  # noqa: B027 (only dissipative energies have any)
        self, positions: Tensor, velocities: Tensor, out: Tensor
    ) -> None:
        """Add the forces against (3, N) velocities in m/s to ``out``, in newtons."""

    def max_step(self, positions: Tensor, direction: Tensor) -> float:
        """The step size along ``direction`` (3, N), at most 1, up to which the energy is finite."""
        return 1.0

    def update_lagged(
        self, positions: Tensor, fraction: float = 1.0, settled: bool = True
    ) -> tuple[float, float]:
        """Updates lagged quantities, such as the normal forces of friction, from positions.

        Args:
            fraction: of the change to make.
            settled: whether the search has come so near that surfaces are where they will be.

        Returns:
            The sum of their changes, and their sum, in newtons.
        """
        return 0.0, 0.0

    def stick_drift(self, before: Tensor, after: Tensor) -> float:
        """Return the largest drift of parts that stuck at (3, N) ``before``, over the stick
        threshold."""
        return 0.0

    def rest_force_error(self, positions: Tensor) -> Tensor | float:
        """Return the (3, N) error of the gradient of a static step, which may take a law as
        linear about its start, at positions, in newtons."""
        return 0.0

    def after_iteration(self, positions: Tensor) -> bool:
        """Adapts itself to (3, N) ``positions`` of a search; whether the energy is another now."""
        return False

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> Potential:
        """Return this energy at a time as a function of the adjoint's quantities, in which it is
        the force of an index (``core/adjoint/quantities.py``). Gradients through forces that do
        not have this method are refused."""
        raise NotImplementedError

    def gradient(self, positions: Tensor) -> Tensor:
        """(3, N) gradient of the energy in newtons."""
        out = torch.zeros_like(positions)
        self.add_gradient(positions, out)
        return out


class PrescribedPotential(Potential):
    """An energy whose parameters are prescribed over time: those that ``go_to`` or ``act`` chose
    last, at first those of the start.

    Args:
        channel: of the parameters, a tensor of any shape.
    """

    #: Whether explicit steps take ``change`` a few times a frame, and not once a step.
    is_sampled: ClassVar[bool] = False

    def __init__(self, channel: TensorChannel) -> None:
        #: The channel of the parameters.
        self.channel = channel
        #: As ``channel`` has them, in place: copies of an energy share them.
        self.parameters = channel.at(0, 0.0).clone()

    def _taped(
        self,
        quantities: Mapping[str, Tensor],
        index: int,
        frame: int,
        fraction: float,
        **members: Any,
    ) -> Self:
        """See ``on_tape``; ``members`` are those by other quantities than its parameters."""
        taped, channel = copy(self), self.channel.with_samples(quantities[f"parameters {index}"])
        vars(taped).update(members, parameters=channel.at(frame, fraction))
        return taped

    @property
    def is_constant(self) -> bool:
        return self.channel.is_constant

    def at(self, frame: int, fraction: float) -> Tensor:
        """The parameters a ``fraction`` of the way from a frame to the next."""
        return self.channel.at(frame, fraction)

    @property
    def stiffest(self) -> Tensor:
        """Return the parameters, among all times, with the largest second derivative; those of now
        where it is the same."""
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
        """The energy in joules that a change of the parameters adds."""
        return self.energy_with(after, positions) - self.energy_with(before, positions)

    def change(self, before: Tensor, after: Tensor, positions: Tensor) -> Tensor:
        """The ``energy_change``; the parameters afterwards are undefined."""
        return self.energy_change(before, after, positions)

    def energy_at(self, positions: Tensor, frame: int) -> Tensor:
        """The energy after a frame, in joules."""
        if self.is_constant:
            return self.energy(positions)
        return self.energy_with(self.at(frame, 0.0), positions)
