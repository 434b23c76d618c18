# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the obstacles that the bodies of a scene can land on: its ground and its colliders."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .compiled import runs_loops
from .geometry.tet_mesh import TetMesh
from .kernels import obstacles as loops
from .kernels.barrier import barrier_derivatives
from .kernels.obstacles import BALL, PLANE, EmbeddedGround, PointForces, PointGroups, choose_threads
from .potentials import GroundBarrier
from .potentials.ground import EmbeddedPoints, GroundPoints, GroundVertices
from .scene.collision_points import CollisionPoints, ground_distance
from .scene.contact_settings import Ground, Sphere
from .scene.friction import Coefficients, FrictionTable
from .scene.paint import SurfacePaint
from .scene.scene import Scene
from .scene.soft_body import SoftBody


class ObstacleStep(ABC):
    """Corrects the vertices that an explicit step has brought to an obstacle.

    Args:
        vertices: (S,) indices of free vertices.
        friction: (S,) tensors, of the vertices on the obstacle.
    """

    def __init__(self, vertices: Tensor, friction: Coefficients) -> None:
        self._vertices, self._friction = vertices, friction

    def apply(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        """Changes positions and velocities, both (3, N), at the end of a step of ``step`` s.

        A force over mass changes a velocity over the (N,) ``impulse_times``, in seconds.
        """
        # On CUDA, finding out whether any vertex touches would cost a wait for the device.
        if not runs_loops(positions):
            self._apply_passes(positions, velocities, step, impulse_times)
        else:
            choose_threads(len(self._vertices))
            self._loop(positions.numpy(), velocities.numpy(), step, impulse_times.numpy())

    def _apply_passes(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        vertices = self._vertices
        before, times = velocities[:, vertices], impulse_times[vertices]
        placed, normal, change = self._respond(positions[:, vertices], before, step, times)
        sliding = before - (before * normal).sum(0) * normal
        speed = torch.linalg.vector_norm(sliding, dim=0)
        stopped = friction_stop_ratio(speed, change.clamp(min=0.0), self._friction) * sliding
        velocities[:, vertices] = before + change * normal - stopped
        # A vertex moved on by its old tangential velocity; undo the displacement that friction
        # stopped.
        positions[:, vertices] = placed - step * stopped

    @abstractmethod
    def _loop(
        self,
        positions: NDArray[Any],
        velocities: NDArray[Any],
        step: float,
        impulse_times: NDArray[Any],
    ) -> None:
        """``apply`` as a compiled loop."""

    @abstractmethod
    def _respond(
        self, points: Tensor, velocity: Tensor, step: float, impulse_times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Apply contact without friction.

        Args:
            points, velocity: (3, S) at the end of the step.
            step: in seconds.
            impulse_times: (S,) in seconds.

        Returns:
            (3, S) points after contact, (3, S) outward normals of the obstacle, and the (S,)
            change of the velocity along them, in m/s; zero away from it.
        """


def friction_stop_ratio(speed: Tensor, change: Tensor, friction: Coefficients) -> Tensor:
    """Return (S,) ratios, as ``kernels.obstacles.friction_stop_ratio`` does for one vertex."""
    # The smallest positive divisor keeps a vertex at rest from becoming 0 / 0.
    slowed = friction.kinetic * change / speed.clamp(min=torch.finfo(speed.dtype).tiny)
    return torch.where(speed <= friction.static * change, torch.ones_like(speed), slowed)


class Surface(Protocol):
    """A shape known in closed form."""

    def nearest(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return (S,) distances of (3, S) points, negative inside, and (3, S) outward normals."""

    def numbers(self) -> tuple[int, float, float, float, float]:
        """Return the numbers that the compiled kernel takes: the kind, three coordinates and a
        radius, in metres."""


@dataclass(frozen=True)
class Plane:
    """Level and facing up; ``height`` in metres."""

    height: float

    def nearest(self, points: Tensor) -> tuple[Tensor, Tensor]:
        return points[2] - self.height, up(points)

    def numbers(self) -> tuple[int, float, float, float, float]:
        return PLANE, 0.0, 0.0, self.height, 0.0


@dataclass(frozen=True)
class Ball:
    """Solid inside; ``center`` and ``radius`` in metres."""

    center: tuple[float, float, float]
    radius: float

    def nearest(self, points: Tensor) -> tuple[Tensor, Tensor]:
        offset = torch.stack([points[axis] - self.center[axis] for axis in range(3)])
        away = torch.linalg.vector_norm(offset, dim=0)
        # From the very centre every way out is as short: up.
        lost = (away == 0.0).to(points)
        return away - self.radius, (offset + lost * up(points)) / (away + lost)

    def numbers(self) -> tuple[int, float, float, float, float]:
        return BALL, *self.center, self.radius


def up(points: Tensor) -> Tensor:
    """Return (3, S) upward normals of a level surface."""
    # Made on the device: a recorded CUDA graph may not copy it from the host.
    zero = torch.zeros_like(points[0])
    return torch.stack([zero, zero, zero + 1.0])


class PointArrays:
    """Points on a CPU, with room to work in.

    Args:
        points: those of one tet one after the other.
    """

    def __init__(self, points: EmbeddedPoints) -> None:
        #: (S, 4) each.
        self.corners = np.ascontiguousarray(points.corners.cpu().numpy().T.astype(np.int32))
        self.shares = np.ascontiguousarray(points.shares.cpu().numpy().T)
        first = np.ones(len(self.corners), dtype=bool)
        first[1:] = (self.corners[1:] != self.corners[:-1]).any(axis=1)
        #: (G + 1,) where the points of each tet begin.
        self.groups = np.append(np.flatnonzero(first), len(first)).astype(np.int32)
        below = -np.minimum(self.shares, 0.0).sum(axis=1)
        #: (G,) depth of points below the corners of their tet, relative to its height, at most.
        self.outside: NDArray[Any] = np.maximum.reduceat(below, self.groups[:-1])
        count, kind = len(self.corners), self.shares.dtype
        #: (S,) to work with.
        self.near = np.zeros(count, dtype=np.int32)
        #: (S,), (S, 2) and (G,) values that one step passes to the next.
        self.forces, self.friction_forces = (
            np.zeros(count, dtype=kind),
            np.zeros((count, 2), dtype=kind),
        )
        self.was_near = np.zeros(len(self.groups) - 1, dtype=np.bool_)

    def forget(self) -> None:
        """Forget earlier steps."""
        self.forces[:], self.friction_forces[:], self.was_near[:] = 0.0, 0.0, False


class BarrierStep(ObstacleStep):
    """Minimises ½ m (z − z̃)² / hσ + b(z), σ the time that forces change velocities over: the
    barrier acts implicitly, all else explicitly.

    Args:
        barrier: the barrier, which holds the vertices up.
        inverse_mass: (S,) of its vertices, in 1/kg.
        friction: (S,) tensors, of its vertices.
    """

    def __init__(
        self, barrier: GroundBarrier, inverse_mass: Tensor, friction: Coefficients
    ) -> None:
        super().__init__(barrier.vertices, friction)
        self._height, self._distances = barrier.height, barrier.distances
        self._stiffness = barrier.weights * inverse_mass / barrier.distances

    def _respond(
        self, points: Tensor, velocity: Tensor, step: float, impulse_times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        height = points[2]
        start = (height - self._height) / self._distances
        ratio = barrier_proximal(start, step * impulse_times * self._stiffness)
        lifted = torch.where(start < 1.0, self._height + ratio * self._distances, height)
        placed = torch.stack([points[0], points[1], lifted])
        return placed, up(points), (lifted - height) / step

    def _loop(
        self,
        positions: NDArray[Any],
        velocities: NDArray[Any],
        step: float,
        impulse_times: NDArray[Any],
    ) -> None:
        loops.apply_barrier(
            positions,
            velocities,
            self._vertices.numpy(),
            self._stiffness.numpy(),
            self._height,
            self._distances.numpy(),
            self._friction.static.numpy(),
            self._friction.kinetic.numpy(),
            step,
            impulse_times,
            smallest_ratio(self._stiffness.dtype),
        )


def barrier_proximal(start: Tensor, stiffness: Tensor) -> Tensor:
    """The root u in (0, 1) of u − start + stiffness β'(u) = 0, for start < 1.

    Without its logarithm the equation is quadratic, and its root lies below the true one; the
    function is concave, so Newton's method climbs from there without a safeguard.
    """
    if runs_loops(start):
        roots = torch.empty_like(start)
        choose_threads(len(start))
        loops.proximal_of_each(
            start.numpy(), stiffness.numpy(), smallest_ratio(start.dtype), roots.numpy()
        )
        return roots
    start = start.clamp(max=1.0)
    half = 2.0 * stiffness - start
    root = (half * half + 4.0 * stiffness * (1.0 - stiffness)).clamp(min=0.0).sqrt()
    ratio = torch.where(
        half > 0.0,
        2.0 * stiffness / (half + root),
        (root - half) / (2.0 * (1.0 - stiffness)).clamp(min=0.5),
    )
    ratio = ratio.clamp(min=smallest_ratio(ratio.dtype), max=1.0)
    for _ in range(loops.MAX_ITERATIONS):
        first_derivative, second_derivative = barrier_derivatives(ratio)
        change = (ratio - start + stiffness * first_derivative) / (
            1.0 + stiffness * second_derivative
        )
        ratio = (ratio - change).clamp(max=1.0)
    return ratio


@cache
def smallest_ratio(dtype: torch.dtype) -> float:
    """The least ratio that Newton's method starts from: its square still has an inverse."""
    return float(torch.finfo(dtype).tiny ** 0.25)


class EmbeddedBarrierStep:
    """Minimises ½ Σ m (z − z̃)² / hσ + b(z), z the heights of vertices, b of the points they carry.

    On CUDA, where all points are treated at once, each vertex takes the highest lift that its
    points need, and the mean change by friction.

    Args:
        barrier: the barrier, which holds the points up; those of one tet follow each other.
        inverse_mass: (N,) in 1/kg, zero where pinned.
        friction: (S,) tensors, of the points.
    """

    def __init__(
        self, barrier: GroundBarrier, inverse_mass: Tensor, friction: Coefficients
    ) -> None:
        assert isinstance(barrier.points, EmbeddedPoints)
        self._barrier, self._points = barrier, barrier.points
        self._inverse_mass, self._friction, self._has_friction = (
            inverse_mass,
            friction,
            friction.act,
        )
        self._compliance = torch.zeros_like(inverse_mass)
        #: The points on a CPU, and their forces so far.
        self.arrays = None if inverse_mass.is_cuda else PointArrays(self._points)

    def begin(self) -> None:
        """Forget earlier steps, so that a resumed run continues as an uninterrupted one."""
        if self.arrays is not None:
            self.arrays.forget()

    def apply(
        self,
        positions: Tensor,
        velocities: Tensor,
        step: float,
        impulse_times: Tensor,
        trace: loops.SweepTrace | None = None,
    ) -> None:
        """See ``ObstacleStep.apply``; compiled loops fill in a trace."""
        if self.arrays is None or not runs_loops(positions):
            self._apply_passes(positions, velocities, step, impulse_times)
            return
        arrays, friction = self.arrays, self._friction
        times, inverse_mass = impulse_times.numpy(), self._inverse_mass.numpy()
        ground, groups, forces = self._ground(arrays)
        loops.apply_ground_barrier(
            loops.Motion(positions.numpy(), velocities.numpy(), step, times, inverse_mass),
            *(ground, groups),
            loops.GroundCoefficients(
                friction.static.numpy(), friction.kinetic.numpy(), self._has_friction
            ),
            forces,
            self._compliance.numpy(),
            arrays.near,
            trace,
        )

    def _ground(self, arrays: PointArrays) -> tuple[EmbeddedGround, PointGroups, PointForces]:
        barrier = self._barrier
        weights, distances = barrier.weights.numpy(), barrier.distances.numpy()
        level = barrier.height, smallest_ratio(barrier.distances.dtype)
        return (
            EmbeddedGround(arrays.corners, arrays.shares, weights, distances, *level),
            PointGroups(arrays.groups, arrays.outside),
            PointForces(arrays.forces, arrays.friction_forces, arrays.was_near),
        )

    def _apply_passes(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        barrier, points, corners = self._barrier, self._points, self._points.corners
        compliance = step * impulse_times * self._inverse_mass
        shares = points.shares.clamp(min=0.0) * compliance[corners]
        point_compliance = (shares * points.shares).sum(0)
        moves = point_compliance > 0.0
        safe = torch.where(moves, point_compliance, 1.0)
        start = barrier.ratio(positions)
        ratio = barrier_proximal(start, point_compliance * barrier.weights / barrier.distances)
        touches = moves & (start < 1.0)
        force = touches * (ratio - start) * barrier.distances / safe
        lifts = torch.zeros_like(positions[2])
        lifts.scatter_reduce_(0, corners.flatten(), (shares * force).flatten(), "amax")
        positions[2] += lifts
        velocities[2] += lifts / step
        tangential = points.gather(velocities[:2])
        speed = torch.linalg.vector_norm(tangential, dim=0)
        stopped = friction_stop_ratio(speed, force * point_compliance / step, self._friction)
        friction_changes = torch.zeros_like(velocities[:2])
        points.add(stopped * tangential / safe, friction_changes)
        count = torch.zeros_like(lifts)
        carries = (touches * (points.shares != 0.0)).to(count.dtype)
        count.scatter_add_(0, corners.flatten(), carries.flatten())
        change = friction_changes * compliance / count.clamp(min=1.0)
        velocities[:2] -= change
        # Vertices moved on by their old velocity; undo the displacement that friction stopped.
        positions[:2] -= step * change


class ProjectionStep(ObstacleStep):
    """Puts a vertex inside back on the surface and reverses its speed along the normal.

    Args:
        vertices: (S,) indices of free vertices.
        surface: of the obstacle.
        friction: (S,) tensors, of the vertices on the obstacle.
        restitution: fraction of the normal speed kept.
        penalty: k in 1/s of the force k m |v| along the normal on a vertex of mass m inside.
    """

    def __init__(
        self,
        vertices: Tensor,
        surface: Surface,
        friction: Coefficients,
        restitution: float = 0.0,
        penalty: float = 0.0,
    ) -> None:
        super().__init__(vertices, friction)
        self._surface, self._restitution, self._penalty = surface, restitution, penalty

    def _share(self, step: float) -> float:
        """Return the fraction of a vertex's speed that the penalty adds along the normal in a step:
        below one."""
        return -math.expm1(-step * self._penalty)

    def _respond(
        self, points: Tensor, velocity: Tensor, step: float, impulse_times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        distance, normal = self._surface.nearest(points)
        before = (velocity * normal).sum(0)
        pushed = before + self._share(step) * torch.linalg.vector_norm(velocity, dim=0)
        # A vertex that already leaves is not slowed down.
        after = torch.maximum(pushed, -self._restitution * pushed)
        inside = distance < 0.0
        change = torch.where(inside, after - before, torch.zeros_like(before))
        return points - distance.clamp(max=0.0) * normal, normal, change

    def _loop(
        self,
        positions: NDArray[Any],
        velocities: NDArray[Any],
        step: float,
        impulse_times: NDArray[Any],
    ) -> None:
        loops.project_onto_surface(
            positions,
            velocities,
            self._vertices.numpy(),
            self._surface.numbers(),
            (self._restitution, self._share(step)),
            (self._friction.static.numpy(), self._friction.kinetic.numpy()),
            step,
        )


class EmbeddedProjectionStep:
    """The ``ProjectionStep`` of points that follow several vertices, on a CPU, one after the other.

    Args:
        points: of all bodies.
        inverse_mass: (N,) of vertices in 1/kg, zero where pinned.
        surface: of the obstacle.
        friction: (S,) tensors, of the points on the obstacle.
        restitution, penalty: as ``ProjectionStep`` takes them.
    """

    def __init__(
        self,
        points: EmbeddedPoints,
        inverse_mass: Tensor,
        surface: Surface,
        friction: Coefficients,
        restitution: float,
        penalty: float,
    ) -> None:
        self._arrays, self._inverse_mass = PointArrays(points), inverse_mass.numpy()
        self._surface = surface
        self._static, self._kinetic = (part.numpy() for part in friction)
        self._restitution, self._penalty = restitution, penalty

    def apply(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        """See ``ObstacleStep.apply``."""
        arrays = self._arrays
        loops.project_points(
            positions.numpy(),
            velocities.numpy(),
            (arrays.corners, arrays.shares, self._inverse_mass),
            self._surface.numbers(),
            (self._restitution, -math.expm1(-step * self._penalty)),
            (self._static, self._kinetic),
            step,
        )


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
