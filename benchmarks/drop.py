# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene the solvers are compared on: a body falls half a metre on to the ground."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from supple.core import TetMesh

Positions = NDArray[np.float64]

DENSITY = 1000.0
GRAVITY = 9.81
HEIGHT = 0.5
FRAME_RATE = 24
FRAMES = 24
# No vertex of a body that stays together is farther from where the body began, in its diagonals.
REACH = 2.0
# The share by which rounding and a scheme's own error may raise the energy.
ENERGY_TOLERANCE = 0.1


class EqualMasses(TetMesh):
    """Whose vertices all weigh the same, as some engines have it."""

    def lumped_mass(self, density: float | NDArray[np.float64]) -> NDArray[np.float64]:
        masses = super().lumped_mass(density)
        return np.full_like(masses, masses.mean())


@dataclass(frozen=True, eq=False)
class Drop:
    """A body above the ground at z = 0, at rest and without strain.

    Args:
        mesh: whose vertices (N, 3), in metres, are where the body starts.
        young: Young's modulus in Pa.
        poisson: Poisson's ratio.
        friction: of the ground; engines are compared without any, Supple alone knows others here.
    """

    mesh: TetMesh
    young: float
    poisson: float
    friction: float = 0.0

    @classmethod
    def of(cls, mesh: TetMesh, young: float, poisson: float, height: float = HEIGHT) -> Self:
        """The mesh with its lowest vertex ``height`` metres above the ground."""
        lift = np.array([0.0, 0.0, height - mesh.vertices[:, 2].min()])
        return cls(mesh.with_vertices(mesh.vertices + lift), young, poisson)

    def with_equal_masses(self) -> Self:
        return replace(self, mesh=EqualMasses(self.mesh.vertices, self.mesh.tets))

    @classmethod
    def load(cls, path: Path) -> Self:
        arrays = np.load(path)
        kind = EqualMasses if arrays["equal_masses"] else TetMesh
        mesh = kind(arrays["vertices"], arrays["tets"])
        numbers = (float(arrays[name]) for name in ("young", "poisson", "friction"))
        return cls(mesh, *numbers)

    def save(self, path: Path) -> None:
        np.savez(
            path,
            vertices=self.mesh.vertices,
            tets=self.mesh.tets,
            equal_masses=isinstance(self.mesh, EqualMasses),
            young=self.young,
            poisson=self.poisson,
            friction=self.friction,
        )

    @cached_property
    def masses(self) -> Positions:
        """Return the (N,) masses in kg, a quarter of each tet's at its corners."""
        return self.mesh.lumped_mass(DENSITY)

    @property
    def shear_modulus(self) -> float:
        """μ in Pa."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def first_lame_parameter(self) -> float:
        """λ in Pa."""
        return self.young * self.poisson / ((1.0 + self.poisson) * (1.0 - 2.0 * self.poisson))

    @property
    def stable_neo_hookean(self) -> tuple[float, float]:
        """Return (μ, λ) for which Smith, de Goes and Kim's energy has the body's moduli at small
        strain.

        "Stable Neo-Hookean Flesh Simulation", 2018, section 3.4.
        """
        mu = self.shear_modulus
        return 4.0 / 3.0 * mu, self.first_lame_parameter + 5.0 / 6.0 * mu

    @property
    def contact_stiffness(self) -> float:
        """The contact stiffness of a vertex against the ground in N/m, for engines that leave it to
        the user.

        Twice what the material around a vertex resists with: half as much lets bodies sink in
        visibly, and twice as much makes contact and not the body's own waves limit explicit steps.
        """
        wave_modulus = self.first_lame_parameter + 2.0 * self.shear_modulus
        return 2.0 * wave_modulus * self.mesh.edge_length

    def goes_on_plausibly(self, before: Positions, after: Positions) -> bool:
        """Whether a frame's motion stays within the energy the body began with.

        A frame's mean velocities hold no more kinetic energy than its motion did, and its mean
        heights all but the gravitational energy, whatever the material is; with positions (N, 3)
        at the frame's start and end. A body that falls through the ground counts as lost too.
        """
        if not np.isfinite(after).all():
            return False
        start = self.mesh.vertices
        speeds = FRAME_RATE * np.linalg.norm(after - before, axis=1)
        heights = 0.5 * (before + after)[:, 2]
        energy = (self.masses * (0.5 * speeds**2 + GRAVITY * heights)).sum()
        allowed = GRAVITY * (self.masses * start[:, 2]).sum()
        reach = REACH * np.linalg.norm(np.ptp(start, axis=0))
        return bool(
            energy <= (1.0 + ENERGY_TOLERANCE) * allowed
            and np.abs(after - start.mean(axis=0)).max() <= reach
            and self.masses @ after[:, 2] > 0.0
        )
