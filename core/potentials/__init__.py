# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that stores energy. Forces are minus the gradient."""

from .elasticity import Elasticity
from .gravity import Gravity
from .ground_barrier import GroundBarrier
from .ground_friction import GroundFriction
from .inertia import Inertia
from .linear_elasticity import LinearElasticity
from .potential import Potential, TimeStep
from .prescribed import PrescribedPotential
from .pressure import Pressure
from .target_volume import TargetVolume
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
