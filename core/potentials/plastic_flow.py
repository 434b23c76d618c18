# SPDX-License-Identifier: GPL-3.0-or-later
"""Plastic flow: the rest shapes of tets that are stressed beyond their yield stress give way.

F = F_e F_p with det F_p = 1, and only F_e is elastic: a tet that has flowed is a tet of the same
volume whose shape gradients are ∇N F_p⁻¹. With the principal stretches λ_i of F_e, the logarithmic
strains e_i = ln λ_i − ⅓ ln J and the stress q = 2μ √(3/2 Σ e_i²), the equivalent plastic strain α
grows where q > Y + H α by

    Δα = (q − Y − H α) (1 − e^(−h/τ)) / (3μ + H)

in h seconds, τ the creep time, and F_p⁻¹ ← F_p⁻¹ V diag(e^(−3μ Δα e_i / q)) Vᵀ in the principal
axes V of F_eᵀ F_e. While the shape is held, what q is too large by so falls by e^(−h/τ), whatever
the steps are. Where √⅔ |ln U_p| of F_p = R_p U_p, the strain of a bar, would pass the limit, ln U_p
is scaled back to that.

For elastic strains that are small q is the von Mises stress of every model, whatever has flowed.

Sources: Simo and Hughes, "Computational Inelasticity", sections 1.7 (viscoplasticity by Perzyna,
and by Duvaut and Lions) and 9.3 (return maps in logarithmic strains); Irving, Teran and Fedkiw,
"Invertible Finite Elements for Robust Simulation of Large Deformation", Symposium on Computer
Animation 2004, on rest shapes that flow and their limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from ..geometry.tet_mesh import TetMesh
from ..scene.soft_body import PerTet, SoftBody
from .elasticity import Elasticity
from .tet_flow import TetFlow
from .yielding_elasticity import YieldingElasticity

# Of a body that does not flow: see ``TetFlow``.
_ELASTIC = (math.inf, 0.0, 0.0, math.inf)


class PlasticFlow:
    """The plastic strains of a system's tets, as its elasticities see them.

    A plastic strain is a (10, P) tensor of the tets of all elasticities that have a body with
    plasticity, one after the other; None is none anywhere. The tets have one at a time, since loops
    and recorded graphs read their rest shapes in place: who evaluates energies at a state sets
    ``plastic`` to that of the state first.

    Args:
        elasticities: of the system.
        members: for each of them, its bodies and their meshes.
        changed: is called when tets have other rest shapes.
    """

    def __init__(
        self,
        elasticities: Sequence[Elasticity],
        members: Sequence[Sequence[tuple[SoftBody, TetMesh]]],
        changed: Callable[[], None],
    ) -> None:
        self._changed = changed
        #: Of each elasticity whose tets flow, in the order of plastic strains.
        self.parts: list[TetFlow] = []
        for part, pairs in zip(elasticities, members, strict=True):
            if all(body.plasticity is None for body, _ in pairs):
                continue
            self.parts.append(TetFlow(part, _constants(part, pairs)))
        self._squared_speeds = [
            (part, _squared_speeds(part, pairs))
            for part, pairs in zip(elasticities, members, strict=True)
            if self
        ]
        self._fastest_before = self._fastest() if self else 1.0
        # What the parts hold, while ``_is_known``.
        self._plastic: Tensor | None = None
        self._is_known = True

    def __bool__(self) -> bool:
        """Whether any body has plasticity."""
        return len(self.parts) > 0

    @property
    def count(self) -> int:
        """P, of the tets that plastic strains are of."""
        return sum(len(part.tets) for part in self.parts)

    def take_note(self, plastic: Tensor | None) -> None:
        """Takes note that the tets have got the rest shapes of a plastic strain."""
        self._plastic, self._is_known = plastic, True
        self._changed()

    def pieces(self, plastic: Tensor | None) -> Sequence[Tensor | None]:
        """What each elasticity has of a plastic strain."""
        counts = [len(part.tets) for part in self.parts]
        return [None] * len(counts) if plastic is None else torch.split(plastic, counts, dim=1)

    def flow(self, positions: Tensor, seconds: float) -> None:
        """Lets the tets flow for some seconds at (3, N) positions."""
        flowed = [part.flow(positions, seconds) for part in self.parts]
        if any(flowed):
            self._is_known = False
            self._changed()

    @property
    def plastic(self) -> Tensor | None:
        """The plastic strain that the tets have now; a tensor that nobody writes to."""
        if not self._is_known:
            self._plastic = torch.cat([part.plastic for part in self.parts], dim=1)
            self._is_known = True
        return self._plastic

    @plastic.setter
    def plastic(self, plastic: Tensor | None) -> None:
        if self._is_known and plastic is self._plastic:
            return
        for part, own in zip(self.parts, self.pieces(plastic), strict=True):
            part.set_plastic(own)
        self.take_note(plastic)

    def in_steps(self, elastic: Elasticity) -> Elasticity:
        """What implicit steps take for an elasticity: what its tets flow by counts in it."""
        flow = next((part for part in self.parts if part.tets is elastic.tets), None)
        return elastic if flow is None else YieldingElasticity(elastic, flow)

    @property
    def total_strain(self) -> float:
        """Σ α over all tets."""
        return sum(float(part.plastic[9].sum()) for part in self.parts)

    def strains_of(self, elasticity: Elasticity, plastic: Tensor | None) -> Tensor:
        """(M,) α of the tets of one of the elasticities; zeros where they cannot flow."""
        start = 0
        for part in self.parts:
            end = start + len(part.tets)
            if part.tets is elasticity.tets and plastic is not None:
                return plastic[9, start:end]
            start = end
        return elasticity.tets.template.new_zeros(len(elasticity.tets))

    @property
    def frequency_ratio(self) -> float:
        """By how much the fastest vibration of a tet is faster than it was before all flow."""
        return math.sqrt(self._fastest() / self._fastest_before) if self else 1.0

    def _fastest(self) -> float:
        """The largest of (λ + 2μ)/ρ times the squared shape gradients of a tet, in 1/s²."""
        return max(
            float((squares * part.tets.shape_gradients.square().sum((0, 1))).max())
            for part, squares in self._squared_speeds
        )


def _squared_speeds(part: Elasticity, pairs: Sequence[tuple[SoftBody, TetMesh]]) -> Tensor:
    """(M,) of the fastest waves, in m²/s²."""
    density = np.concatenate([np.full(len(mesh.tets), body.density) for body, mesh in pairs])
    modulus = part.material.lam + 2.0 * part.material.mu
    return torch.as_tensor(modulus / torch.as_tensor(density).to(part.tets.volumes))


def _constants(part: Elasticity, pairs: Sequence[tuple[SoftBody, TetMesh]]) -> Tensor:
    """(5, M), as ``TetFlow`` takes them: a tet that is partly filled yields at the same strain."""
    rows = []
    for body, mesh in pairs:
        own, fill = body.plasticity, np.ones(len(mesh.tets)) if mesh.fill is None else mesh.fill
        numbers: tuple[PerTet, ...] = _ELASTIC
        if own is not None:
            numbers = own.yield_stress, own.hardening, own.creep_time, own.limit
        rows.append(np.stack([np.broadcast_to(number, len(fill)) for number in numbers]))
        rows[-1][:2] *= fill
    mu = torch.as_tensor(part.material.mu, dtype=torch.float64)
    mu = mu.to(part.tets.volumes).expand(len(part.tets))
    others = torch.as_tensor(np.concatenate(rows, axis=1)).to(mu)
    return torch.cat([mu[None], others]).contiguous()
