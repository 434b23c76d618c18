# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bodies of a scene can land on: its ground and its colliders."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..contact.distance import ground_distance
from ..overlap import check_clear_of, raise_needed
from ..potentials import GroundBarrier
from ..scene import Ground, Scene, SoftBody
from ..tet_mesh import TetMesh
from .barrier_step import BarrierStep
from .obstacle_step import ObstacleStep
from .projection_step import ProjectionStep
from .surfaces import Ball, Plane

# The ground's stiffness in units of the body's: large enough to stop it within the distance.
BARRIER_STIFFNESS = 0.1
# Each takes a body's deepest vertex out of a collider, and its neighbours most of the way.
CLEARINGS = 50


class Obstacles:
    """The ground and the colliders, as the vertices that move meet them.

    Args:
        scene: whose obstacles they are.
        meshes: the tetrahedra of its bodies.
        inverse_mass: (N,) of all vertices in 1/kg, zero where pinned.
    """

    def __init__(self, scene: Scene, meshes: list[TetMesh], inverse_mass: Tensor) -> None:
        self.ground, self.colliders = scene.ground, scene.spheres
        self._inverse_mass, self._vertices = inverse_mass, torch.nonzero(inverse_mass).flatten()
        self._balls = [Ball(sphere.center, sphere.radius) for sphere in scene.spheres]
        self.steps: list[ObstacleStep] = [
            ProjectionStep(
                self._vertices, ball, sphere.friction, sphere.restitution, sphere.penalty
            )
            for ball, sphere in zip(self._balls, scene.spheres, strict=True)
        ]
        #: The ground's energy, where it has one.
        self.barrier: GroundBarrier | None = None
        # The ground comes last: nothing may then push a vertex below it.
        if scene.ground is not None and scene.ground.response == "barrier":
            self.barrier = self._barrier(scene.ground, scene.bodies, meshes)
            self.steps.append(
                BarrierStep(self.barrier, inverse_mass[self._vertices], scene.ground.friction)
            )
        elif scene.ground is not None:
            self.steps.append(_plane_step(self._vertices, scene.ground))

    @property
    def need_explicit_steps(self) -> bool:
        """Whether there is one without an energy to minimise."""
        return bool(self.colliders) or (self.ground is not None and self.barrier is None)

    def meet(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        """Corrects (3, N) positions and velocities after an explicit step of ``step`` seconds, in
        which forces over mass change velocities over (N,) ``impulse_times``."""
        for obstacle in self.steps:
            obstacle.apply(positions, velocities, step, impulse_times)

    def clear(self, body: SoftBody, mesh: TetMesh, where: slice, positions: Tensor) -> None:
        """Moves a body off the obstacles that it touches, and refuses one that lies in them.

        The tets of a surface may stand out of it, and into what it stands on.

        Args:
            body, mesh: to be moved.
            where: its vertices lie among all.
            positions: (3, N) of all vertices at the start.

        Raises:
            SceneError: when a body that was given as tetrahedra overlaps an obstacle.
        """
        points, free = positions[:, where], self._inverse_mass[where] > 0.0
        if body.skin is None and self.colliders:
            check_clear_of(body.name, points.T.cpu().numpy(), mesh.surface, self.colliders)
        for ball in self._balls:
            _move_off(points, free, ball)
        if self.ground is None:
            return
        floor = self.ground.height
        if self.barrier is not None:
            floor += ground_distance(self.ground, mesh.diagonal)
        points[2] += free * raise_needed(body, points[:, free].T.cpu().numpy(), self.ground, floor)

    def _barrier(
        self, ground: Ground, bodies: list[SoftBody], meshes: list[TetMesh]
    ) -> GroundBarrier:
        distances = np.concatenate(
            [np.full(len(m.vertices), ground_distance(ground, m.diagonal)) for m in meshes]
        )
        weights = np.concatenate(
            [
                BARRIER_STIFFNESS * np.mean(np.asarray(body.material.young)) * _contact_areas(mesh)
                for body, mesh in zip(bodies, meshes, strict=True)
            ]
        )
        own_weights, own_distances = (
            torch.as_tensor(values).to(self._inverse_mass)[self._vertices]
            for values in (weights, distances)
        )
        return GroundBarrier(self._vertices, own_weights, ground.height, own_distances)


def _plane_step(vertices: Tensor, ground: Ground) -> ProjectionStep:
    return ProjectionStep(
        vertices, Plane(ground.height), ground.friction, ground.restitution, ground.penalty
    )


def _move_off(points: Tensor, free: Tensor, ball: Ball) -> None:
    """Moves (3, n) points that are free together, until none is in the ball."""
    for _ in range(CLEARINGS):
        distance, normal = ball.nearest(points)
        deepest = int(torch.where(free, distance, torch.inf).argmin())
        if not distance[deepest] < 0.0:
            return
        points -= free * distance[deepest] * normal[:, deepest, None]


def _contact_areas(mesh: TetMesh) -> NDArray[np.float64]:
    """(N,) of each vertex, in m²: one inside, which only a crushed body brings to the ground, has
    the face of a cube of its volume."""
    surface = mesh.surface_areas
    return np.where(surface > 0.0, surface, mesh.lumped_mass(1.0) ** (2.0 / 3.0))
