# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through what explicit steps pull against."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..compiled import is_compiled
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
    """

    part: Viscosity
    kernel: ViscousDerivativesKernel
    moduli: tuple[Tensor, Tensor]
    works: Tensor


class ForceAdjoint:
    """Of all forces but contact; elasticity in I_C and J and viscosities by their compiled loops,
    all else by autograd, such as a keyed stiffness that gradients are by.

    Args:
        system: whose forces they are.
        given: quantities.
        found: the gradients by those that require grad, which grow.
    """

    def __init__(self, system: System, given: Quantities, found: dict[str, Tensor]) -> None:
        self._system, self._given, self._found = system, given, found
        self._gradients = gradients = Gradients(system, solved=False)
        self._compiled = [
            (index, part)
            for index, part in enumerate(gradients.elasticities)
            if part.derivatives is not None
            and not given[f"factor {index}"].requires_grad
            and not any(f"{name} {index}" in given for name in ("volumes", "amounts"))
        ]
        gradients.left_out = {index for index, _ in self._compiled}
        #: (2, M) by μ and λ, of each of these.
        self._works = [
            part.part.tets.volumes.new_zeros(2, len(part.part.tets)) for _, part in self._compiled
        ]
        keyed = [f"viscous factor {index}" for index in range(len(gradients.viscosities))]
        self._viscous: list[_Viscous] = []
        reshaped = any(name.startswith(("volumes", "amounts")) for name in given)
        if is_compiled() and not reshaped and not any(given[name].requires_grad for name in keyed):
            self._viscous, gradients.viscosities = _viscous_parts(gradients, given), []
        others = len(gradients.elasticities) - len(self._compiled)
        is_taped = others or system.forces or gradients.viscosities
        weight = given["mass"].requires_grad or given["gravity"].requires_grad
        self._has_tape = bool(is_taped) or weight
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
        for (_, taped), works in zip(self._compiled, self._works, strict=True):
            part, along = taped.part, wanted
            if not (part.is_constant and float(part.stiffness) == 1.0):
                along = wanted * part.stiffness
            assert taped.derivatives is not None
            taped.derivatives.add_along(positions, along, out[0], works)
        for own in self._viscous:
            along = wanted * own.part.parameters
            own.kernel.add_along((positions, velocities), along, own.moduli, out, own.works)
        if self._has_tape:
            self._tape_back(positions, velocities, wanted, time, out)

    def finish(self) -> None:
        """Adds what compiled loops have found by moduli."""
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


def _viscous_parts(gradients: Gradients, given: Quantities) -> list[_Viscous]:
    found = []
    for index, taped in enumerate(gradients.viscosities):
        moduli = given[f"shear {index}"].detach(), given[f"bulk {index}"].detach()
        works = torch.stack([torch.zeros_like(own) for own in moduli])
        kernel = ViscousDerivativesKernel(taped.part.tets)
        found.append(_Viscous(taped.part, kernel, moduli, works))
    return found
