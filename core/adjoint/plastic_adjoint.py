# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through plastic flow."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..kernels.elasticity import ElasticityKernel
from ..kernels.plastic_flow import FlowKernel
from ..math3.torch_matrices import matmul3
from ..system import System
from .flow_loops import FlowAdjointKernel
from .force_adjoint import add_rest
from .force_loops import RestProducts
from .quantities import Quantities
from .tape import TapePlasticity


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


def plastic_adjoint(
    system: System, given: Quantities, found: dict[str, Tensor]
) -> PlasticAdjoint | CompiledPlasticAdjoint:
    """By compiled loops where tets flow by these, else on the tape."""
    flows = system.plastic_flow.parts
    if flows and all(isinstance(flow.map, FlowKernel) for flow in flows):
        return CompiledPlasticAdjoint(system, given, found)
    return PlasticAdjoint(system, given, found)


class CompiledPlasticAdjoint:
    """The methods are those of ``PlasticAdjoint``; forces that autograd differentiates are so by
    shape gradients, others tell of these through ``products``.

    Args:
        system: whose tets flow.
        given: quantities.
        found: the gradients by those that require grad, which grow.
    """

    def __init__(self, system: System, given: Quantities, found: dict[str, Tensor]) -> None:
        self._flow, self._whole, self._found = system.plastic_flow, given, found
        self._kernels: dict[int, FlowAdjointKernel] = {}
        #: The (10, M) gradients by the plastic strains.
        self._by_plastic: dict[int, Tensor] = {}
        self._shapes: dict[int, Tensor] = {}
        volumes: Quantities = {}
        for flow in self._flow.parts:
            index = next(k for k, e in enumerate(system.elasticities) if e.tets is flow.tets)
            gradients = np.concatenate([mesh.shape_gradients for _, mesh in flow.tets.meshes])
            rest = np.ascontiguousarray(gradients[:, 1:], dtype=flow.tets.gradients_by_tet.dtype)
            self._kernels[index] = FlowAdjointKernel(flow.tets, flow.constants, rest)
            self._by_plastic[index] = torch.zeros_like(flow.plastic)
            if not isinstance(system.elasticities[index].kernel, ElasticityKernel):
                modelled = torch.as_tensor(rest).permute(1, 2, 0)
                self._shapes[index] = modelled.clone().requires_grad_()
                name = f"volumes {index}"
                volumes[name] = given.get(name, flow.tets.volumes)
        shapes = {f"shape gradients {index}": own for index, own in self._shapes.items()}
        #: Quantities of a step, and the gradients by these: with the shapes of tets then.
        self.given = given | volumes | shapes
        self.found = found | {name: torch.zeros_like(own) for name, own in shapes.items()}

    def __bool__(self) -> bool:
        return True

    @property
    def products(self) -> dict[int, RestProducts]:
        """Of a step, by the index of the elasticity."""
        return {index: own.products for index, own in self._kernels.items()}

    @property
    def by_plastic(self) -> Tensor:
        """The (10, P) gradient by the plastic strain, as of ``settle``."""
        return torch.cat([*self._by_plastic.values()], dim=1)

    def enter(self, positions: Tensor, plastic: Tensor | None, seconds: float) -> Tensor:
        """From where tets have flowed at the end of a step to before that; the (3, N) gradient by
        the positions there. The tets have the plastic strain before it from here on."""
        out = torch.zeros_like(positions)
        parts = zip(self._flow.parts, self._flow.pieces(plastic), strict=True)
        for (index, kernel), (flow, piece) in zip(self._kernels.items(), parts, strict=True):
            before = flow.unstrained() if piece is None else piece.contiguous()
            kernel.back(positions, seconds, before, flow.plastic, self._by_plastic[index], out)
            if index in self._shapes:
                gradients = torch.as_tensor(flow.tets.gradients_by_tet).permute(1, 2, 0)
                self._shapes[index].detach().copy_(gradients)
                self.found[f"shape gradients {index}"].zero_()
        self._flow.take_note(plastic)
        return out

    def leave(self) -> None:
        """Takes what the step's forces have found by the shapes of tets."""
        for index, shapes in self._shapes.items():
            by_shapes = self.found[f"shape gradients {index}"]
            products = matmul3(by_shapes, shapes.detach().transpose(0, 1))
            self._kernels[index].products.sums[:9] += products.reshape(9, -1).numpy()

    def settle(self) -> None:
        """Brings the gradient by the plastic strain up to date, while tets have that strain."""
        for index, kernel in self._kernels.items():
            kernel.settle(self._by_plastic[index])

    def finish(self) -> None:
        """Adds to the gradients found what has been summed up on the way."""
        for index, kernel in self._kernels.items():
            add_rest(kernel.finish(), index, self._whole, self._found)
            if f"flow {index}" in self._found:
                self._found[f"flow {index}"] += torch.as_tensor(kernel.by_constants)
