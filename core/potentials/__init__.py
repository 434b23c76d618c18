# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that stores energy. Forces are minus the gradient."""

from .body_forces import Gravity, Inertia
from .elasticity import Elasticity, LinearElasticity
from .enclosed_volume import Pressure, TargetVolume
from .ground import GroundBarrier, GroundFriction
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
