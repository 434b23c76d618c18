# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of the forces and of the plastic flow in explicit steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..kernels.elasticity import Constants, ElasticityKernel
from ..math3.torch_matrices import matmul3
from ..potentials import Elasticity, Viscosity
from ..system import System
from .flow_loops import FlowAdjointKernel
from .force_loops import DerivativesKernel, RestProducts
from .quantities import Quantities
from .tape import Gradients, TapeViscosity


@dataclass(frozen=True)
class _Loop:
    """The adjoint of an elasticity, a viscosity, or both of the same tets, by a compiled kernel.

    Args:
        names: of quantities of (M,) numbers.
        works: of each of them the gradient, which grows.
        rest: the derivative of the work by the rest shape; None without a request for it.
    """

    names: tuple[str, ...]
    elasticity: Elasticity | None
    viscosity: Viscosity | None
    kernel: DerivativesKernel
    works: Tensor
    rest: RestProducts | None

    def back(
        self, state: tuple[Tensor, Tensor], upstream: Tensor, out: tuple[Tensor, Tensor]
    ) -> None:
        """See ``ForceAdjoint.back``."""
        factors = (
            0.0 if self.elasticity is None else float(self.elasticity.stiffness),
            0.0 if self.viscosity is None else float(self.viscosity.parameters),
        )
        self.kernel.add_along(state, upstream, factors, out, self.works, self.rest)


class ForceAdjoint:
    """The adjoint of all forces but contact. Elasticity in I_C and J and viscosities use compiled
    kernels; autograd does the rest, such as a keyed stiffness with a gradient.

    Args:
        system: the system of the forces.
        quantities: values by name, on autograd's tape or off it.
        grads: the gradients by those that require grad, which grow.
        flowing: products by rest shapes that plastic flow takes, by the index of the elasticity.
    """

    def __init__(
        self,
        system: System,
        quantities: Quantities,
        grads: dict[str, Tensor],
        flowing: dict[int, RestProducts],
    ) -> None:
        self._system, self._quantities, self._grads = system, quantities, grads
        self._gradients = gradients = Gradients(system, solved=False)
        self._rest = _products(system, quantities, flowing)
        # By the index of the elasticity.
        products = self._rest | flowing
        compiled = [
            index
            for index, taped in enumerate(gradients.elasticities)
            if taped.derivatives is not None
            and not quantities[f"factor {index}"].requires_grad
            and f"amounts {index}" not in quantities
            and (f"volumes {index}" not in quantities or index in products)
        ]
        gradients.left_out = set(compiled)
        keyed = [f"viscous factor {index}" for index in range(len(gradients.viscosities))]
        count = len(gradients.elasticities)
        reshaped = any(
            f"amounts {k}" in quantities or (f"volumes {k}" in quantities and k not in products)
            for k in range(count)
        )
        viscosities = gradients.viscosities
        if reshaped or any(quantities[name].requires_grad for name in keyed):
            viscosities = []
        else:
            gradients.viscosities = []
        self._loops = _loops(gradients, viscosities, quantities, compiled, products)
        others = count - len(gradients.left_out)
        is_carried = gradients.carried_damping(quantities) is not None
        is_taped = others or system.forces or gradients.viscosities or is_carried
        self._has_tape = bool(is_taped) or quantities["gravity"].requires_grad
        self._names = list(grads)

    def back(
        self,
        positions: Tensor,
        velocities: Tensor,
        upstream: Tensor,
        time: tuple[int, float],
        out: tuple[Tensor, Tensor],
    ) -> None:
        """Add the derivatives of the work of the (3, N) forces' gradient along ``upstream``.

        Args:
            positions, velocities: (3, N) at which forces act.
            upstream: (3, N).
            time: a frame, and the fraction of the way from it to the next.
            out: (3, N) by positions and by velocities.
        """
        for part in self._system.prescribed:
            part.go_to(*time)
        for loop in self._loops:
            loop.back((positions, velocities), upstream, out)
        if self._has_tape:
            self._tape_back(positions, velocities, upstream, time, out)
        elif "mass" in self._grads:
            self._grads["mass"] -= self._system.gravity.acceleration @ upstream

    def finish(self) -> None:
        """Add the gradients by moduli and rest shapes from compiled loops."""
        for loop in self._loops:
            for name, work in zip(loop.names, loop.works, strict=True):
                if name in self._grads:
                    self._grads[name] += work
            loop.works.zero_()
        for index, rest in self._rest.items():
            add_rest(rest, index, self._quantities, self._grads)

    def _tape_back(
        self,
        positions: Tensor,
        velocities: Tensor,
        upstream: Tensor,
        time: tuple[int, float],
        out: tuple[Tensor, Tensor],
    ) -> None:
        quantities, gradients = self._quantities, self._gradients
        with torch.enable_grad():
            state = [part.detach().requires_grad_() for part in (positions, velocities)]
            forces = gradients.conservative(state[0], quantities, *time)
            forces = forces + gradients.rate(state[0], state[1], quantities, *time)
            inputs = [*state, *(quantities[name] for name in self._names)]
            parts = torch.autograd.grad(forces, inputs, upstream, allow_unused=True)
        sums = [*out, *(self._grads[name] for name in self._names)]
        for whole, part in zip(sums, parts, strict=True):
            if part is not None:
                whole += part


def add_rest(
    rest: RestProducts, index: int, quantities: Quantities, grads: dict[str, Tensor]
) -> None:
    """Move the sums for the i-th elasticity's rest shape to the gradients."""
    gradients, volumes = f"shape gradients {index}", f"volumes {index}"
    if gradients in grads:
        grads[gradients] += rest.grad_shape_gradients(quantities[gradients])
        grads[volumes] += rest.grad_volumes()
    rest.clear()


def _products(
    system: System, quantities: Quantities, flowing: dict[int, RestProducts]
) -> dict[int, RestProducts]:
    """Return the products of elasticities whose rest shapes have gradients, except those that
    flow."""
    return {
        k: RestProducts(part.tets)
        for k, part in enumerate(system.elasticities)
        if f"volumes {k}" in quantities and k not in flowing
    }


def _loops(
    gradients: Gradients,
    viscosities: list[TapeViscosity],
    quantities: Quantities,
    compiled: list[int],
    products: dict[int, RestProducts],
) -> list[_Loop]:
    """Return the kernels of some viscosities, and of the elasticities of these indices: together
    where they are of the same tets."""
    loops, parts = list[_Loop](), [each.part for each in gradients.elasticities]
    left = list(compiled)

    def add(index: int, number: int | None) -> None:
        part, names, moduli = parts[index], [f"mu {index}", f"lam {index}"], None
        if number is not None:
            names += [f"shear {number}", f"bulk {number}"]
            moduli = quantities[names[2]].detach(), quantities[names[3]].detach()
        elasticity, constants = None, None
        if index in left:
            left.remove(index)
            elasticity, constants = part, Constants(part.material, part.tets.volumes)
        viscosity = None if number is None else viscosities[number].part
        kernel = DerivativesKernel(part.tets, constants, moduli)
        works = part.tets.volumes.new_zeros(len(names), len(part.tets))
        rest = products.get(index)
        loops.append(_Loop(tuple(names), elasticity, viscosity, kernel, works, rest))

    for number, viscosity in enumerate(viscosities):
        tets = viscosity.part.tets
        add(next(k for k, each in enumerate(parts) if each.tets is tets), number)
    for index in tuple(left):
        add(index, None)
    return loops


class PlasticAdjoint:
    """The adjoint of plastic flow, which acts between the adjoints of forces. Forces that autograd
    differentiates are so by shape gradients, others report these through ``products``.

    Args:
        system: a system with or without plastic flow.
        quantities: values by name, on autograd's tape or off it.
        grads: the gradients by those that require grad, which grow.
    """

    def __init__(self, system: System, quantities: Quantities, grads: dict[str, Tensor]) -> None:
        self._flow, self._whole, self._grads = system.plastic_flow, quantities, grads
        self._kernels: dict[int, FlowAdjointKernel] = {}
        #: By the index of the elasticity the (10, M) gradient by its plastic strains, up to date
        #: after ``settle``.
        self.grad_plastic: dict[int, Tensor] = {}
        self._shapes: dict[int, Tensor] = {}
        volumes: Quantities = {}
        for flow in self._flow.parts:
            index = next(k for k, e in enumerate(system.elasticities) if e.tets is flow.tets)
            gradients = np.concatenate([mesh.shape_gradients for _, mesh in flow.tets.meshes])
            rest = np.ascontiguousarray(gradients[:, 1:], dtype=flow.tets.gradients_by_tet.dtype)
            self._kernels[index] = FlowAdjointKernel(flow.tets, flow.constants, rest)
            self.grad_plastic[index] = torch.zeros_like(flow.plastic)
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
        return bool(self._flow)

    @property
    def products(self) -> dict[int, RestProducts]:
        """Return the products of a step, by the index of the elasticity."""
        return {index: kernel.products for index, kernel in self._kernels.items()}

    def enter(self, positions: Tensor, plastic: Tensor | None, seconds: float) -> Tensor:
        """From where tets have flowed at the end of a step to before that; the (3, N) gradient by
        the positions there. The tets have the plastic strain before it from here on."""
        out = torch.zeros_like(positions)
        parts = zip(self._flow.parts, self._flow.pieces(plastic), strict=True)
        for (index, kernel), (flow, piece) in zip(self._kernels.items(), parts, strict=True):
            before = flow.unstrained() if piece is None else piece.contiguous()
            kernel.back(positions, seconds, before, flow.plastic, self.grad_plastic[index], out)
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
            kernel.settle(self.grad_plastic[index])

    def finish(self) -> None:
        """Add the accumulated sums to the gradients."""
        for index, kernel in self._kernels.items():
            add_rest(kernel.finish(), index, self._whole, self._grads)
            if f"flow {index}" in self._grads:
                self._grads[f"flow {index}"] += torch.as_tensor(kernel.grad_constants)
