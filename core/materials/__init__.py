# SPDX-License-Identifier: GPL-3.0-or-later
"""Constitutive models. Each is arithmetic on the tensors it is given: none imports torch."""

from .material import Material
from .neo_hookean import NeoHookean
from .stable_neo_hookean import StableNeoHookean

__all__ = ["Material", "NeoHookean", "StableNeoHookean"]
