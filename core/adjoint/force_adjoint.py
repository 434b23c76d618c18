# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of the forces in explicit steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..assembly.tets import Tets
from ..kernels.elasticity import Constants
from ..potentials import Elasticity, Viscosity
from ..system import System
from .force_loops import ElasticDerivativesKernel, RestProducts, ViscousDerivativesKernel
from .gradients import Gradients
from .quantities import Quantities


@dataclass(frozen=True)
class _Elastic:
    """The adjoint of elastic forces by a compiled kernel.

    Args:
        names: of quantities of (M,) numbers.
        works: of each of them the gradient, which grows.
        rest: the derivative of the work by the rest shape; None without a request for it.
    """

    names: tuple[str, ...]
    part: Elasticity
    kernel: ElasticDerivativesKernel
    works: Tensor
    rest: RestProducts | None

    def back(
        self, state: tuple[Tensor, Tensor], upstream: Tensor, out: tuple[Tensor, Tensor]
    ) -> None:
        """See ``ForceAdjoint.back``."""
        along = upstream
        if not (self.part.is_constant and float(self.part.stiffness) == 1.0):
            along = upstream * self.part.stiffness
        self.kernel.add_along(state[0], along, out[0], self.works, self.rest)


@dataclass(frozen=True)
class _Viscous:
    """A viscosity, and the elasticity of the same tets where a loop takes both.

    Args:
        names, works, rest: as above.
        moduli: (M,) of each tet.
    """

    names: tuple[str, ...]
    part: Viscosity
    elasticity: Elasticity | None
    kernel: ViscousDerivativesKernel
    moduli: tuple[Tensor, Tensor]
    works: Tensor
    rest: RestProducts | None

    def back(
        self, state: tuple[Tensor, Tensor], upstream: Tensor, out: tuple[Tensor, Tensor]
    ) -> None:
        """See ``ForceAdjoint.back``."""
        elastic = 0.0 if self.elasticity is None else float(self.elasticity.stiffness)
        factors = elastic, float(self.part.parameters)
        self.kernel.add_along(state, upstream, self.moduli, factors, out, self.works, self.rest)


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
        stays = bool(system.plastic_flow) and not flowing
        self._rest = {} if stays else _products(system, quantities, flowing)
        # Products by the index of the elasticity; without those whose rest shapes are on the tape.
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
        self._loops: list[_Elastic | _Viscous] = []
        if not reshaped and not any(quantities[name].requires_grad for name in keyed):
            self._loops, paired = _viscous_loops(gradients, quantities, compiled, products)
            gradients.viscosities = []
            compiled = [index for index in compiled if index not in paired]
        self._loops += [_elastic_loop(gradients, index, products.get(index)) for index in compiled]
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
    flow.
    """
    return {
        k: RestProducts(part.tets)
        for k, part in enumerate(system.elasticities)
        if f"volumes {k}" in quantities and k not in flowing
    }


def _elastic_loop(gradients: Gradients, index: int, rest: RestProducts | None) -> _Elastic:
    taped = gradients.elasticities[index]
    part, kernel, names = taped.part, taped.derivatives, (f"mu {index}", f"lam {index}")
    assert kernel is not None
    return _Elastic(names, part, kernel, _zeros(len(names), part.tets), rest)


def _viscous_loops(
    gradients: Gradients,
    quantities: Quantities,
    compiled: list[int],
    products: dict[int, RestProducts],
) -> tuple[list[_Elastic | _Viscous], set[int]]:
    """Return the kernels of all viscosities, and the elasticities that they include."""
    loops, paired = list[_Elastic | _Viscous](), set[int]()
    parts = [each.part for each in gradients.elasticities]
    for number, viscosity in enumerate(gradients.viscosities):
        part = viscosity.part
        index = next(k for k, each in enumerate(parts) if each.tets is part.tets)
        elasticity, constants = None, None
        if index in compiled and index not in paired:
            paired.add(index)
            elasticity = parts[index]
            constants = Constants(elasticity.material, part.tets.volumes)
        names = f"mu {index}", f"lam {index}", f"shear {number}", f"bulk {number}"
        moduli = quantities[names[2]].detach(), quantities[names[3]].detach()
        kernel = ViscousDerivativesKernel(part.tets, constants)
        works = _zeros(len(names), part.tets)
        loops.append(_Viscous(names, part, elasticity, kernel, moduli, works, products.get(index)))
    return loops, paired


def _zeros(rows: int, tets: Tets) -> Tensor:
    return tets.volumes.new_zeros(rows, len(tets))
