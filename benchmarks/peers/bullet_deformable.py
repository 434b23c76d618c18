# SPDX-License-Identifier: GPL-3.0-or-later
"""Bullet's deformable world through PyBullet: explicit elasticity, contact by impulses.

PyBullet gives all vertices of a body the same mass, whatever the tets around them, and holds
deformable bodies a tenth of a metre above its plane; so the ground is the top of a box.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pybullet

from supple.core import TetMesh

from ..drop import FRAME_RATE, GRAVITY, Drop, Positions

MARGIN = 1e-3
GROUND_HALF_EXTENTS = [20.0, 20.0, 1.0]


class BulletDeformable:
    def __init__(self, drop: Drop) -> None:
        self.work: dict[str, int] = {}
        self._drop = drop
        pybullet.connect(pybullet.DIRECT)

    def start(self, steps: int) -> None:
        self._steps = steps
        pybullet.resetSimulation(pybullet.RESET_USE_DEFORMABLE_WORLD)
        pybullet.setGravity(0.0, 0.0, -GRAVITY)
        pybullet.setTimeStep(1.0 / (FRAME_RATE * steps))
        box = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=GROUND_HALF_EXTENTS)
        ground = pybullet.createMultiBody(0.0, box, basePosition=[0.0, 0.0, -1.0])
        pybullet.changeDynamics(ground, -1, lateralFriction=0.0, restitution=0.0)
        drop = self._drop
        self._body = load(
            drop.mesh,
            float(drop.masses.sum()),
            drop.stable_neo_hookean,
            useSelfCollision=0,
            frictionCoeff=0.0,
        )

    def frame(self) -> Positions:
        for _ in range(self._steps):
            pybullet.stepSimulation()
        count, vertices = pybullet.getMeshData(
            self._body, -1, flags=pybullet.MESH_DATA_SIMULATION_MESH
        )
        return np.array(vertices).reshape(count, 3)


def load(mesh: TetMesh, mass: float, moduli: tuple[float, float], **contact: Any) -> int:
    """A body of PyBullet's Neo-Hookean material without damping; returns its number.

    Args:
        mass: of all of it, in kg.
        moduli: μ and λ of Smith, de Goes and Kim's energy, in Pa.
        contact: what ``loadSoftBody`` says of it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "body.vtk"
        _write_vtk(path, mesh)
        return int(
            pybullet.loadSoftBody(
                str(path),
                mass=mass,
                useNeoHookean=1,
                NeoHookeanMu=moduli[0],
                NeoHookeanLambda=moduli[1],
                NeoHookeanDamping=0.0,
                collisionMargin=MARGIN,
                **contact,
            )
        )


def _write_vtk(path: Path, mesh: TetMesh) -> None:
    with path.open("w") as file:
        print("# vtk DataFile Version 2.0\nbody\nASCII\nDATASET UNSTRUCTURED_GRID", file=file)
        print(f"POINTS {len(mesh.vertices)} double", file=file)
        np.savetxt(file, mesh.vertices, fmt="%.17g")
        print(f"CELLS {len(mesh.tets)} {5 * len(mesh.tets)}", file=file)
        np.savetxt(file, np.pad(mesh.tets, ((0, 0), (1, 0)), constant_values=4), fmt="%d")
        print(f"CELL_TYPES {len(mesh.tets)}", file=file)
        np.savetxt(file, np.full(len(mesh.tets), 10), fmt="%d")
