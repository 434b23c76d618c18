# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of material models for menus, scene files and the verification, one row each."""

from __future__ import annotations

from dataclasses import dataclass

from .corotated_linear import AsRigidAsPossible, CorotatedLinear
from .linear import Linear
from .material import Material
from .neo_hookean import NeoHookean
from .st_venant_kirchhoff import StVenantKirchhoff
from .stable_neo_hookean import StableNeoHookean


@dataclass(frozen=True)
class ModelRow:
    """One model.

    Args:
        kind: its class.
        label: the name in the interface.
        description: of a tooltip.
    """

    kind: type[Material]
    label: str
    description: str


#: Rows by identifier, in the order of the menu.
MODEL_TABLE = {
    "stable_neo_hookean": ModelRow(
        StableNeoHookean,
        "Stable Neo-Hookean",
        "Flesh, jelly and rubber: keeps its volume and recovers from being turned inside out",
    ),
    "neo_hookean": ModelRow(
        NeoHookean,
        "Neo-Hookean",
        "Textbook rubber: resists crushing without limit and cannot turn inside out",
    ),
    "corotated_linear": ModelRow(
        CorotatedLinear,
        "Corotated Linear",
        "Simple, as in game engines. For moderate stretches",
    ),
    "st_venant_kirchhoff": ModelRow(
        StVenantKirchhoff,
        "St. Venant–Kirchhoff",
        "For large rotations with small stretches. Collapses when it is pressed hard",
    ),
    "as_rigid_as_possible": ModelRow(
        AsRigidAsPossible,
        "As Rigid As Possible",
        "Cartoon stretch: holds its shape, but not its volume",
    ),
    "linear": ModelRow(
        Linear,
        "Linear",
        "For small deformations only: a body that turns swells. For teaching",
    ),
}
