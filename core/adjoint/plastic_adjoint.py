# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through the plastic flow at the ends of explicit steps."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels.rest_products import RestProducts
from ..system import System
from .quantities import Quantities
from .tape_plasticity import TapePlasticity


class PlasticAdjoint:
    """Between the steps that forces are taken back through.

    Args:
        system: whose tets flow, if any do.
        given: quantities.
        found: the gradients by those that require grad, which grow.
    """

    def __init__(self, system: System, given: Quantities, found: dict[str, Tensor]) -> None:
        self._flow = system.plastic_flow
        self._tape, self._given, self._found = TapePlasticity(system), given, found
        plastic = self._tape.strain(None)
        #: The (10, P) gradient by the plastic strain.
        self.by_plastic = torch.zeros_like(plastic)
        with torch.no_grad():
            shapes = self._tape.shapes(plastic, given)
        names = [name for name in shapes if name.startswith("shape gradients")]
        self._shapes = {name: shapes[name].requires_grad_() for name in names}
        volumes = {name: given.get(name, own) for name, own in shapes.items() if name not in names}
        #: Quantities of a step, and the gradients by these: with the shapes of tets then.
        self.given = given | volumes | self._shapes
        #: None: their forces are on the tape.
        self.products: dict[int, RestProducts] = {}
        self.found = found | {name: torch.zeros_like(own) for name, own in self._shapes.items()}

    def __bool__(self) -> bool:
        return bool(self._flow)

    def enter(self, positions: Tensor, plastic: Tensor | None, seconds: float) -> Tensor:
        """From where tets have flowed at the end of a step to before that; the (3, N) gradient by
        the positions there.

        Args:
            positions: (3, N) at the end of the step.
            plastic: (10, P) before it; kept for ``leave``.
            seconds: of the step.
        """
        with torch.enable_grad():
            at = positions.detach().requires_grad_()
            self._plastic = self._tape.strain(plastic).detach().requires_grad_()
            flowed = self._tape.flow(at, self._plastic, seconds, self._given)
            by_positions, self.by_plastic = self._back(flowed, self.by_plastic, at)
            self._taped = self._tape.shapes(self._plastic, self._given)
        with torch.no_grad():
            for name, own in self._shapes.items():
                own.copy_(self._taped[name])
                self.found[name].zero_()
        return by_positions

    def leave(self) -> None:
        """Takes what the step's forces have found by the shapes of tets."""
        for name in self._shapes:
            _, own = self._back(self._taped[name], self.found[name], self._plastic)
            self.by_plastic = self.by_plastic + own

    def settle(self) -> None:
        """The gradient by the plastic strain is up to date after each step."""

    def finish(self) -> None:
        """Nothing is left to add."""

    def _back(self, out: Tensor, wanted: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients by ``at`` and by the plastic strain; adds to those found."""
        names = list(self._found)
        inputs = [at, self._plastic, *(self._given[name] for name in names)]
        parts = torch.autograd.grad(out, inputs, wanted, allow_unused=True, retain_graph=True)
        for name, part in zip(names, parts[2:], strict=True):
            if part is not None:
                self._found[name] += part
        first, second = (
            torch.zeros_like(own) if part is None else part
            for own, part in zip(inputs[:2], parts[:2], strict=True)
        )
        return first, second
