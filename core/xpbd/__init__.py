# SPDX-License-Identifier: GPL-3.0-or-later
"""Elasticity as compliant constraints on the tets, for position based dynamics."""

from .constraints import Constraints, GreenStrains, NeoHookeanConstraints

__all__ = ["Constraints", "GreenStrains", "NeoHookeanConstraints"]
