# SPDX-License-Identifier: GPL-3.0-or-later
"""The pile in Bullet's deformable world: faces touch faces, the bowl is a concave triangle mesh."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pybullet

from ..pile import DENSITY, FRAME_RATE, FRICTION, GRAVITY, Pile, Positions
from .bullet_deformable import load


class BulletPile:
    def __init__(self, pile: Pile, steps: int) -> None:
        self._pile, self._steps = pile, steps
        pybullet.connect(pybullet.DIRECT)
        pybullet.resetSimulation(pybullet.RESET_USE_DEFORMABLE_WORLD)
        pybullet.setGravity(0.0, 0.0, -GRAVITY)
        pybullet.setTimeStep(1.0 / (FRAME_RATE * steps))
        with tempfile.TemporaryDirectory() as folder:
            self._add_bowl(Path(folder) / "bowl.obj")
        self._bodies = [
            load(
                mesh,
                float(mesh.lumped_mass(DENSITY).sum()),
                self._pile.stable_neo_hookean,
                useSelfCollision=1,
                useFaceContact=1,
                frictionCoeff=FRICTION,
                repulsionStiffness=self._pile.contact_stiffness,
            )
            for mesh in self._pile.meshes
        ]

    def _add_bowl(self, path: Path) -> None:
        bowl = self._pile.bowl
        with path.open("w") as file:
            np.savetxt(file, bowl.at(0), fmt="v %.17g %.17g %.17g")
            np.savetxt(file, bowl.triangles + 1, fmt="f %d %d %d")
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_MESH, fileName=str(path), flags=pybullet.GEOM_FORCE_CONCAVE_TRIMESH
        )
        body = pybullet.createMultiBody(0.0, shape)
        pybullet.changeDynamics(body, -1, lateralFriction=FRICTION, restitution=0.0)

    def frame(self) -> Positions:
        for _ in range(self._steps):
            pybullet.stepSimulation()
        flags = pybullet.MESH_DATA_SIMULATION_MESH
        return np.array([pybullet.getMeshData(body, -1, flags=flags)[1] for body in self._bodies])
