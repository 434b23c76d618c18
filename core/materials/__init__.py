# SPDX-License-Identifier: GPL-3.0-or-later
"""Constitutive models. Each is arithmetic on the tensors it is given: none imports torch."""

from .corotated_linear import AsRigidAsPossible, CorotatedLinear
from .invariant_material import InvariantMaterial
from .linear import Linear
from .material import Material
from .neo_hookean import NeoHookean
from .st_venant_kirchhoff import StVenantKirchhoff
from .stable_neo_hookean import StableNeoHookean
from .stretch_material import StretchMaterial

#: Every model, by the name that a setting calls it.
MODELS: dict[str, type[Material]] = {
    "stable_neo_hookean": StableNeoHookean,
    "neo_hookean": NeoHookean,
    "corotated_linear": CorotatedLinear,
    "st_venant_kirchhoff": StVenantKirchhoff,
    "as_rigid_as_possible": AsRigidAsPossible,
    "linear": Linear,
}

__all__ = [
    "MODELS",
    "AsRigidAsPossible",
    "CorotatedLinear",
    "InvariantMaterial",
    "Linear",
    "Material",
    "NeoHookean",
    "StVenantKirchhoff",
    "StableNeoHookean",
    "StretchMaterial",
]
