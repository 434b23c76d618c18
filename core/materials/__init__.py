# SPDX-License-Identifier: GPL-3.0-or-later
"""Constitutive models. Each is arithmetic on the tensors it is given: none imports torch."""

from .corotated_linear import AsRigidAsPossible, CorotatedLinear
from .invariant_material import InvariantMaterial
from .linear import Linear
from .material import Material
from .model_table import MODEL_TABLE
from .neo_hookean import NeoHookean
from .st_venant_kirchhoff import StVenantKirchhoff
from .stable_neo_hookean import StableNeoHookean
from .stretch_material import StretchMaterial

#: Every model, by the name that a setting calls it.
MODELS: dict[str, type[Material]] = {name: row.kind for name, row in MODEL_TABLE.items()}

__all__ = [
    "MODELS",
    "MODEL_TABLE",
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
