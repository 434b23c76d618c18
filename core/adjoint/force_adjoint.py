# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through what explicit steps pull against."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..compiled import is_compiled
from ..kernels.rest_products import RestProducts
from ..kernels.viscous_derivatives import ViscousDerivativesKernel
from ..potentials import Viscosity
from ..system import System
from .gradients import Gradients
from .quantities import Quantities


@dataclass(frozen=True)
class _Viscous:
    """
    Args:
        moduli, works: (M,) of each tet, and the (2, M) gradients by them, which grow.
        rest: how the work changes with the rest shape; None where that is not asked for.
    """

    part: Viscosity
    kernel: ViscousDerivativesKernel
    moduli: tuple[Tensor, Tensor]
    works: Tensor
    rest: RestProducts | None


class ForceAdjoint:
    """Of all forces but contact; elasticity in I_C and J and viscosities by their compiled loops,
    all else by autograd, such as a keyed stiffness that gradients are by.

    Args:
        system: whose forces they are.
        given: quantities.
        found: the gradients by those that require grad, which grow.
        flowing: what of rest shapes is taken by others, by the index of the elasticity.
    """

    def __init__(
        self,
        system: System,
        given: Quantities,
        found: dict[str, Tensor],
        flowing: dict[int, RestProducts],
    ) -> None:
        self._system, self._given, self._found = system, given, found
        self._gradients = gradients = Gradients(system, solved=False)
        stays = bool(system.plastic_flow) and not flowing
        self._rest = {} if stays else _products(system, given, flowing)
        #: By the index of the elasticity; without those whose rest shapes are on the tape.
        self._products = products = self._rest | flowing
        self._compiled = [
            (index, part)
            for index, part in enumerate(gradients.elasticities)
            if part.derivatives is not None
            and not given[f"factor {index}"].requires_grad
            and f"amounts {index}" not in given
            and (f"volumes {index}" not in given or index in products)
        ]
        gradients.left_out = {index for index, _ in self._compiled}
        #: (2, M) by μ and λ, of each of these.
        self._works = [
            part.part.tets.volumes.new_zeros(2, len(part.part.tets)) for _, part in self._compiled
        ]
        keyed = [f"viscous factor {index}" for index in range(len(gradients.viscosities))]
        self._viscous: list[_Viscous] = []
        reshaped = any(
            f"amounts {k}" in given or (f"volumes {k}" in given and k not in products)
            for k in range(len(gradients.elasticities))
        )
        if is_compiled() and not reshaped and not any(given[name].requires_grad for name in keyed):
            parts = _viscous_parts(gradients, given, products)
            self._viscous, gradients.viscosities = parts, []
        others = len(gradients.elasticities) - len(self._compiled)
        is_taped = others or system.forces or gradients.viscosities
        self._has_tape = bool(is_taped) or given["gravity"].requires_grad
        self._names = list(found)

    def back(
        self,
        positions: Tensor,
        velocities: Tensor,
        wanted: Tensor,
        time: tuple[int, float],
        out: tuple[Tensor, Tensor],
    ) -> None:
        """Adds the derivatives of the work that the (3, N) forces' gradient does along ``wanted``.

        Args:
            positions, velocities: (3, N) at which forces act.
            wanted: (3, N).
            time: a frame, and the fraction of the way from it to the next.
            out: (3, N) by positions and by velocities.
        """
        for part in self._system.prescribed:
            part.go_to(*time)
        for (index, taped), works in zip(self._compiled, self._works, strict=True):
            part, along = taped.part, wanted
            if not (part.is_constant and float(part.stiffness) == 1.0):
                along = wanted * part.stiffness
            assert taped.derivatives is not None
            rest = self._products.get(index)
            taped.derivatives.add_along(positions, along, out[0], works, rest)
        for own in self._viscous:
            along = wanted * own.part.parameters
            state = positions, velocities
            own.kernel.add_along(state, along, own.moduli, out, own.works, own.rest)
        if self._has_tape:
            self._tape_back(positions, velocities, wanted, time, out)
        elif "mass" in self._found:
            self._found["mass"] -= self._system.gravity.acceleration @ wanted

    def finish(self) -> None:
        """Adds what compiled loops have found by moduli and rest shapes."""
        elastic = [
            (works, "mu", "lam", i)
            for (i, _), works in zip(self._compiled, self._works, strict=True)
        ]
        viscous = [(own.works, "shear", "bulk", i) for i, own in enumerate(self._viscous)]
        for works, first, second, index in elastic + viscous:
            for name, own in zip((first, second), works, strict=True):
                if f"{name} {index}" in self._found:
                    self._found[f"{name} {index}"] += own
            works.zero_()
        for index, rest in self._rest.items():
            add_rest(rest, index, self._given, self._found)

    def _tape_back(
        self,
        positions: Tensor,
        velocities: Tensor,
        wanted: Tensor,
        time: tuple[int, float],
        out: tuple[Tensor, Tensor],
    ) -> None:
        given, own = self._given, self._gradients
        with torch.enable_grad():
            state = [part.detach().requires_grad_() for part in (positions, velocities)]
            forces = own.conservative(state[0], given, *time)
            forces = forces + own.rate(state[0], state[1], given, *time)
            inputs = [*state, *(given[name] for name in self._names)]
            parts = torch.autograd.grad(forces, inputs, wanted, allow_unused=True)
        sums = [*out, *(self._found[name] for name in self._names)]
        for whole, part in zip(sums, parts, strict=True):
            if part is not None:
                whole += part


def add_rest(rest: RestProducts, index: int, given: Quantities, found: dict[str, Tensor]) -> None:
    """Moves what is known of the i-th elasticity's rest shape to the gradients found by it."""
    gradients, volumes = f"shape gradients {index}", f"volumes {index}"
    if gradients in found:
        found[gradients] += rest.by_gradients(given[gradients])
        found[volumes] += rest.by_volumes()
    rest.clear()


def _products(
    system: System, given: Quantities, flowing: dict[int, RestProducts]
) -> dict[int, RestProducts]:
    """Of elasticities whose rest shapes gradients are by, but for those that flow."""
    parts = enumerate(system.elasticities) if is_compiled() else ()
    return {
        k: RestProducts(part.tets)
        for k, part in parts
        if f"volumes {k}" in given and k not in flowing
    }


def _viscous_parts(
    gradients: Gradients, given: Quantities, products: dict[int, RestProducts]
) -> list[_Viscous]:
    found, tets = [], [own.part.tets for own in gradients.elasticities]
    for index, taped in enumerate(gradients.viscosities):
        moduli = given[f"shear {index}"].detach(), given[f"bulk {index}"].detach()
        works = torch.stack([torch.zeros_like(own) for own in moduli])
        kernel = ViscousDerivativesKernel(taped.part.tets)
        rest = products.get(next(k for k, own in enumerate(tets) if own is taped.part.tets))
        found.append(_Viscous(taped.part, kernel, moduli, works, rest))
    return found
