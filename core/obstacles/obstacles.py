# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the obstacles that the bodies of a scene can land on: its ground and its colliders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import runs_loops
from ..geometry.tet_mesh import TetMesh
from ..potentials import GroundBarrier
from ..potentials.ground import EmbeddedPoints, GroundPoints, GroundVertices
from ..scene.collision_points import CollisionPoints
from ..scene.contact_distances import ground_distance
from ..scene.friction import Coefficients, FrictionTable
from ..scene.ground import Ground, Sphere
from ..scene.paint import SurfacePaint
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from .barrier_step import BarrierStep, EmbeddedBarrierStep
from .obstacle_step import Ball, Plane, Surface
from .projection_step import EmbeddedProjectionStep, ProjectionStep

Values = NDArray[np.float64]


class FrictionCoefficients(NamedTuple):
    """Coefficients on one obstacle: (N,) of all vertices, and (S,) of all points."""

    vertices: Coefficients
    points: Coefficients


class PaintedFriction:
    """The factor of painted bodies on friction: √f, as an obstacle is not painted.

    Args:
        bodies, meshes: with their tetrahedra.
        collision_points: the movable points of each body.
        points: all of these, one body after the other.
        template: an (N,)-long tensor on the device and of the precision to work in.
    """

    def __init__(
        self,
        bodies: Sequence[SoftBody],
        meshes: Sequence[TetMesh],
        collision_points: Sequence[CollisionPoints],
        points: GroundPoints,
        template: Tensor,
    ) -> None:
        self._counts = [len(mesh.vertices) for mesh in meshes]
        self._points, self._template = points, template
        paints = [body.friction_paint for body in bodies]
        self._is_painted = any(paint is not None for paint in paints)
        if self._is_painted:
            vertices = [mesh.vertices for mesh in meshes]
            places = [part.at(rest) for part, rest in zip(collision_points, vertices, strict=True)]
            self._vertex_factors = self._tensor(_shares(paints, vertices))
            self._point_factors = self._tensor(_shares(paints, places))

    @property
    def point_factors(self) -> Tensor | float:
        """Return the (S,) factors of paint on friction at points."""
        return self._point_factors if self._is_painted else 1.0

    def of(self, friction: Coefficients) -> FrictionCoefficients:
        """From (B,) coefficients of the bodies."""
        rows = [self._tensor(np.repeat(part, self._counts)) for part in friction]
        points = [self._points.from_bodies(row) for row in rows]
        if self._is_painted:
            rows = [row * self._vertex_factors for row in rows]
            points = [row * self._point_factors for row in points]
        return FrictionCoefficients(Coefficients(*rows), Coefficients(*points))

    def _tensor(self, values: Values) -> Tensor:
        return torch.as_tensor(values).to(self._template)


def _shares(paints: Sequence[SurfacePaint | None], places: Sequence[Values]) -> Values:
    """√f at places of each body at rest, one body after the other."""
    roots = [
        np.ones(len(points)) if paint is None else np.sqrt(paint.at(points))
        for paint, points in zip(paints, places, strict=True)
    ]
    return np.concatenate(roots)


# The ground's stiffness in units of the body's: large enough to stop it within the distance.
BARRIER_STIFFNESS_RATIO = 0.1
# Each takes a body's deepest point out of a collider, and its neighbours most of the way.
MAX_DEPENETRATIONS = 50


class Step(Protocol):
    """A correction of an explicit step."""

    def apply(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        """Changes (3, N) positions and velocities at the end of a step of ``step`` seconds."""


class Obstacles:
    """The ground and the colliders, and the collision of bodies with them.

    Args:
        scene: the scene of the obstacles.
        meshes: the tetrahedra of its bodies.
        inverse_mass: (N,) of all vertices in 1/kg, zero where pinned.
    """

    def __init__(self, scene: Scene, meshes: list[TetMesh], inverse_mass: Tensor) -> None:
        self.ground, self.colliders = scene.ground, scene.spheres
        self._inverse_mass = inverse_mass
        #: The ground's energy, where it has one.
        self.barrier: GroundBarrier | None = None
        #: (S,) of its points, where the ground has an energy.
        self.ground_friction: Coefficients
        #: (S,) areas around each of its points at rest, in m², if there are obstacles.
        self.areas: NDArray[np.float64] = np.empty(0)
        self.steps: list[Step] = []
        #: The colliding points of the bodies; None without obstacles.
        self.points: GroundPoints | None = None
        self._balls = [Ball(sphere.center, sphere.radius) for sphere in scene.spheres]
        if scene.ground is None and not scene.spheres:
            return
        free = (inverse_mass > 0.0).cpu().numpy()
        vertex_offsets = [
            int(start) for start in np.cumsum([0, *(len(m.vertices) for m in meshes)])
        ]
        collision_points = [
            CollisionPoints.of(body, mesh).movable(free[start : start + len(mesh.vertices)])
            for body, mesh, start in zip(scene.bodies, meshes, vertex_offsets, strict=False)
        ]
        self.points = _points_of_all(scene.bodies, collision_points, vertex_offsets, inverse_mass)
        self.areas = np.concatenate([part.areas for part in collision_points])
        table = FrictionTable(scene)
        painted = PaintedFriction(scene.bodies, meshes, collision_points, self.points, inverse_mass)
        #: (S,) painted factors on the friction.
        self.friction_shares = painted.point_factors
        for index, sphere in enumerate(scene.spheres):
            rubbing = painted.of(table.on_sphere(index))
            self.steps.append(self._projection(self._balls[index], sphere, rubbing))
        if scene.ground is None:
            return
        # The ground comes last: nothing may then push a vertex below it.
        rubbing = painted.of(table.on_ground)
        if scene.ground.response == "barrier":
            self.barrier = self._barrier(scene.ground, scene.bodies, meshes, collision_points)
            self.ground_friction = rubbing.points
            self.steps.append(self._barrier_step(self.barrier, self.ground_friction))
        else:
            plane = Plane(scene.ground.height)
            self.steps.append(self._projection(plane, scene.ground, rubbing))

    @property
    def need_explicit_steps(self) -> bool:
        """Whether there is one without an energy to minimise."""
        return bool(self.colliders) or (self.ground is not None and self.barrier is None)

    def begin(self) -> None:
        """Begins a row of steps, which depends on none before."""
        for obstacle in self.steps:
            if isinstance(obstacle, EmbeddedBarrierStep):
                obstacle.begin()

    def collide(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        """Corrects (3, N) positions and velocities after an explicit step of ``step`` seconds, in
        which forces over mass change velocities over (N,) ``impulse_times``."""
        for obstacle in self.steps:
            obstacle.apply(positions, velocities, step, impulse_times)

    def lowest(self, positions: Tensor) -> float:
        """Height in metres of the lowest point, for (3, N) vertices, where there is a ground."""
        assert self.points is not None
        return float(self.points.gather(positions[2]).min())

    def depenetrate(self, body: SoftBody, mesh: TetMesh, where: slice, positions: Tensor) -> None:
        """Moves a body out of the obstacles that it penetrates.

        Args:
            body, mesh: to be moved.
            where: its vertices lie among all.
            positions: (3, N) of all vertices at the start.
        """
        vertices, free = positions[:, where], self._inverse_mass[where] > 0.0
        body_points = CollisionPoints.of(body, mesh).movable(free.cpu().numpy(), wholly=True)
        for ball in self._balls:
            _depenetrate(vertices, free, body_points, ball)
        if self.ground is None:
            return
        floor = self.ground.height
        if self.barrier is not None:
            floor += ground_distance(self.ground, body)
        points = body_points.at(vertices.T.cpu().double().numpy())
        vertices[2] += free * max(0.0, floor - float(points[:, 2].min(initial=np.inf)))

    def _barrier(
        self,
        ground: Ground,
        bodies: list[SoftBody],
        meshes: list[TetMesh],
        collision_points: list[CollisionPoints],
    ) -> GroundBarrier:
        stiffness = [
            BARRIER_STIFFNESS_RATIO * np.mean(np.asarray(body.material.young)) for body in bodies
        ]
        weights = [k * part.areas for k, part in zip(stiffness, collision_points, strict=True)]
        distances = [
            np.full(len(part.areas), ground_distance(ground, body))
            for body, part in zip(bodies, collision_points, strict=True)
        ]
        points = (
            torch.as_tensor(np.concatenate(values)).to(self._inverse_mass)
            for values in (weights, distances)
        )
        own_weights, own_distances = points
        assert self.points is not None
        return GroundBarrier(self.points, own_weights, ground.height, own_distances)

    def _barrier_step(self, barrier: GroundBarrier, friction: Coefficients) -> Step:
        if isinstance(barrier.points, EmbeddedPoints):
            return EmbeddedBarrierStep(barrier, self._inverse_mass, friction)
        return BarrierStep(barrier, self._inverse_mass[barrier.vertices], friction)

    def _projection(
        self, surface: Surface, settings: Ground | Sphere, friction: FrictionCoefficients
    ) -> Step:
        """Build the step of an obstacle with the friction coefficients on it."""
        bounce, points = (settings.restitution, settings.penalty), self.points
        # If all points are treated at once, shared vertices cannot be separated.
        if isinstance(points, EmbeddedPoints) and runs_loops(points.shares):
            coefficients = friction.points
            return EmbeddedProjectionStep(
                points, self._inverse_mass, surface, coefficients, *bounce
            )
        vertices = torch.nonzero(self._inverse_mass).flatten()
        coefficients = Coefficients(*(part[vertices] for part in friction.vertices))
        return ProjectionStep(vertices, surface, coefficients, *bounce)


def _depenetrate(vertices: Tensor, free: Tensor, body_points: CollisionPoints, ball: Ball) -> None:
    """Moves (3, n) vertices that are free together, until no point is in the ball."""
    if len(body_points.areas) == 0:
        return
    for _ in range(MAX_DEPENETRATIONS):
        points = torch.as_tensor(body_points.at(vertices.T.cpu().double().numpy()).T)
        distance, normal = ball.nearest(points)
        deepest = int(distance.argmin())
        if not distance[deepest] < 0.0:
            return
        vertices -= free * (distance[deepest] * normal[:, deepest, None]).to(vertices)


def _points_of_all(
    bodies: Sequence[SoftBody],
    collision_points: Sequence[CollisionPoints],
    vertex_offsets: Sequence[int],
    inverse_mass: Tensor,
) -> GroundPoints:
    """The points of several bodies, one after the other.

    Args:
        collision_points: the movable points of each body.
        vertex_offsets: the first vertex of each body among all.
        inverse_mass: (N,) of all vertices in 1/kg, zero where they are pinned.
    """
    corners = np.concatenate(
        [
            part.corners + start
            for part, start in zip(collision_points, vertex_offsets, strict=False)
        ]
    )
    indices = torch.as_tensor(corners.T.astype(np.int64), device=inverse_mass.device).contiguous()
    if all(body.seen_surface is None for body in bodies):
        return GroundVertices(indices[0].contiguous())
    shares = np.ascontiguousarray(np.concatenate([part.shares for part in collision_points]).T)
    corner_shares = torch.as_tensor(shares).to(inverse_mass)
    return EmbeddedPoints(indices, corner_shares, inverse_mass > 0.0)
