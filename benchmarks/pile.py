# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten jelly monkeys above a bowl that they fall into and pile up in; 24 frames a second."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from supple.core import Collider, Contact, Scene, SoftBody, TetMesh
from supple.core.materials import StableNeoHookean
from supple.verification.collider_meshes import bowl

Positions = NDArray[np.float64]

MONKEYS, SIZE, LAYER = 10, 0.3, 0.62
YOUNG, POISSON, DENSITY, DAMPING, FRICTION = 1e5, 0.45, 1000.0, 0.5, 0.3
FRAME_RATE, FRAMES, GRAVITY = 24, 36, 9.81


@dataclass(frozen=True, eq=False)
class Pile:
    """A pile of bodies that fall.

    Args:
        starts: (B, N, 3) where the bodies begin, in metres, at rest and without strain.
        tets: (M, 4) of each body.
    """

    starts: Positions
    tets: NDArray[np.int32]

    @classmethod
    def of(cls, mesh: TetMesh, size: float = SIZE) -> Self:
        """A pile of a monkey two metres tall, scaled by ``size`` and turned in ten ways."""
        return cls(np.array([body.vertices for body in placed(mesh, size)]), mesh.tets)

    @classmethod
    def load(cls, path: Path) -> Self:
        arrays = np.load(path)
        return cls(arrays["starts"], arrays["tets"])

    def save(self, path: Path) -> None:
        np.savez(path, starts=self.starts, tets=self.tets)

    @cached_property
    def meshes(self) -> list[TetMesh]:
        return [TetMesh(vertices, self.tets) for vertices in self.starts]

    @cached_property
    def bowl(self) -> Collider:
        return bowl(1.2, 0.9, 14, 48)

    @property
    def scene(self) -> Scene:
        return scene(self.meshes)

    @property
    def lame_parameters(self) -> tuple[float, float]:
        """Return Lamé's parameters (μ, λ) in Pa."""
        mu = YOUNG / (2.0 * (1.0 + POISSON))
        return mu, 2.0 * mu * POISSON / (1.0 - 2.0 * POISSON)

    @property
    def stable_neo_hookean(self) -> tuple[float, float]:
        """Return (μ, λ) for which Smith, de Goes and Kim's energy has the bodies' moduli at small
        strain.

        "Stable Neo-Hookean Flesh Simulation", 2018, section 3.4.
        """
        mu, first_lame_parameter = self.lame_parameters
        return 4.0 / 3.0 * mu, first_lame_parameter + 5.0 / 6.0 * mu

    @property
    def contact_stiffness(self) -> float:
        """In N/m: twice what the material around a vertex resists with, as on a drop's ground."""
        mu, first_lame_parameter = self.lame_parameters
        return 2.0 * (first_lame_parameter + 2.0 * mu) * self.meshes[0].edge_length


def scene(meshes: list[TetMesh]) -> Scene:
    """The scene of the meshes at their start positions."""
    bodies = [
        SoftBody(mesh, StableNeoHookean(YOUNG, POISSON), damping=DAMPING, name=f"Monkey {index}")
        for index, mesh in enumerate(meshes)
    ]
    return Scene(bodies, colliders=[bowl(1.2, 0.9, 14, 48)], contact=Contact(friction=FRICTION))


def placed(mesh: TetMesh, size: float = SIZE) -> list[TetMesh]:
    """A monkey two metres tall, made ``size`` times as large, at each of its ten places."""
    bodies = []
    for index in range(MONKEYS):
        layer, place = divmod(index, 3)
        around = 2.0 * np.pi * place / 3.0 + layer
        centre = (0.38 * np.cos(around), 0.38 * np.sin(around), 0.62 + LAYER * layer)
        turn = Rotation.random(random_state=index).as_matrix()
        bodies.append(mesh.with_vertices(size * mesh.vertices @ turn.T + np.array(centre)))
    return bodies
