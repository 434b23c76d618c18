# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of stepping a system through time."""

from .integrator import Integrator
from .symplectic_euler import SymplecticEuler

__all__ = ["Integrator", "SymplecticEuler"]
