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
    """The adjoint of plastic flow, which acts between the adjoints of forces.

    Args:
        system: a system with or without plastic flow.
        quantities: values by name, on autograd's tape or off it.
        grads: the gradients by those that require grad, which grow.
    """

    def __init__(self, system: System, quantities: Quantities, grads: dict[str, Tensor]) -> None:
        self._flow = system.plastic_flow
        self._tape, self._quantities, self._grads = TapePlasticity(system), quantities, grads
        plastic = self._tape.strain(None)
        #: The (10, P) gradient by the plastic strain.
        self.grad_plastic = torch.zeros_like(plastic)
        with torch.no_grad():
            shapes = self._tape.shapes(plastic, quantities)
        names = [name for name in shapes if name.startswith("shape gradients")]
        self._shapes = {name: shapes[name].requires_grad_() for name in names}
        volumes = {
            name: quantities.get(name, value) for name, value in shapes.items() if name not in names
        }
        #: Quantities of a step, and the gradients by these: with the shapes of tets then.
        self.quantities = quantities | volumes | self._shapes
        #: None: their forces are on the tape.
        self.products: dict[int, RestProducts] = {}
        self.grads = grads | {name: torch.zeros_like(value) for name, value in self._shapes.items()}

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
            flowed = self._tape.flow(at, self._plastic, seconds, self._quantities)
            grad_positions, self.grad_plastic = self._back(flowed, self.grad_plastic, at)
            self._taped = self._tape.shapes(self._plastic, self._quantities)
        with torch.no_grad():
            for name, value in self._shapes.items():
                value.copy_(self._taped[name])
                self.grads[name].zero_()
        return grad_positions

    def leave(self) -> None:
        """Propagate the gradients by the shapes of tets, from the step's forces, to the plastic
        strain."""
        for name in self._shapes:
            _, change = self._back(self._taped[name], self.grads[name], self._plastic)
            self.grad_plastic = self.grad_plastic + change

    def settle(self) -> None:
        """The gradient by the plastic strain is up to date after each step."""

    def finish(self) -> None:
        """Nothing is left to add."""

    def _back(self, out: Tensor, upstream: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients by ``at`` and by the plastic strain; adds to those found."""
        names = list(self._grads)
        inputs = [at, self._plastic, *(self._quantities[name] for name in names)]
        parts = torch.autograd.grad(out, inputs, upstream, allow_unused=True, retain_graph=True)
        for name, part in zip(names, parts[2:], strict=True):
            if part is not None:
                self._grads[name] += part
        first, second = (
            torch.zeros_like(tensor) if part is None else part
            for tensor, part in zip(inputs[:2], parts[:2], strict=True)
        )
        return first, second


def plastic_adjoint(
    system: System, quantities: Quantities, grads: dict[str, Tensor]
) -> PlasticAdjoint | CompiledPlasticAdjoint:
    """Build the adjoint with compiled kernels where tets flow by these, else on the tape."""
    flows = system.plastic_flow.parts
    if flows and all(isinstance(flow.map, FlowKernel) for flow in flows):
        return CompiledPlasticAdjoint(system, quantities, grads)
    return PlasticAdjoint(system, quantities, grads)


class CompiledPlasticAdjoint:
    """The compiled side of ``PlasticAdjoint``, with the same methods; forces that autograd
    differentiates are so by shape gradients, others report these through ``products``.

    Args:
        system: a system with plastic flow.
        quantities: values by name, on autograd's tape or off it.
        grads: the gradients by those that require grad, which grow.
    """

    def __init__(self, system: System, quantities: Quantities, grads: dict[str, Tensor]) -> None:
        self._flow, self._whole, self._grads = system.plastic_flow, quantities, grads
        self._kernels: dict[int, FlowAdjointKernel] = {}
        #: The (10, M) gradients by the plastic strains.
        self._grad_plastic: dict[int, Tensor] = {}
        self._shapes: dict[int, Tensor] = {}
        volumes: Quantities = {}
        for flow in self._flow.parts:
            index = next(k for k, e in enumerate(system.elasticities) if e.tets is flow.tets)
            gradients = np.concatenate([mesh.shape_gradients for _, mesh in flow.tets.meshes])
            rest = np.ascontiguousarray(gradients[:, 1:], dtype=flow.tets.gradients_by_tet.dtype)
            self._kernels[index] = FlowAdjointKernel(flow.tets, flow.constants, rest)
            self._grad_plastic[index] = torch.zeros_like(flow.plastic)
            if not isinstance(system.elasticities[index].kernel, ElasticityKernel):
                modelled = torch.as_tensor(rest).permute(1, 2, 0)
                self._shapes[index] = modelled.clone().requires_grad_()
                name = f"volumes {index}"
                volumes[name] = quantities.get(name, flow.tets.volumes)
        shapes = {f"shape gradients {index}": shape for index, shape in self._shapes.items()}
        #: Quantities of a step, and the gradients by these: with the shapes of tets then.
        self.quantities = quantities | volumes | shapes
        self.grads = grads | {name: torch.zeros_like(shape) for name, shape in shapes.items()}

    def __bool__(self) -> bool:
        return True

    @property
    def products(self) -> dict[int, RestProducts]:
        """Return the products of a step, by the index of the elasticity."""
        return {index: kernel.products for index, kernel in self._kernels.items()}

    @property
    def grad_plastic(self) -> Tensor:
        """The (10, P) gradient by the plastic strain, as of ``settle``."""
        return torch.cat([*self._grad_plastic.values()], dim=1)

    def enter(self, positions: Tensor, plastic: Tensor | None, seconds: float) -> Tensor:
        """From where tets have flowed at the end of a step to before that; the (3, N) gradient by
        the positions there. The tets have the plastic strain before it from here on."""
        out = torch.zeros_like(positions)
        parts = zip(self._flow.parts, self._flow.pieces(plastic), strict=True)
        for (index, kernel), (flow, piece) in zip(self._kernels.items(), parts, strict=True):
            before = flow.unstrained() if piece is None else piece.contiguous()
            kernel.back(positions, seconds, before, flow.plastic, self._grad_plastic[index], out)
            if index in self._shapes:
                gradients = torch.as_tensor(flow.tets.gradients_by_tet).permute(1, 2, 0)
                self._shapes[index].detach().copy_(gradients)
                self.grads[f"shape gradients {index}"].zero_()
        self._flow.take_note(plastic)
        return out

    def leave(self) -> None:
        """Propagate the gradients by the shapes of tets, from the step's forces, to the plastic
        strain."""
        for index, shapes in self._shapes.items():
            grad_shapes = self.grads[f"shape gradients {index}"]
            products = matmul3(grad_shapes, shapes.detach().transpose(0, 1))
            self._kernels[index].products.sums[:9] += products.reshape(9, -1).numpy()

    def settle(self) -> None:
        """Brings the gradient by the plastic strain up to date, while tets have that strain."""
        for index, kernel in self._kernels.items():
            kernel.settle(self._grad_plastic[index])

    def finish(self) -> None:
        """Add the accumulated sums to the gradients."""
        for index, kernel in self._kernels.items():
            add_rest(kernel.finish(), index, self._whole, self._grads)
            if f"flow {index}" in self._grads:
                self._grads[f"flow {index}"] += torch.as_tensor(kernel.grad_constants)
