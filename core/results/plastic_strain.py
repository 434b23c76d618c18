# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the material has been deformed for good."""

from __future__ import annotations

from torch import Tensor

from ..state import State
from ..system import System
from .fields import Field, IsImplicit, by_tets


def plastic_strain(system: System, _: IsImplicit) -> Field:
    """The equivalent plastic strain α of each tet: α̇ = √(2/3 D_p : D_p), D_p the rate at which it
    flows, added up from the start; zero of bodies without plasticity.

    A bar that is pulled or pressed once has the logarithmic strain that it keeps. What is kneaded
    to and fro goes on growing.

    Source: Simo and Hughes, "Computational Inelasticity", section 2.3.
    """
    flow = system.plastic_flow

    def field(state: State) -> list[Tensor]:
        return by_tets(system, lambda part: flow.strains_of(part, state.plastic))

    return field
