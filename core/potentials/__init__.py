# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that stores energy. Forces are minus the gradient."""

from .elasticity import Elasticity, LinearElasticity
from .enclosed_volume import Pressure, TargetVolume
from .gravity import Gravity
from .ground import GroundBarrier, GroundFriction
from .inertia import Inertia
from .potential import Potential, PrescribedPotential, TimeStep
from .viscosity import Viscosity

__all__ = [
    "Elasticity",
    "Gravity",
    "GroundBarrier",
    "GroundFriction",
    "Inertia",
    "LinearElasticity",
    "Potential",
    "PrescribedPotential",
    "Pressure",
    "TargetVolume",
    "TimeStep",
    "Viscosity",
]
