# SPDX-License-Identifier: GPL-3.0-or-later
"""Elasticity as compliant constraints on the tets, for position based dynamics."""

from .constraints import Constraints
from .green_strains import GreenStrains
from .neo_hookean import NeoHookeanConstraints

__all__ = ["Constraints", "GreenStrains", "NeoHookeanConstraints"]
