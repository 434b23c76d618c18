# SPDX-License-Identifier: GPL-3.0-or-later
"""Constitutive models. Each is arithmetic on the tensors it is given: none imports torch."""

from .corotated_linear import AsRigidAsPossible, CorotatedLinear
from .linear import Linear
from .material import InvariantMaterial, Material, StretchMaterial
from .model_table import MODEL_TABLE
from .neo_hookean import NeoHookean
from .st_venant_kirchhoff import StVenantKirchhoff
from .stable_neo_hookean import StableNeoHookean

#: Every model, by the name that a setting calls it.
MODELS: dict[str, type[Material]] = {name: row.kind for name, row in MODEL_TABLE.items()}


def label_of(material: Material) -> str:
    """Return the name that users see for the model of a material; the name of a class that is in
    no menu.
    """
    kind = type(material)
    labels = (row.label for row in MODEL_TABLE.values() if row.kind is kind)
    return next(labels, kind.__name__)


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
    "label_of",
]
